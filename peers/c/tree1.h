/* What the tree1 peers in C share: the whole workload, apart from where nodes
   come from and go to, which a peer says before it includes this (node.h, with
   NODE_HAS_ITEM). Numbers wrap at 32 bits. */
#ifndef PEERS_TREE1_H
#define PEERS_TREE1_H

#include "node.h"
#include "threads.h"

enum { MIN_DEPTH = 4, DEFAULT_DEPTH = 18, DEPTH_LIMIT = 40 };

static struct node *build(struct arena *arena, uint32_t item, int depth) {
    struct node *left = NULL, *right = NULL;
    if (depth > 0) {
        left = build(arena, 2 * item - 1, depth - 1);
        right = build(arena, 2 * item, depth - 1);
    }
    struct node *node = new_node(arena, left, right);
    node->item = item;
    return node;
}

static uint32_t check(const struct node *node) {
    if (node->left == NULL) return node->item;
    return node->item + check(node->left) - check(node->right);
}

static uint32_t build_check_drop(uint32_t item, int depth) {
    struct arena arena = {};
    struct node *tree = build(&arena, item, depth);
    uint32_t sum = check(tree);
    drop_tree(&arena, tree);
    return sum;
}

static void tree1(uint64_t n, struct report *report) {
    int max = n < MIN_DEPTH + 2 ? MIN_DEPTH + 2 : (int)n;

    fprintf(report->lines, "stretch tree of depth %d check %" PRId32 "\n", max + 1,
            (int32_t)build_check_drop(0, max + 1));

    struct arena arena = {};
    struct node *volatile long_lived = build(&arena, 0, max);

    for (int depth = MIN_DEPTH; depth <= max; depth += 2) {
        uint64_t pairs = UINT64_C(1) << (max - depth + MIN_DEPTH);
        uint32_t sum = 0;
        for (uint64_t i = 1; i <= pairs; i++) {
            sum += build_check_drop((uint32_t)i, depth);
            sum += build_check_drop(-(uint32_t)i, depth);
        }
        fprintf(report->lines, "%" PRIu64 " trees of depth %d check %" PRId32 "\n", 2 * pairs,
                depth, (int32_t)sum);
    }

    fprintf(report->lines, "long lived tree of depth %d check %" PRId32 "\n", max,
            (int32_t)check(long_lived));
    drop_tree(&arena, long_lived);
}

#endif
