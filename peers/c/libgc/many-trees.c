/* Binary trees with libgc, whose nodes come from GC_malloc_many: a list of free
   nodes that the program takes from, and has refilled when it is empty. It
   compares libgc as runtimes that care for the speed of small objects use it. */
/* The list of free nodes is the program's, not a thread's. */
#define MOST_THREADS 1
#include "../node.h"
#include "start.h"

/* A static variable: the collector scans it, and keeps the whole list. */
static void *free_nodes;

static inline void *take_free_node(void) {
    if (free_nodes == NULL) {
        free_nodes = check_memory(GC_malloc_many(sizeof(struct node)));
    }
    void *node = free_nodes;
    free_nodes = GC_NEXT(node);
    /* Else every node would keep those that were behind it in the list. */
    GC_NEXT(node) = NULL;
    return node;
}

#define NODE_MEMORY() take_free_node()
#include "trees.c"
