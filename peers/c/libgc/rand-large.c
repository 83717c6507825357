/* RandLarge with libgc: blocks of 1 to 128 KiB that are never touched. */
#include "blocks.h"

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    return run(argc, argv, DEFAULT_ITERATIONS, MAX_ITERATIONS, 1, rand_large);
}
