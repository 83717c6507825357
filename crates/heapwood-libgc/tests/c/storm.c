/* Signals pour in while threads allocate, collect and end: handlers run on stopped threads, system calls begin anew, nothing is
   lost. */
#include "check.h"
#include <signal.h>
#include <sched.h>
#include <unistd.h>
#include <errno.h>
enum { WORKERS = 4, ROUNDS = 300, SHORT = 300 };
struct list { struct list *next; long n; };
static volatile int stop;
static volatile long handled;
static pthread_t workers[WORKERS];
static void handler(int number) { (void)number; __atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED); }
static struct list *make(long n) {
    struct list *l = NULL;
    for (long i = 0; i < n; i++) { struct list *m = GC_MALLOC(sizeof *m); m->next = l; m->n = i; l = m; }
    return l;
}
static void check(struct list *l, long n) {
    for (; l; l = l->next) CHECK(l->n == --n);
    CHECK(n == 0);
}
static void *work(void *argument) {
    struct list *kept = make(2000);
    for (int i = 0; i < ROUNDS || handled < 1000; i++) {
        check(make(500), 500);
        check(kept, 2000);
        if (i < ROUNDS && i % 50 == (int)(intptr_t)argument) GC_gcollect();
        GC_free(GC_MALLOC_ATOMIC(100 + i % 300));
    }
    return make(10);
}
static void *reads(void *argument) {
    int *pipe_end = argument;
    char byte;
    for (long n = 0;; n++) {
        ssize_t got = read(*pipe_end, &byte, 1);
        if (got == 0) return NULL;
        CHECK(got == 1 && byte == (char)n);
    }
}
static void *shorts(void *argument) { check(make(30), 30); return argument; }
static void *pours(void *argument) {
    (void)argument;
    static const int numbers[] = { SIGUSR1, SIGUSR2, SIGALRM };
    for (unsigned i = 0; !stop; i++) {
        for (int j = 0; j < WORKERS; j++) pthread_kill(workers[j], numbers[i % 3]);
        if (i % 4 == 3) usleep(200);
    }
    return NULL;
}
int main(void) {
    GC_INIT();
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    static const int numbers[] = { SIGUSR1, SIGUSR2, SIGALRM };
    for (int i = 0; i < 3; i++) CHECK(!sigaction(numbers[i], &action, NULL));
    int ends[2];
    CHECK(!pipe(ends));
    pthread_t reader, pourer;
    CHECK(!GC_pthread_create(&reader, NULL, reads, &ends[0]));
    for (intptr_t i = 0; i < WORKERS; i++) CHECK(!GC_pthread_create(&workers[i], NULL, work, (void *)i));
    CHECK(!pthread_create(&pourer, NULL, pours, NULL));
    for (int i = 0; i < SHORT; i++) {
        pthread_t one;
        CHECK(!GC_pthread_create(&one, NULL, shorts, NULL));
        char byte = (char)i;
        CHECK(write(ends[1], &byte, 1) == 1);
        CHECK(!GC_pthread_join(one, NULL));
    }
    while (handled < 1000) sched_yield();
    stop = 1;
    /* The threads stay, joined by nobody, until no one sends signals to them. */
    CHECK(!pthread_join(pourer, NULL));
    for (int i = 0; i < WORKERS; i++) {
        void *result;
        CHECK(!GC_pthread_join(workers[i], &result));
        check(result, 10);
    }
    close(ends[1]);
    CHECK(!GC_pthread_join(reader, NULL));
    puts("ok");
    return 0;
}
