/* Binary trees with libgc, the conservative collector for C. It compares the
   cost of allocating small objects with pointers, and of collecting them. The
   peer libgc-many is this source, too, with nodes taken by the list
   (see many-trees.c). */
#include "nodes.h"

#include "../trees.h"

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    trees(argc, argv);
    return 0;
}
