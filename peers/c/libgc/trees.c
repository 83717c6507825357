/* Binary trees with libgc, the conservative collector for C. It compares the
   cost of allocating small objects with pointers, and of collecting them. The
   peer libgc-many is this source, too, with nodes taken by the list
   (see many-trees.c). */
#include "nodes.h"

#include "../trees.h"

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    return run(argc, argv, DEFAULT_DEPTH, DEPTH_LIMIT, 1, trees);
}
