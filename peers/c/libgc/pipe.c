/* Pipe with libgc: messages without pointers (GC_MALLOC_ATOMIC) that one thread makes
   and another forgets. It compares throughput. */
#include "memory.h"
#include "../pipe.h"

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    return run(argc, argv, DEFAULT_MESSAGES, MAX_MESSAGES, 1, run_pipe);
}
