/* Pipe with malloc and free: messages that one thread makes and another frees. It
   compares throughput with that of a collector. The mimalloc peer is this source,
   too, with another allocator (see ../allocator.h). */
#include "memory.h"
#include "../pipe.h"

int main(int argc, char **argv) {
    answer_version(argc, argv, allocator_version());
    return run(argc, argv, DEFAULT_MESSAGES, MAX_MESSAGES, 1, run_pipe);
}
