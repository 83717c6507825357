/* GCBench in a bump allocator written by hand, an arena for each tree. It
   compares a collector with the least that allocating can cost. */
#define NODE_HAS_INTEGERS
#include "arena.h"

#include "../gcbench.h"

int main(int argc, char **argv) {
    answer_version(argc, argv, BUMP_VERSION);
    gcbench(argc, argv);
    free_spare_blocks();
    return 0;
}
