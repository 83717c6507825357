/* Binary trees in mimalloc's heaps of the first class: a heap for each arena,
   which is destroyed with all that is in it. It compares an arena with a heap
   that could free each object by itself, too. */
#define PEER_MIMALLOC
#include "../allocator.h"
#include "../node.h"

struct arena {
    mi_heap_t *heap;
};

static void begin_thread(void) {}

static void end_thread(void) {}

static void begin_arena(struct arena *arena) {
    arena->heap = check_memory(mi_heap_new());
}

static void free_arena(struct arena *arena) {
    mi_heap_destroy(arena->heap);
}

static inline struct node *new_node(struct arena *arena, struct node *left, struct node *right) {
    struct node *node = check_memory(mi_heap_malloc(arena->heap, sizeof *node));
    *node = (struct node){.left = left, .right = right};
    return node;
}

#include "../trees-arena.h"

int main(int argc, char **argv) {
    answer_version(argc, argv, allocator_version());
    return run_trees_arena(argc, argv);
}
