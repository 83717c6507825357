/* The program's handlers on an alternate stack, interrupted there by collections (stop=signals). Objects that only
 * the interrupted function's stack, or a fiber's, refers to survive. Each handler waits for a collection, but not
 * for long: the thread may have been inside the library, where it is not stopped. The handler keeps addresses in all
 * stacks on the alternate stack; they must not be taken for the stack pointer. */
#define _GNU_SOURCE
#include "check.h"
#include "fiber.h"
#include "list.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { HANDLERS = 12, LENGTH = 40, ALTERNATE = 128 << 10, TICK_US = 2000, PATIENCE = 2000000 };

static hw_heap *heap;
static hw_mutator *m;
static hw_type node_type;
static atomic_int stop_collecting, in_handler;
static atomic_ulong collections;
/* The handlers that saw a collection begin and end. */
static atomic_ulong handled;
static struct fiber fiber;
static char *own_high;

/* Delays the next signal, so that the program runs in between. */
static void set_timer(void) {
    struct itimerval tick = {{0, 0}, {0, TICK_US}};
    if (setitimer(ITIMER_REAL, &tick, NULL) != 0) abort();
}

static void on_tick(int signal) {
    char here;
    char *volatile decoys[4] = {own_high - 64, fiber.memory + FIBER_BYTES - 64, own_high - 8, fiber.memory + FIBER_BYTES - 8};
    unsigned long seen = collections;
    (void)signal;
    in_handler = 1;
    for (int i = 0; i < PATIENCE && collections < seen + 2; i++) {
        if (decoys[0] == &here) abort(); /* they are in use */
    }
    if (collections >= seen + 2) handled++;
    in_handler = 0;
    if (!stop_collecting) set_timer();
}

/* So that the program makes progress. */
static void rest(void *arg) {
    (void)arg;
    usleep(500);
}

static void *collect(void *arg) {
    hw_mutator *mine;
    (void)arg;
    CHECK(hw_attach(heap, NULL, &mine, NULL) == HW_OK);
    while (!stop_collecting) {
        CHECK(hw_collect(mine) == HW_OK);
        collections++;
        if (!in_handler) CHECK(hw_call_blocking(mine, rest, NULL) == HW_OK);
    }
    CHECK(hw_detach(mine) == HW_OK);
    return NULL;
}

/* Makes lists and walks them, until N handlers have run. Between the two it pauses. */
static void __attribute__((noinline)) work(unsigned long until) {
    for (uint64_t number = 0; handled < until; number++) {
        struct node *list = make(m, node_type, LENGTH, number);
        for (volatile int i = 0; i < 300000; i++) {}
        walk(list, LENGTH, number);
    }
}

static void begin(void) {
    for (;;) {
        struct node *mine = make(m, node_type, LENGTH, 7);
        work(handled + HANDLERS / 3);
        fiber_leave(m, &fiber);
        walk(mine, LENGTH, 7);
    }
}

int main(void) {
    pthread_t collector;
    hw_options options;
    static char alternate[ALTERNATE];
    stack_t stack = {.ss_sp = alternate, .ss_size = ALTERNATE};
    struct sigaction action;
    sigset_t set;

    hw_options_init(&options);
    options.verify = 1;
    options.stop = HW_STOP_SIGNALS;
    CHECK(hw_heap_create(&options, &heap, NULL) == HW_OK && hw_attach(heap, NULL, &m, NULL) == HW_OK);
    node_type = node_type_of(heap);
    pthread_attr_t attributes;
    void *low;
    size_t size;
    CHECK(pthread_getattr_np(pthread_self(), &attributes) == 0);
    CHECK(pthread_attr_getstack(&attributes, &low, &size) == 0 && pthread_attr_destroy(&attributes) == 0);
    own_high = (char *)low + size;
    fiber_make(&fiber, heap, begin);

    CHECK(sigaltstack(&stack, NULL) == 0);
    memset(&action, 0, sizeof action);
    action.sa_handler = on_tick;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    /* Only this thread uses the handler. */
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    CHECK(pthread_create(&collector, NULL, collect, NULL) == 0);
    CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
    set_timer();

    struct node *mine = make(m, node_type, LENGTH, 1000);
    work(HANDLERS);
    walk(mine, LENGTH, 1000);
    /* On the fiber, with a list that only the stack refers to which was left; and here, with one of the fiber's. */
    for (int i = 0; i < 4; i++) {
        fiber_enter(m, &fiber);
        walk(mine, LENGTH, 1000);
        work(handled + HANDLERS / 3);
        walk(mine, LENGTH, 1000);
    }

    stop_collecting = 1;
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    CHECK(pthread_join(collector, NULL) == 0);
    printf("%d handlers, %d collections\n", (int)handled, (int)collections);
    fiber_unmake(&fiber, heap);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
    return 0;
}
