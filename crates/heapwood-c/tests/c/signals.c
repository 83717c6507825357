/* A heap beside a program's signals. With "wait" the program blocks SIGTERM after the heap was made and takes it with
 * sigwait; with "handler" it blocks a signal for a moment, in which the library's thread would take it, and its handler
 * must run on the program's own thread. A megabyte of thread-local variables lies in every thread's stack. */
#define _GNU_SOURCE
#include "check.h"
#include <heapwood.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 200 };

_Thread_local char large[1 << 20];

static volatile sig_atomic_t taken_by;

static void note(int signal) {
    (void)signal;
    taken_by = (sig_atomic_t)syscall(SYS_gettid);
}

static void wait_for(int signal) {
    sigset_t set;
    int got = 0;
    sigemptyset(&set);
    sigaddset(&set, signal);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    CHECK(kill(getpid(), signal) == 0);
    CHECK(sigwait(&set, &got) == 0 && got == signal);
}

/* The only thread that may take the signal has it blocked when it is sent. */
static void handle(int signal) {
    struct sigaction action;
    sigset_t set;
    memset(&action, 0, sizeof action);
    action.sa_handler = note;
    CHECK(sigaction(signal, &action, NULL) == 0);
    sigemptyset(&set);
    sigaddset(&set, signal);
    for (int i = 0; i < ROUNDS; i++) {
        taken_by = 0;
        CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
        CHECK(kill(getpid(), signal) == 0);
        usleep(100);
        CHECK(taken_by == 0);
        CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
        CHECK(taken_by == getpid());
    }
}

int main(int argc, char **argv) {
    hw_heap *heap = NULL;
    hw_mutator *m = NULL;
    sigset_t before, after;
    CHECK(argc == 2);
    large[0] = 1;
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &before) == 0);
    CHECK(hw_heap_create(NULL, &heap, NULL) == HW_OK);
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &after) == 0);
    for (int signal = 1; signal < 32; signal++) {
        CHECK(sigismember(&before, signal) == sigismember(&after, signal));
    }
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    CHECK(hw_collect(m) == HW_OK); /* its thread wakes up */
    if (strcmp(argv[1], "wait") == 0) {
        wait_for(SIGTERM);
        wait_for(SIGUSR1);
        wait_for(SIGRTMIN);
    } else {
        handle(SIGTERM);
        handle(SIGALRM);
    }
    CHECK(hw_detach(m) == HW_OK);
    CHECK(hw_heap_destroy(heap, NULL) == HW_OK);
    return 0;
}
