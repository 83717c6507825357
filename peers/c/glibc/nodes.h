/* The nodes and the array of the peers that free by hand, one by one. */
#ifndef PEERS_GLIBC_NODES_H
#define PEERS_GLIBC_NODES_H

#include "../allocator.h"
#include "../node.h"

struct arena {};

static inline struct node *new_node(struct arena *arena, struct node *left, struct node *right) {
    (void)arena;
    struct node *node = check_memory(PEER_MALLOC(sizeof *node));
    *node = (struct node){.left = left, .right = right};
    return node;
}

static void drop_tree(struct arena *arena, struct node *node) {
    if (node->left != NULL) {
        drop_tree(arena, node->left);
        drop_tree(arena, node->right);
    }
    PEER_FREE(node);
}

static inline double *new_array(size_t items) {
    return PEER_CALLOC(items, sizeof(double));
}

static inline void drop_array(double *array) {
    PEER_FREE(array);
}

#endif
