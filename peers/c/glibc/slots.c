/* Slots with malloc and free: new pairs stored at random into a large array, the old
   one freed by hand. It compares throughput and memory with those of a collector.
   The mimalloc peer is this source, too, with another allocator (see
   ../allocator.h). */
#include "memory.h"
#include "../slots.h"

int main(int argc, char **argv) {
    answer_version(argc, argv, allocator_version());
    return run(argc, argv, DEFAULT_STORES, MAX_STORES, 1, slots);
}
