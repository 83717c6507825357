/* RandSmall with libgc: blocks of 8 to 2047 bytes that are never touched. */
#include "blocks.h"

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    return run(argc, argv, DEFAULT_ITERATIONS, MAX_ITERATIONS, 1, rand_small);
}
