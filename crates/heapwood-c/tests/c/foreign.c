/* Threads that the program did not start: a library's threads, whose callbacks attach as needed and end without
 * detaching; and a stack that the system does not know. The argument is "polls" or "signals". */
#define _GNU_SOURCE
#include "check.h"
#include "fiber.h"
#include "list.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { THREADS = 40, AT_ONCE = 4, CALLS = 5, LENGTH = 200 };

static hw_heap *heap;
static hw_type node_type;
static int signals;

/* ----------------------------------------------------------------------------------------------- the library -- */

typedef void (*callback)(void *arg);

struct job {
    callback call;
    void *arg;
};

static void *library_thread(void *arg) {
    struct job *job = (struct job *)arg;
    for (int i = 0; i < CALLS; i++) job->call(job->arg);
    return NULL;
}

static void library_runs(callback call, void *arg) {
    pthread_t threads[AT_ONCE];
    struct job job = {call, arg};
    for (int i = 0; i < AT_ONCE; i++) CHECK(pthread_create(&threads[i], NULL, library_thread, &job) == 0);
    for (int i = 0; i < AT_ONCE; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

/* ----------------------------------------------------------------------------------------------- the program -- */

static atomic_ulong called;

static void refused_in_a_region(void *arg) {
    hw_error why;
    hw_mutator *m = NULL;
    CHECK(hw_attach_if_needed(heap, &m, &why) == HW_ESTATE && m == NULL && strstr(why.text, "blocking region") != NULL);
    CHECK(hw_self(heap) == arg);
}

static void on_event(void *arg) {
    static _Thread_local hw_mutator *mine;
    hw_mutator *m = NULL, *again = NULL;
    hw_error why;
    CHECK(arg == &called && hw_self(heap) == mine);
    CHECK(hw_attach_if_needed(heap, &m, &why) == HW_OK && why.status == HW_OK && (mine == NULL || m == mine));
    CHECK(hw_attach_if_needed(heap, &again, NULL) == HW_OK && again == m && hw_self(heap) == m);
    mine = m;
    uint64_t number = called++ * LENGTH;
    struct node *list = make(m, node_type, LENGTH, number);
    if (number % (7 * LENGTH) == 0) CHECK(hw_collect(m) == HW_OK);
    CHECK(hw_call_blocking(m, refused_in_a_region, m) == HW_OK);
    walk(list, LENGTH, number);
}

static void library(void *arg) { library_runs(on_event, arg); }

/* A stack that this file allocated: the heap is told its bounds. */
static struct fiber foreign;
static hw_mutator *on_it;

static void run_on_it(void) {
    hw_error why;
    hw_mutator *m = NULL;
    char *low = foreign.memory, *high = low + FIBER_BYTES;
    CHECK(hw_self(heap) == NULL);
    CHECK(hw_attach_bounds(heap, low, low + 64, &m, &why) == HW_EINVAL && strstr(why.text, "calling function") != NULL);
    CHECK(hw_attach_bounds(heap, high, low, &m, &why) == HW_EINVAL && m == NULL);
    CHECK(hw_attach_bounds(heap, NULL, high, &m, &why) == HW_EINVAL && strcmp(why.text, "stack_lo is NULL") == 0);
    CHECK(hw_attach_bounds(heap, low, NULL, &m, NULL) == HW_EINVAL);
    CHECK(hw_attach_bounds(NULL, low, high, &m, NULL) == HW_EINVAL);
    CHECK(hw_attach_bounds(heap, low, high, NULL, NULL) == HW_EINVAL);
    CHECK(hw_attach_bounds(heap, low, high, &m, &why) == HW_OK && why.status == HW_OK);
    CHECK(hw_attach_bounds(heap, low, high, &on_it, &why) == HW_ESTATE && on_it == NULL);
    on_it = m;
    struct node *list = make(m, node_type, LENGTH, 5);
    for (int i = 0; i < 5; i++) {
        CHECK(hw_collect(m) == HW_OK);
        CHECK(hw_call_blocking(m, library, &called) == HW_OK);
    }
    walk(list, LENGTH, 5);
    /* To the stack that the system gave the thread, which the heap does not know: nothing is collected there. */
    struct swap swap = {&foreign.context, &foreign.back};
    swap_contexts(&swap);
    walk(list, LENGTH, 5);
    CHECK(hw_collect(m) == HW_OK);
    walk(list, LENGTH, 5);
    CHECK(hw_detach(m) == HW_OK);
    swap_contexts(&swap);
}

static void *on_a_foreign_stack(void *arg) {
    struct swap swap = {&foreign.back, &foreign.context};
    fiber_make(&foreign, NULL, run_on_it);
    swap_contexts(&swap);
    CHECK(hw_self(heap) == on_it && hw_collect(on_it) == HW_ESTATE);
    CHECK(strstr(hw_last_error(on_it)->text, "runs on another stack") != NULL);
    swap_contexts(&swap);
    CHECK(hw_self(heap) == NULL);
    fiber_unmake(&foreign, NULL);
    return arg;
}

static void join(void *arg) { CHECK(pthread_join(*(pthread_t *)arg, NULL) == 0); }

int main(int argc, char **argv) {
    hw_options options;
    hw_mutator *m;
    hw_error why;
    pthread_t thread;
    CHECK(argc == 2);
    signals = strcmp(argv[1], "signals") == 0;
    hw_options_init(&options);
    options.verify = 1;
    options.stop = signals ? HW_STOP_SIGNALS : HW_STOP_POLLS;
    CHECK(hw_heap_create(&options, &heap, NULL) == HW_OK);
    node_type = node_type_of(heap);
    CHECK(hw_self(heap) == NULL && hw_self(NULL) == NULL);
    CHECK(hw_attach_if_needed(NULL, &m, &why) == HW_EINVAL && strcmp(why.text, "heap is NULL") == 0);
    CHECK(hw_attach_if_needed(heap, NULL, &why) == HW_EINVAL && strcmp(why.text, "out is NULL") == 0);
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    for (int i = 0; i < THREADS / AT_ONCE; i++) {
        if (signals) {
            library(&called); /* no collection waits for this thread, which waits in pthread_join */
        } else {
            CHECK(hw_call_blocking(m, library, &called) == HW_OK);
        }
    }
    CHECK(called == THREADS * CALLS);
    called = 0;
    CHECK(pthread_create(&thread, NULL, on_a_foreign_stack, NULL) == 0);
    CHECK(hw_call_blocking(m, join, &thread) == HW_OK);
    hw_stats stats = {.size = sizeof stats};
    CHECK(hw_collect(m) == HW_OK && hw_stats_get(heap, &stats) == HW_OK && stats.threads == 1);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
    printf("%d callbacks\n", (int)called + THREADS * CALLS);
    return 0;
}
