/* Tree1 with malloc and free, every node freed by hand. The mimalloc peer is this
   source, too, with another allocator (see ../allocator.h). */
#define NODE_HAS_ITEM
#include "nodes.h"

#include "../tree1.h"

int main(int argc, char **argv) {
    answer_version(argc, argv, allocator_version());
    return run(argc, argv, DEFAULT_DEPTH, DEPTH_LIMIT, 1, tree1);
}
