/* The time that threads take to stop for a collection, by polls, by signals, and in libgc: the same program for all
 * three. THREADS threads allocate lists, each keeping the last hundred nodes. The main thread collects, and records
 * each time from the request until all have stopped. With FORKS it forks FORKS times beside THREADS threads in
 * blocking regions instead, and records the time of the heap's handlers.
 *
 *     cc -O2 -pthread stop_time.c -lheapwood && HEAPWOOD=stop=signals ./a.out THREADS COLLECTIONS [FORKS]
 *     cc -O2 -pthread -DLIBGC stop_time.c -lgc && ./a.out THREADS COLLECTIONS */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct node {
    struct node *next;
    uint64_t value[3];
};

static volatile int done;
static volatile int ready;

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int by_size(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void tell(const char *what, uint64_t *ns, size_t n) {
    qsort(ns, n, sizeof *ns, by_size);
    printf("%s p50 %.1f p99 %.1f max %.1f us\n", what, ns[n / 2] / 1e3, ns[n * 99 / 100] / 1e3, ns[n - 1] / 1e3);
}

#ifdef LIBGC
#define GC_THREADS
#include <gc/gc.h>

static uint64_t asked, took;

static void on_event(GC_EventType event) {
    if (event == GC_EVENT_PRE_STOP_WORLD) asked = now();
    if (event == GC_EVENT_POST_STOP_WORLD) took = now() - asked;
}

static void *work(void *arg) {
    struct node *kept = NULL;
    (void)arg;
    __sync_fetch_and_add(&ready, 1);
    for (uint64_t i = 0; !done; i++) {
        struct node *node = GC_MALLOC(sizeof *node);
        node->next = i % 100 ? kept : NULL;
        kept = node;
    }
    return kept;
}

static uint64_t collect(void *heap, void *m) {
    (void)heap, (void)m;
    usleep(1000);
    GC_gcollect();
    return took;
}
#else
#include "heapwood.h"

static hw_heap *heap;
static hw_type node_type;

static void *work(void *arg) {
    hw_mutator *m;
    struct node *kept = NULL;
    (void)arg;
    if (hw_attach(heap, NULL, &m, NULL) != HW_OK) abort();
    __sync_fetch_and_add(&ready, 1);
    for (uint64_t i = 0; !done; i++) {
        struct node *node = hw_alloc(m, node_type);
        node->next = i % 100 ? kept : NULL;
        kept = node;
    }
    hw_detach(m);
    return NULL;
}

static void nap(void *arg) {
    (void)arg;
    usleep(1000);
}

static void wait_until_ready(void *threads) {
    while (ready < *(int *)threads) usleep(100);
}

static uint64_t collect(void *h, void *m) {
    hw_call_blocking(m, nap, NULL);
    hw_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    hw_stats_get(h, &before);
    hw_collect(m);
    hw_stats_get(h, &after);
    /* The threads collect, too; what lies between is mostly this one's. */
    return (after.phase_stop_ns - before.phase_stop_ns) / (after.collections > before.collections ? after.collections - before.collections : 1);
}

static void wait_until_done(void *arg) {
    (void)arg;
    while (!done) sleep(1);
}

static void *wait_in_region(void *arg) {
    hw_mutator *m;
    (void)arg;
    if (hw_attach(heap, NULL, &m, NULL) != HW_OK) abort();
    for (int i = 0; i < 1000; i++) hw_alloc(m, node_type);
    __sync_fetch_and_add(&ready, 1);
    hw_call_blocking(m, wait_until_done, NULL);
    hw_detach(m);
    return NULL;
}

/* Handlers registered before the heap's and after them: what lies between is the heap's. */
static uint64_t first, last, prepare_ns, parent_ns, child_ns;
static void before_inner(void) { first = now(); }
static void before_outer(void) { prepare_ns = now() - first; }
static void parent_outer(void) { last = now(); }
static void parent_inner(void) { parent_ns = now() - last; }
static void child_outer(void) { last = now(); }
static void child_inner(void) { child_ns = now() - last; }

/* What the heap's handlers take, in the thread that forks and in the child. */
static void forks(size_t n) {
    uint64_t *before = malloc(n * sizeof *before), *parent = malloc(n * sizeof *parent), *child = malloc(n * sizeof *child);
    for (size_t i = 0; i < n; i++) {
        int pipes[2];
        if (pipe(pipes)) abort();
        pid_t pid = fork();
        if (pid == 0) _exit(write(pipes[1], &child_ns, sizeof child_ns) < 0);
        before[i] = prepare_ns, parent[i] = parent_ns;
        if (read(pipes[0], &child[i], sizeof *child) != sizeof *child) abort();
        close(pipes[0]), close(pipes[1]);
        waitpid(pid, NULL, 0);
    }
    tell("before", before, n);
    tell("parent", parent, n);
    tell("child", child, n);
}
#endif

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 2, collections = argc > 2 ? atoi(argv[2]) : 100;
    pthread_t *all = malloc((size_t)threads * sizeof *all);
    uint64_t *ns = malloc((size_t)collections * sizeof *ns);
    void *h = NULL, *m = NULL;
    void *(*run)(void *) = work;
#ifdef LIBGC
    GC_INIT();
    GC_allow_register_threads();
    GC_set_on_collection_event(on_event);
#else
    hw_options options;
    hw_options_init(&options);
    hw_options_env(&options, NULL);
    size_t n = argc > 3 ? (size_t)atoi(argv[3]) : 0;
    if (n > 0) {
        run = wait_in_region;
        pthread_atfork(before_outer, parent_outer, child_outer);
    }
    if (hw_heap_create(&options, &heap, NULL) != HW_OK) return 1;
    if (n > 0) pthread_atfork(before_inner, parent_inner, child_inner);
    uint64_t mask = 1;
    if (hw_type_mask(heap, sizeof(struct node), &mask, 1, &node_type, NULL) != HW_OK) return 1;
    if (hw_attach(heap, NULL, (hw_mutator **)&m, NULL) != HW_OK) return 1;
    h = heap;
#endif
    for (int i = 0; i < threads; i++) pthread_create(&all[i], NULL, run, NULL);
#ifdef LIBGC
    while (ready < threads) usleep(100);
#else
    hw_call_blocking(m, wait_until_ready, &threads);
    if (n > 0) {
        forks(n);
        collections = 0;
    }
#endif
    for (int i = 0; i < collections; i++) {
        ns[i] = collect(h, m);
    }
    if (collections > 0) tell("time to stop", ns, (size_t)collections);
    done = 1;
#ifdef LIBGC
    for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
#endif
    return 0;
}
