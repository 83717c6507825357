/* GCBench with libgc, the conservative collector for C: trees built from the
   root and from the leaves, and a large array without pointers. */
#define NODE_HAS_INTEGERS
#include "nodes.h"

#include "../gcbench.h"

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    return run(argc, argv, DEFAULT_DEPTH, DEPTH_LIMIT, 1, gcbench);
}
