/* A tree's node, and how the peers in C build and count a tree, whatever memory
   it comes from. A peer defines what is declared here, and struct arena; and, where
   trees are dropped one by one, drop_tree(arena, tree). */
#ifndef PEERS_NODE_H
#define PEERS_NODE_H

#include "common.h"

struct node {
    struct node *left, *right;
#ifdef NODE_HAS_INTEGERS /* gcbench's node */
    int32_t i, j;
#endif
#ifdef NODE_HAS_ITEM /* tree1's node; the number wraps */
    uint32_t item;
#endif
};

/* What the nodes of one tree are taken from (in trees-arena, of many). It starts
   as zeroes, and is empty in the peers that take every node by itself. */
struct arena;

static struct node *new_node(struct arena *arena, struct node *left, struct node *right);

__attribute__((unused)) static struct node *bottom_up(struct arena *arena, int depth) {
    struct node *left = NULL, *right = NULL;
    if (depth > 0) {
        left = bottom_up(arena, depth - 1);
        right = bottom_up(arena, depth - 1);
    }
    return new_node(arena, left, right);
}

__attribute__((unused)) static uint64_t count(const struct node *node) {
    if (node->left == NULL) return 1;
    return 1 + count(node->left) + count(node->right);
}

#endif
