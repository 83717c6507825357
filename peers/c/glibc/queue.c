/* Queue with malloc and free: objects that die middle-aged, each freed by hand. It
   compares throughput and memory with those of a collector. The mimalloc peer is
   this source, too, with another allocator (see ../allocator.h). */
#include "memory.h"
#include "../queue.h"

int main(int argc, char **argv) {
    answer_version(argc, argv, allocator_version());
    return run(argc, argv, DEFAULT_ALLOCATIONS, MAX_ALLOCATIONS, 1, queue);
}
