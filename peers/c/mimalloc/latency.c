/* Latency with mimalloc, each node freed by hand: the floor of the gaps. */
#define PEER_MIMALLOC
#include "../allocator.h"

#define NODE_MEMORY(bytes) PEER_MALLOC(bytes)
#define TABLE_MEMORY(bytes) PEER_MALLOC(bytes)
#define RELEASE(p) PEER_FREE(p)
#include "../latency.h"

int main(int argc, char **argv) {
    answer_version(argc, argv, allocator_version());
    return run(argc, argv, DEFAULT_MIB, MAX_MIB, 1, latency);
}
