/* Treap with malloc and free: an index of byte strings whose inserts copy a path.
   Indices share nodes, so nodes and items count their references, and what is
   referred to no more is freed by hand. The mimalloc peer is this source, too, with
   another allocator (see ../allocator.h). */
#include "../allocator.h"

#define COUNTED
#define NODE_MEMORY(bytes) PEER_MALLOC(bytes)
#define ITEM_MEMORY(bytes) PEER_MALLOC(bytes)
#define RELEASE(p) PEER_FREE(p)
#include "../treap.h"

int main(int argc, char **argv) {
    answer_version(argc, argv, allocator_version());
    return run(argc, argv, DEFAULT_KEYS, MAX_KEYS, 1, treap);
}
