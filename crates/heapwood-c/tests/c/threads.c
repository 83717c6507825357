/* Several threads in one heap: they allocate, collect, block, pass objects to each other, come and go. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 199309L
#endif
#include "check.h"
#include <heapwood.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

enum { THREADS = 4, ROUNDS = 30, DEPTH = 13, BOXES = 64 };

struct node {
    struct node *left, *right;
};

static hw_heap *heap;
static hw_type node_type;
static struct node *boxes[BOXES]; /* registered slots; trees go from thread to thread through them */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static hw_mutator *join(void) {
    hw_mutator *m = NULL;
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    return m;
}

static struct node *grow(hw_mutator *m, int depth) {
    struct node *child[2] = {NULL, NULL};
    hw_frame frame;
    hw_frame_push(m, &frame, child, 2);
    if (depth > 0) {
        child[0] = grow(m, depth - 1);
        child[1] = grow(m, depth - 1);
    }
    struct node *n = (struct node *)hw_alloc(m, node_type);
    CHECK(n != NULL && n->left == NULL && n->right == NULL);
    n->left = child[0];
    n->right = child[1];
    hw_frame_pop(m, &frame);
    return n;
}

static int count(const struct node *n) { return n == NULL ? 0 : 1 + count(n->left) + count(n->right); }

static void take_lock(void *arg) { pthread_mutex_lock((pthread_mutex_t *)arg); }

static void nap(void *arg) {
    struct timespec t = {0, *(const long *)arg};
    nanosleep(&t, NULL);
}

/* Puts a tree into a box and returns the one that was there. */
static struct node *exchange(hw_mutator *m, unsigned box, struct node *tree) {
    CHECK(hw_call_blocking(m, take_lock, &lock) == HW_OK);
    struct node *old = boxes[box];
    boxes[box] = tree;
    pthread_mutex_unlock(&lock);
    return old;
}

static void *work(void *arg) {
    unsigned number = (unsigned)(uintptr_t)arg;
    uint64_t random = number + 1;
    for (int round = 0; round < ROUNDS; round++) {
        hw_mutator *m = join();
        struct node *local[2] = {NULL, NULL};
        hw_frame frame;
        hw_frame_push(m, &frame, local, 2);
        for (int i = 0; i < 10; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            int depth = (int)(random >> 33) % DEPTH;
            local[0] = grow(m, depth);
            CHECK(count(local[0]) == (2 << depth) - 1);
            local[1] = exchange(m, (unsigned)(random >> 40) % BOXES, local[0]);
            local[0] = NULL;
            int n = count(local[1]);
            CHECK((n & (n + 1)) == 0); /* a full tree, or none */
            if (i == 3 && round % 15 == 14) CHECK(hw_collect(m) == HW_OK);
            if (i == 6 && round % 7 == 0) {
                long ns = 100000;
                CHECK(hw_call_blocking(m, nap, &ns) == HW_OK);
            }
            for (int k = 0; k < 1000; k++) hw_safepoint(m);
        }
        hw_frame_pop(m, &frame);
        CHECK(hw_detach(m) == HW_OK);
    }
    return NULL;
}

static void *not_mine(void *m) {
    CHECK(hw_detach((hw_mutator *)m) == HW_ESTATE);
    return NULL;
}

struct waiting {
    pthread_t thread[THREADS];
    int count;
};

static void join_all(void *arg) {
    struct waiting *w = (struct waiting *)arg;
    for (int i = 0; i < w->count; i++) pthread_join(w->thread[i], NULL);
}

int main(int argc, char **argv) {
    hw_options options;
    hw_options_init(&options);
    options.conservative_stacks = 0;
    options.min_heap = 1 << 20;
    options.verify = argc > 1 && argv[1][0] == 'v';
    CHECK(hw_heap_create(&options, &heap, NULL) == HW_OK);
    uint64_t mask = HW_POINTER(struct node, left) | HW_POINTER(struct node, right);
    CHECK(hw_type_mask(heap, sizeof(struct node), &mask, 1, &node_type, NULL) == HW_OK);
    hw_root root = hw_root_slots(heap, boxes, BOXES, NULL);
    CHECK(root != 0);

    hw_mutator *m = join();
    struct waiting w = {.count = THREADS};
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&w.thread[i], NULL, work, (void *)(uintptr_t)i) == 0);
    }
    CHECK(hw_call_blocking(m, join_all, &w) == HW_OK);
    w.count = 1;
    CHECK(pthread_create(&w.thread[0], NULL, not_mine, m) == 0);
    CHECK(hw_call_blocking(m, join_all, &w) == HW_OK);

    CHECK(hw_collect(m) == HW_OK);
    uint64_t expected = 0;
    for (int i = 0; i < BOXES; i++) expected += (uint64_t)count(boxes[i]);
    hw_stats stats = {.size = sizeof stats};
    CHECK(hw_stats_get(heap, &stats) == HW_OK);
    CHECK(stats.live_objects == expected && stats.threads == 1 && stats.barrier_violations == 0);
    CHECK(stats.collections > THREADS * (ROUNDS / 15) + 1); /* those asked for, and some that were due */
    CHECK(hw_root_remove(heap, root, NULL) == HW_OK && hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
    printf("%d threads, %d collections\n", THREADS, (int)stats.collections);
    return 0;
}
