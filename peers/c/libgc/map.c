/* Map with libgc: a hash map under insertions and deletions, whose values have no
   pointers (GC_MALLOC_ATOMIC). It compares throughput and memory; what is deleted
   is only forgotten. */
#include "start.h"

#define VALUE_MEMORY(bytes) GC_MALLOC_ATOMIC(bytes)
#define ENTRY_MEMORY(bytes) GC_MALLOC(bytes)
/* What libgc's manual advises for large arrays; the start is kept on the stack. */
#define TABLE_MEMORY(bytes) GC_MALLOC_IGNORE_OFF_PAGE(bytes)
#define RELEASE(p) ((void)(p))
#include "../map.h"

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    return run(argc, argv, DEFAULT_ENTRIES, MAX_ENTRIES, 1, map);
}
