/* Queue with libgc: objects without pointers (GC_MALLOC_ATOMIC) that die middle-aged.
   It compares throughput and memory; what is dropped is only forgotten. */
#include "memory.h"
#include "../queue.h"

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    return run(argc, argv, DEFAULT_ALLOCATIONS, MAX_ALLOCATIONS, 1, queue);
}
