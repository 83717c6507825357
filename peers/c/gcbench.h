/* What the gcbench peers in C share: the whole workload, written afresh after
   the program by John Ellis and Pete Kovac that Hans Boehm modified, apart from where nodes
   and the array come from and go to, which a peer says before it includes this
   (node.h, with NODE_HAS_INTEGERS; new_array and drop_array). */
#ifndef PEERS_GCBENCH_H
#define PEERS_GCBENCH_H

#include "node.h"
#include "threads.h"

enum { MIN_DEPTH = 4, DEFAULT_DEPTH = 16, DEPTH_LIMIT = 30 };
enum { ARRAY_ITEMS = 500000, ARRAY_SET = ARRAY_ITEMS / 2 };

_Static_assert(sizeof(struct node) == 2 * sizeof(struct node *) + 8, "two pointers, two integers");

/* The nodes of a full tree. */
static inline uint64_t tree_size(int depth) {
    return (UINT64_C(2) << depth) - 1;
}

static void populate(struct arena *arena, struct node *node, int depth) {
    if (depth <= 0) return;
    node->left = new_node(arena, NULL, NULL);
    node->right = new_node(arena, NULL, NULL);
    populate(arena, node->left, depth - 1);
    populate(arena, node->right, depth - 1);
}

static struct node *top_down(struct arena *arena, int depth) {
    struct node *node = new_node(arena, NULL, NULL);
    populate(arena, node, depth);
    return node;
}

/* Builds and drops trees; tells the nodes of the last one. */
static inline uint64_t build_many(uint64_t iterations, int depth,
                                  struct node *(*build)(struct arena *, int)) {
    uint64_t nodes = 0;
    for (uint64_t i = 0; i < iterations; i++) {
        struct arena arena = {};
        struct node *tree = build(&arena, depth);
        if (i == iterations - 1) nodes = count(tree);
        drop_tree(&arena, tree);
    }
    return nodes;
}

static void report_many(struct report *report, const char *how, uint64_t iterations, int depth,
                        uint64_t nodes) {
    fprintf(report->lines, "%s %" PRIu64 " trees of depth %d nodes %" PRIu64 "\n", how, iterations,
            depth, nodes);
}

/* Ascending and one by one, so that every program rounds alike. */
static uint64_t bits_of_sum(const double *array) {
    double sum = 0;
    for (size_t i = 1; i < ARRAY_SET; i++) sum += array[i];
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    return bits;
}

static void gcbench(uint64_t n, struct report *report) {
    int max = n < MIN_DEPTH ? MIN_DEPTH : (int)n;

    fprintf(report->lines, "stretch tree of depth %d nodes %" PRIu64 "\n", max + 2,
            build_many(1, max + 2, bottom_up));

    struct arena arena = {};
    struct node *long_lived = top_down(&arena, max);
    double *array = check_memory(new_array(ARRAY_ITEMS));
    for (size_t i = 1; i < ARRAY_SET; i++) array[i] = 1.0 / (double)i;

    for (int depth = MIN_DEPTH; depth <= max; depth += 2) {
        uint64_t iterations = 2 * tree_size(max + 2) / tree_size(depth);
        report_many(report, "top down", iterations, depth,
                    build_many(iterations, depth, top_down));
        report_many(report, "bottom up", iterations, depth,
                    build_many(iterations, depth, bottom_up));
    }

    fprintf(report->lines,
            "long lived tree of depth %d nodes %" PRIu64 " array sum 0x%016" PRIx64 "\n", max,
            count(long_lived), bits_of_sum(array));
    drop_array(array);
    drop_tree(&arena, long_lived);
}

#endif
