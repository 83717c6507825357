/* A bump allocator written by hand: a fresh arena for each tree, made of blocks
   of 64 KiB, which go back to a list of spare blocks when the tree is dropped.
   It is the least that allocating can cost: no object is ever freed or traced
   by itself. */
#ifndef PEERS_BUMP_ARENA_H
#define PEERS_BUMP_ARENA_H

#include "../node.h"

enum { BLOCK_BYTES = 64 * 1024, ALIGN = _Alignof(max_align_t) };

struct block {
    struct block *next;
    _Alignas(ALIGN) char room[BLOCK_BYTES - ALIGN];
};

struct arena {
    char *free, *end;             /* what is left of the newest block */
    struct block *newest, *first; /* a list, newest block first */
};

/* Each thread has its own. */
static _Thread_local struct block *spare;

static void arena_grow(struct arena *arena) {
    struct block *block = spare;
    if (block != NULL) {
        spare = block->next;
    } else {
        block = check_memory(malloc(sizeof *block));
    }
    block->next = arena->newest;
    if (arena->newest == NULL) arena->first = block;
    arena->newest = block;
    arena->free = block->room;
    arena->end = block->room + sizeof block->room;
}

/* The only objects are nodes of one size, so nothing is rounded. */
static inline struct node *new_node(struct arena *arena, struct node *left, struct node *right) {
    if ((size_t)(arena->end - arena->free) < sizeof(struct node)) arena_grow(arena);
    struct node *node = (struct node *)arena->free;
    arena->free += sizeof *node;
    *node = (struct node){.left = left, .right = right};
    return node;
}

/* Hands all blocks back at once. */
static void drop_tree(struct arena *arena, struct node *tree) {
    (void)tree;
    arena->first->next = spare;
    spare = arena->newest;
    *arena = (struct arena){};
}

static inline double *new_array(size_t items) {
    return calloc(items, sizeof(double));
}

static inline void drop_array(double *array) {
    free(array);
}

static void free_spare_blocks(void) {
    while (spare != NULL) {
        struct block *block = spare;
        spare = block->next;
        free(block);
    }
}

/* Nothing is under it but what the compiler makes of it. */
#ifdef __clang__
#define BUMP_VERSION "clang " __clang_version__
#else
#define BUMP_VERSION "gcc " __VERSION__
#endif

#endif
