/* Conalloc with malloc and free: threads that hash blocks and allocate new ones. The mimalloc peer is this source,
   too, with another allocator (see ../allocator.h). */
#include "blocks.h"

int main(int argc, char **argv) {
    answer_version(argc, argv, allocator_version());
    return run(argc, argv, DEFAULT_BLOCKS, MAX_BLOCKS, CONALLOC_THREADS, conalloc);
}
