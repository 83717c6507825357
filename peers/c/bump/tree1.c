/* Tree1 in a bump allocator written by hand, an arena for each tree. It compares
   a collector with the least that allocating can cost. */
#define NODE_HAS_ITEM
#include "arena.h"

#include "../tree1.h"

static void tree1_and_free(uint64_t n, struct report *report) {
    tree1(n, report);
    free_spare_blocks();
}

int main(int argc, char **argv) {
    answer_version(argc, argv, BUMP_VERSION);
    return run(argc, argv, DEFAULT_DEPTH, DEPTH_LIMIT, 1, tree1_and_free);
}
