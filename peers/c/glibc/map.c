/* Map with malloc and free: a hash map under insertions and deletions, whose
   entries and values are freed by hand as they are deleted or replaced. It
   compares throughput and memory with those of a collector. The mimalloc peer is
   this source, too, with another allocator (see ../allocator.h). */
#include "memory.h"
#include "../map.h"

int main(int argc, char **argv) {
    answer_version(argc, argv, allocator_version());
    return run(argc, argv, DEFAULT_ENTRIES, MAX_ENTRIES, 1, map);
}
