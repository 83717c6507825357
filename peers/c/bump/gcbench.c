/* GCBench in a bump allocator written by hand, an arena for each tree. It
   compares a collector with the least that allocating can cost. */
#define NODE_HAS_INTEGERS
#include "arena.h"

#include "../gcbench.h"

static void gcbench_and_free(uint64_t n, struct report *report) {
    gcbench(n, report);
    free_spare_blocks();
}

int main(int argc, char **argv) {
    answer_version(argc, argv, BUMP_VERSION);
    return run(argc, argv, DEFAULT_DEPTH, DEPTH_LIMIT, 1, gcbench_and_free);
}
