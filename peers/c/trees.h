/* What the trees peers in C share: the whole workload, apart from where nodes
   come from and go to, which a peer says before it includes this (node.h). */
#ifndef PEERS_TREES_H
#define PEERS_TREES_H

#include "node.h"
#include "threads.h"

enum { MIN_DEPTH = 4, DEFAULT_DEPTH = 21, DEPTH_LIMIT = 40 };

static uint64_t build_count_drop(int depth) {
    struct arena arena = {};
    struct node *tree = bottom_up(&arena, depth);
    uint64_t nodes = count(tree);
    drop_tree(&arena, tree);
    return nodes;
}

static void trees(uint64_t n, struct report *report) {
    int max = n < MIN_DEPTH + 2 ? MIN_DEPTH + 2 : (int)n;

    uint64_t stretch = build_count_drop(max + 1);
    fprintf(report->lines, "stretch tree of depth %d trees 1 nodes %" PRIu64 "\n", max + 1,
            stretch);

    struct arena arena = {};
    struct node *long_lived = bottom_up(&arena, max);

    for (int depth = MIN_DEPTH; depth <= max; depth += 2) {
        uint64_t iterations = UINT64_C(1) << (max - depth + MIN_DEPTH);
        uint64_t nodes = 0;
        for (uint64_t i = 0; i < iterations; i++) nodes += build_count_drop(depth);
        fprintf(report->lines, "%" PRIu64 " trees of depth %d nodes %" PRIu64 "\n", iterations,
                depth, nodes);
    }

    fprintf(report->lines, "long lived tree of depth %d nodes %" PRIu64 "\n", max,
            count(long_lived));
    drop_tree(&arena, long_lived);
}

#endif
