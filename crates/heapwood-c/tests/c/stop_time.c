/* How long threads take to stop for a collection, by polls, by signals, and in libgc: the same program for all three. So many threads
 * allocate lists, each keeping the last hundred nodes; the main thread collects, and notes each time from the request until all
 * had stopped. With FORKS it forks that often beside so many threads in blocking regions instead, and notes what that takes
 * with a heap and without.
 *
 *     cc -O2 -pthread stop_time.c -lheapwood && HEAPWOOD=stop=signals ./a.out THREADS COLLECTIONS [FORKS]
 *     cc -O2 -pthread -DLIBGC stop_time.c -lgc && ./a.out THREADS COLLECTIONS
 */
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

static uint64_t collect(void *h, void *m) {
    hw_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    hw_stats_get(h, &before);
    hw_collect(m);
    hw_stats_get(h, &after);
    /* The threads collect, too; what lies between is mostly this one's. */
    return (after.stop_total_ns - before.stop_total_ns) / (after.stops > before.stops ? after.stops - before.stops : 1);
}

static void wait_until_done(void *arg) {
    (void)arg;
    while (!done) usleep(1000);
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

/* What a fork takes the thread that forks, and the child until it runs. */
static void forks(size_t n, const char *what) {
    uint64_t *parent = malloc(n * sizeof *parent), *child = malloc(n * sizeof *child);
    for (size_t i = 0; i < n; i++) {
        int pipes[2];
        if (pipe(pipes)) abort();
        uint64_t began = now();
        pid_t pid = fork();
        uint64_t ns = now() - began;
        if (pid == 0) {
            if (write(pipes[1], &ns, sizeof ns) < 0) _exit(1);
            _exit(0);
        }
        parent[i] = ns;
        if (read(pipes[0], &child[i], sizeof ns) != sizeof ns) abort();
        close(pipes[0]), close(pipes[1]);
        waitpid(pid, NULL, 0);
    }
    printf("%s: ", what);
    tell("parent", parent, n);
    printf("%s: ", what);
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
        forks(n, "without a heap");
    }
    if (hw_heap_create(&options, &heap, NULL) != HW_OK) return 1;
    uint64_t mask = 1;
    if (hw_type_mask(heap, sizeof(struct node), &mask, 1, &node_type, NULL) != HW_OK) return 1;
    if (hw_attach(heap, NULL, (hw_mutator **)&m, NULL) != HW_OK) return 1;
    h = heap;
#endif
    for (int i = 0; i < threads; i++) pthread_create(&all[i], NULL, run, NULL);
    while (ready < threads) usleep(100);
#ifndef LIBGC
    if (n > 0) {
        forks(n, "with a heap");
        collections = 0;
    }
#endif
    for (int i = 0; i < collections; i++) {
        usleep(1000);
        ns[i] = collect(h, m);
    }
    if (collections > 0) tell("time to stop", ns, (size_t)collections);
    done = 1;
#ifdef LIBGC
    for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
#endif
    return 0;
}
