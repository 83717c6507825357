/* Fibers that one thread leaves and another resumes, each time, while another thread only collects. Each keeps lists
 * that only its stack refers to. The argument is "polls" or "signals". Verify mode overwrites lost objects. */
#define _GNU_SOURCE
#include "check.h"
#include "fiber.h"
#include "list.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum { THREADS = 3, FIBERS = 12, TURNS = 200, LISTS = 6 };

struct task {
    struct fiber fiber;
    uint64_t number;
    hw_mutator *on; /* the mutator of the thread that has entered it last */
    int done;
};

static hw_heap *heap;
static hw_type node_type;
static struct task tasks[FIBERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Under the lock: those that are ready, in the order in which they were left, and how many are not done. */
static struct task *ready[FIBERS];
static unsigned count, left = FIBERS;
/* What a fiber that begins reads, on the thread that has entered it. */
static _Thread_local struct task *entered;
static atomic_int stop_collecting;
static atomic_ulong collections;

/* Whichever thread goes on with the fiber: it has gone to other threads' when this returns. */
static void __attribute__((noinline)) yield(struct task *t) { fiber_leave(hw_self(heap), &t->fiber); }

static void __attribute__((noinline)) work(struct task *t) {
    struct node *lists[LISTS] = {NULL};
    for (uint64_t turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < LISTS; i++) {
            hw_mutator *m = hw_self(heap);
            walk(lists[i], turn, t->number << 32);
            lists[i] = extend(m, node_type, lists[i], (t->number << 32) + turn);
            for (int k = 0; k < 20; k++) CHECK(hw_alloc_bytes(m, 64) != NULL);
            hw_safepoint(m);
        }
        /* However the threads are scheduled, some collections come meanwhile. */
        for (unsigned long seen = collections; t->number == 1 && turn % 16 == 0 && collections == seen;) hw_safepoint(hw_self(heap));
        yield(t);
        CHECK(hw_self(heap) == t->on);
    }
}

static void begin(void) {
    struct task *t = entered;
    work(t);
    t->done = 1;
    yield(t);
    abort();
}

/* The first that another thread has left. */
static struct task *take(hw_mutator *m) {
    struct task *t = NULL;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < count; i++) {
        if (t != NULL) {
            ready[i - 1] = ready[i];
        } else if (ready[i]->on != m) {
            t = ready[i];
        }
    }
    if (t != NULL) {
        t->on = m;
        count--;
    }
    pthread_mutex_unlock(&lock);
    return t;
}

/* On the thread's own stack: no other thread resumes a fiber before it was left. */
static void put(struct task *t) {
    pthread_mutex_lock(&lock);
    if (t->done) {
        left--;
    } else {
        ready[count++] = t;
    }
    pthread_mutex_unlock(&lock);
}

static void *run(void *arg) {
    hw_mutator *m;
    (void)arg;
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK && hw_self(heap) == m);
    for (;;) {
        pthread_mutex_lock(&lock);
        unsigned n = left;
        pthread_mutex_unlock(&lock);
        if (n == 0) break;
        struct task *t = take(m);
        if (t == NULL) {
            sched_yield();
        } else {
            entered = t;
            fiber_enter(m, &t->fiber);
            put(t);
        }
        hw_safepoint(m);
    }
    CHECK(hw_detach(m) == HW_OK && hw_self(heap) == NULL);
    return NULL;
}

static void *collect(void *arg) {
    hw_mutator *m;
    (void)arg;
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    while (!stop_collecting) {
        CHECK(hw_collect(m) == HW_OK);
        collections++;
    }
    CHECK(hw_detach(m) == HW_OK);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS], collector;
    hw_options options;
    CHECK(argc == 2);
    hw_options_init(&options);
    options.verify = 1;
    options.stop = strcmp(argv[1], "signals") == 0 ? HW_STOP_SIGNALS : HW_STOP_POLLS;
    CHECK(hw_heap_create(&options, &heap, NULL) == HW_OK);
    node_type = node_type_of(heap);
    for (unsigned i = 0; i < FIBERS; i++) {
        tasks[i].number = i + 1;
        fiber_make(&tasks[i].fiber, heap, begin);
        ready[count++] = &tasks[i];
    }
    CHECK(pthread_create(&collector, NULL, collect, NULL) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, run, NULL) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    stop_collecting = 1;
    CHECK(pthread_join(collector, NULL) == 0);
    for (int i = 0; i < FIBERS; i++) fiber_unmake(&tasks[i].fiber, heap);
    hw_stats stats = {.size = sizeof stats};
    CHECK(hw_stats_get(heap, &stats) == HW_OK && stats.threads == 0 && stats.verified == stats.collections);
    CHECK(collections > 10);
    printf("%d fibers moved %d times, %d collections\n", FIBERS, FIBERS * TURNS, (int)collections);
    CHECK(hw_heap_destroy(heap, NULL) == HW_OK);
    return 0;
}
