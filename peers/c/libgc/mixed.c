/* Mixed with libgc: documents of mixed sizes, whose bodies and fragments have no
   pointers (GC_MALLOC_ATOMIC). It compares throughput and memory; what is
   dropped is only forgotten. */
#include "start.h"

#define WORDS_MEMORY(bytes) GC_MALLOC_ATOMIC(bytes)
#define POINTERS_MEMORY(bytes) GC_MALLOC(bytes)
/* What libgc's manual advises for large arrays; the start is kept on the stack. */
#define TABLE_MEMORY(bytes) GC_MALLOC_IGNORE_OFF_PAGE(bytes)
#define RELEASE(p) ((void)(p))
#include "../mixed.h"

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    return run(argc, argv, DEFAULT_OPS, MAX_OPS, 1, mixed);
}
