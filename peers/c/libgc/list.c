/* List with libgc: nodes of two words in one list, all of which survive. It compares
   what a growing heap costs. */
#include "memory.h"
#include "../list.h"

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    return run(argc, argv, DEFAULT_NODES, MAX_NODES, 1, list);
}
