/* Conalloc with libgc: threads that hash blocks and allocate new ones. */
#include "blocks.h"

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    return run(argc, argv, DEFAULT_BLOCKS, MAX_BLOCKS, CONALLOC_THREADS, conalloc);
}
