/* RandSmall with malloc and free: blocks of 8 to 2047 bytes that are never touched. The mimalloc peer is this source,
   too, with another allocator (see ../allocator.h). */
#include "blocks.h"

int main(int argc, char **argv) {
    answer_version(argc, argv, allocator_version());
    return run(argc, argv, DEFAULT_ITERATIONS, MAX_ITERATIONS, 1, rand_small);
}
