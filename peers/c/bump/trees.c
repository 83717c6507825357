/* Binary trees in a bump allocator written by hand: a fresh arena for each tree,
   made of blocks of 64 KiB, which go back to a list of spare blocks when the
   tree is dropped. It compares a collector with the least that allocating can
   cost: no object is ever freed or traced by itself. */
#include "../trees.h"

enum { BLOCK_BYTES = 64 * 1024, ALIGN = sizeof(struct node) };

/* A node never straddles two cache lines: nodes lie at multiples of their size. */
struct block {
    struct block *next;
    _Alignas(ALIGN) char room[BLOCK_BYTES - ALIGN];
};

struct arena {
    char *free, *end;             /* what is left of the newest block */
    struct block *newest, *first; /* a list, newest block first */
};

static struct block *spare;

static void arena_grow(struct arena *arena) {
    struct block *block = spare;
    if (block != NULL) {
        spare = block->next;
    } else {
        block = check_memory(aligned_alloc(ALIGN, sizeof *block));
    }
    block->next = arena->newest;
    if (arena->newest == NULL) arena->first = block;
    arena->newest = block;
    arena->free = block->room;
    arena->end = block->room + sizeof block->room;
}

/* The only objects are nodes, so no size has to be rounded. */
static inline struct node *arena_node(struct arena *arena) {
    if ((size_t)(arena->end - arena->free) < sizeof(struct node)) arena_grow(arena);
    struct node *node = (struct node *)arena->free;
    arena->free += sizeof *node;
    return node;
}

/* Hands all blocks back at once. */
static void arena_drop(struct arena *arena) {
    if (arena->newest != NULL) {
        arena->first->next = spare;
        spare = arena->newest;
    }
    *arena = (struct arena){0};
}

static struct node *bottom_up(struct arena *arena, int depth) {
    struct node *left = NULL, *right = NULL;
    if (depth > 0) {
        left = bottom_up(arena, depth - 1);
        right = bottom_up(arena, depth - 1);
    }
    struct node *node = arena_node(arena);
    node->left = left;
    node->right = right;
    return node;
}

static uint64_t build_count_drop(int depth) {
    struct arena arena = {0};
    uint64_t nodes = count(bottom_up(&arena, depth));
    arena_drop(&arena);
    return nodes;
}

int main(int argc, char **argv) {
    int max = max_depth(argc, argv);

    report_stretch(max + 1, build_count_drop(max + 1));

    struct arena long_lived_arena = {0};
    struct node *long_lived = bottom_up(&long_lived_arena, max);

    for (int depth = MIN_DEPTH; depth <= max; depth += 2) {
        uint64_t iterations = UINT64_C(1) << (max - depth + MIN_DEPTH);
        uint64_t nodes = 0;
        for (uint64_t i = 0; i < iterations; i++) nodes += build_count_drop(depth);
        report_trees(iterations, depth, nodes);
    }

    report_long_lived(max, count(long_lived));
    arena_drop(&long_lived_arena);
    while (spare != NULL) {
        struct block *block = spare;
        spare = block->next;
        free(block);
    }
    return 0;
}
