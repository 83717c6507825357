/* Map with libgc: a hash map under insertions and deletions, whose values have no
   pointers (GC_MALLOC_ATOMIC). It compares throughput and memory; what is deleted
   is only forgotten. */
#include "memory.h"
#include "../map.h"

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    return run(argc, argv, DEFAULT_ENTRIES, MAX_ENTRIES, 1, map);
}
