/* Tree1 with libgc, the conservative collector for C. */
#define NODE_HAS_ITEM
#include "nodes.h"

#include "../tree1.h"

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    return run(argc, argv, DEFAULT_DEPTH, DEPTH_LIMIT, 1, tree1);
}
