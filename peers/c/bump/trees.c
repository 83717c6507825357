/* Binary trees in a bump allocator written by hand, an arena for each tree. It
   compares a collector with the least that allocating can cost. */
#include "arena.h"

#include "../trees.h"

int main(int argc, char **argv) {
    answer_version(argc, argv, BUMP_VERSION);
    trees(argc, argv);
    free_spare_blocks();
    return 0;
}
