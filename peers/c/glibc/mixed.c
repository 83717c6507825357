/* Mixed with malloc and free: documents of mixed sizes, each freed by hand with
   all it has. It compares throughput and memory with those of a collector. The
   mimalloc peer is this source, too, with another allocator (see
   ../allocator.h). */
#include "memory.h"
#include "../mixed.h"

int main(int argc, char **argv) {
    answer_version(argc, argv, allocator_version());
    return run(argc, argv, DEFAULT_OPS, MAX_OPS, 1, mixed);
}
