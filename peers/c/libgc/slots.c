/* Slots with libgc: new pairs stored at random into a large array. It compares
   throughput and memory; what is replaced is only forgotten. */
#include "memory.h"
#include "../slots.h"

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    return run(argc, argv, DEFAULT_STORES, MAX_STORES, 1, slots);
}
