/* Binary trees with malloc and free, every node freed by hand. It compares the
   cost of a collector with that of freeing. The mimalloc peer is this source,
   too, with another allocator (see ../allocator.h). */
#include "../allocator.h"
#include "../trees.h"

static struct node *bottom_up(int depth) {
    struct node *left = NULL, *right = NULL;
    if (depth > 0) {
        left = bottom_up(depth - 1);
        right = bottom_up(depth - 1);
    }
    struct node *node = check_memory(PEER_MALLOC(sizeof *node));
    node->left = left;
    node->right = right;
    return node;
}

static void free_tree(struct node *node) {
    if (node->left != NULL) {
        free_tree(node->left);
        free_tree(node->right);
    }
    PEER_FREE(node);
}

static uint64_t build_count_free(int depth) {
    struct node *tree = bottom_up(depth);
    uint64_t nodes = count(tree);
    free_tree(tree);
    return nodes;
}

int main(int argc, char **argv) {
    int max = max_depth(argc, argv);

    report_stretch(max + 1, build_count_free(max + 1));

    struct node *long_lived = bottom_up(max);

    for (int depth = MIN_DEPTH; depth <= max; depth += 2) {
        uint64_t iterations = UINT64_C(1) << (max - depth + MIN_DEPTH);
        uint64_t nodes = 0;
        for (uint64_t i = 0; i < iterations; i++) nodes += build_count_free(depth);
        report_trees(iterations, depth, nodes);
    }

    report_long_lived(max, count(long_lived));
    free_tree(long_lived);
    return 0;
}
