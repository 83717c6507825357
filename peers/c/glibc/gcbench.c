/* GCBench with malloc and free, every node freed by hand. It compares the cost
   of a collector with that of freeing. The mimalloc peer is this source, too,
   with another allocator (see ../allocator.h). */
#define NODE_HAS_INTEGERS
#include "nodes.h"

#include "../gcbench.h"

int main(int argc, char **argv) {
    answer_version(argc, argv, allocator_version());
    return run(argc, argv, DEFAULT_DEPTH, DEPTH_LIMIT, 1, gcbench);
}
