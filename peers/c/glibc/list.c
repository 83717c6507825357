/* List with malloc and free: nodes of two words in one list, freed by hand as it is
   walked. It compares what a growing heap costs. The mimalloc peer is this source,
   too, with another allocator (see ../allocator.h). */
#include "memory.h"
#include "../list.h"

int main(int argc, char **argv) {
    answer_version(argc, argv, allocator_version());
    return run(argc, argv, DEFAULT_NODES, MAX_NODES, 1, list);
}
