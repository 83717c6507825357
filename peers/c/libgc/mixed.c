/* Mixed with libgc: documents of mixed sizes, whose bodies and fragments have no
   pointers (GC_MALLOC_ATOMIC). It compares throughput and memory; what is
   dropped is only forgotten. */
#include "memory.h"
#include "../mixed.h"

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    return run(argc, argv, DEFAULT_OPS, MAX_OPS, 1, mixed);
}
