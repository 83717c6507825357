/* What the trees peers in C share: the node and the walk that counts. */
#ifndef PEERS_TREES_H
#define PEERS_TREES_H

#include "common.h"

enum { MIN_DEPTH = 4, DEFAULT_DEPTH = 21, DEPTH_LIMIT = 40 };

struct node {
    struct node *left, *right;
};

static uint64_t count(const struct node *node) {
    if (node->left == NULL) return 1;
    return 1 + count(node->left) + count(node->right);
}

static inline int max_depth(int argc, char **argv) {
    int n = (int)take_number(argc, argv, DEFAULT_DEPTH, DEPTH_LIMIT);
    return n > MIN_DEPTH + 2 ? n : MIN_DEPTH + 2;
}

static inline void report_stretch(int depth, uint64_t nodes) {
    printf("stretch tree of depth %d trees 1 nodes %" PRIu64 "\n", depth, nodes);
}

static inline void report_trees(uint64_t iterations, int depth, uint64_t nodes) {
    printf("%" PRIu64 " trees of depth %d nodes %" PRIu64 "\n", iterations, depth, nodes);
}

static inline void report_long_lived(int depth, uint64_t nodes) {
    printf("long lived tree of depth %d nodes %" PRIu64 "\n", depth, nodes);
}

#endif
