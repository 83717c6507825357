/* Treap with libgc: an index of byte strings whose inserts copy a path. Items have no
   pointers (GC_MALLOC_ATOMIC); what is dropped is only forgotten. */
#include "start.h"

#define NODE_MEMORY(bytes) GC_MALLOC(bytes)
#define ITEM_MEMORY(bytes) GC_MALLOC_ATOMIC(bytes)
#include "../treap.h"

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    return run(argc, argv, DEFAULT_KEYS, MAX_KEYS, 1, treap);
}
