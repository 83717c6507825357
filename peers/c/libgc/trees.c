/* Binary trees with libgc, the conservative collector for C. It compares the
   cost of allocating small objects with pointers, and of collecting them. */
#include "../trees.h"
#include "start.h"

static struct node *bottom_up(int depth) {
    struct node *left = NULL, *right = NULL;
    if (depth > 0) {
        left = bottom_up(depth - 1);
        right = bottom_up(depth - 1);
    }
    struct node *node = check_memory(GC_MALLOC(sizeof *node));
    node->left = left;
    node->right = right;
    return node;
}

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    int max = max_depth(argc, argv);

    report_stretch(max + 1, count(bottom_up(max + 1)));

    struct node *long_lived = bottom_up(max);

    for (int depth = MIN_DEPTH; depth <= max; depth += 2) {
        uint64_t iterations = UINT64_C(1) << (max - depth + MIN_DEPTH);
        uint64_t nodes = 0;
        for (uint64_t i = 0; i < iterations; i++) nodes += count(bottom_up(depth));
        report_trees(iterations, depth, nodes);
    }

    report_long_lived(max, count(long_lived));
    return 0;
}
