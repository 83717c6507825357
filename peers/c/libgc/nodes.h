/* The nodes and the array of the libgc peers. Nothing is dropped but by being
   forgotten. */
#ifndef PEERS_LIBGC_NODES_H
#define PEERS_LIBGC_NODES_H

#include "../node.h"
#include "start.h"

struct arena {};

/* Where a node comes from, cleared. */
#ifndef NODE_MEMORY
#define NODE_MEMORY() GC_MALLOC(sizeof(struct node))
#endif

static inline struct node *new_node(struct arena *arena, struct node *left, struct node *right) {
    (void)arena;
    struct node *node = check_memory(NODE_MEMORY());
    node->left = left;
    node->right = right;
    return node;
}

static inline void drop_tree(struct arena *arena, struct node *tree) {
    (void)arena;
    (void)tree;
}

/* Not scanned by the collector, and so not cleared by it either. */
static inline double *new_array(size_t items) {
    double *array = check_memory(GC_MALLOC_ATOMIC(items * sizeof *array));
    return memset(array, 0, items * sizeof *array);
}

static inline void drop_array(double *array) {
    (void)array;
}

#endif
