/* Binary trees in arenas, as in the document on arena performance (golang/go#51667): a stretch tree and a long-lived
 * one, each in its own arena, and many short-lived ones, a MiB of them in an arena. It prints the lines of the peers
 * and of heapwood run trees --arena.
 *
 *     arena_trees DEPTH [keep|verify]
 *
 * By default an arena is recycled. With "keep" its addresses go to quarantine, as if pointers were left. */
#include "check.h"
#include <heapwood.h>
#include <inttypes.h>
#include <string.h>

struct node {
    struct node *left, *right;
};

static hw_mutator *m;
static hw_type node_type;
static uint32_t flags = HW_ARENA_RECYCLE;

/* One place that allocates: two cost a sixth more, by mispredicted branches. */
static struct node *grow(hw_arena *arena, int depth) {
    struct node *left = NULL, *right = NULL;
    if (depth > 0) {
        left = grow(arena, depth - 1);
        right = grow(arena, depth - 1);
    }
    struct node *n = (struct node *)hw_arena_alloc(arena, node_type, 1);
    CHECK(n != NULL);
    n->left = left;
    n->right = right;
    return n;
}

static uint64_t count(const struct node *n) {
    if (n->left == NULL) return 1;
    return 1 + count(n->left) + count(n->right);
}

static hw_arena *begin(void) {
    hw_arena *arena;
    CHECK(hw_arena_new(m, flags, &arena) == HW_OK);
    return arena;
}

static void print(uint64_t arenas, uint64_t nodes) {
    printf("arenas %" PRIu64 " nodes %" PRIu64 " MB %.1f\n", arenas, nodes,
           (double)(nodes * sizeof(struct node)) / (1 << 20));
}

int main(int argc, char **argv) {
    int depth = argc > 1 ? atoi(argv[1]) : 18;
    hw_heap *heap;
    hw_options options;
    hw_options_init(&options);
    options.conservative_stacks = 0;
    if (argc > 2 && strcmp(argv[2], "keep") == 0) flags = 0;
    options.verify = argc > 2 && strcmp(argv[2], "verify") == 0;
    CHECK(depth >= 6 && depth <= 30);
    CHECK(hw_heap_create(&options, &heap, NULL) == HW_OK && hw_attach(heap, NULL, &m, NULL) == HW_OK);
    uint64_t mask = HW_POINTER(struct node, left) | HW_POINTER(struct node, right);
    CHECK(hw_type_mask(heap, sizeof(struct node), &mask, 1, &node_type, NULL) == HW_OK);

    hw_arena *arena = begin();
    uint64_t nodes = count(grow(arena, depth + 1));
    CHECK(hw_arena_free(arena) == HW_OK);
    printf("stretch tree of depth %d ", depth + 1);
    print(1, nodes);
    hw_arena *lives_long = begin();
    struct node *tree = grow(lives_long, depth);
    for (int d = 4; d <= depth; d += 2) {
        uint64_t trees = UINT64_C(1) << (depth - d + 4), arenas = 0, all = 0;
        for (uint64_t left = trees; left > 0; arenas++) {
            arena = begin();
            for (nodes = 0; left > 0 && nodes * sizeof(struct node) < 1 << 20; left--) nodes += count(grow(arena, d));
            CHECK(hw_arena_free(arena) == HW_OK);
            all += nodes;
        }
        printf("%" PRIu64 " trees of depth %d ", trees, d);
        print(arenas, all);
    }
    printf("long lived tree of depth %d ", depth);
    print(1, count(tree));
    CHECK(hw_arena_free(lives_long) == HW_OK);
    hw_stats stats = {.size = sizeof stats};
    CHECK(hw_stats_get(heap, &stats) == HW_OK && (flags == 0 || stats.collections == 0) && stats.arena_bytes == 0);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
    return 0;
}
