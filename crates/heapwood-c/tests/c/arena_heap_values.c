/* A value whose type has no mask lives in the heap, and its arena keeps it. After the arena was freed or reset
 * without HW_ARENA_RECYCLE, a stale pointer keeps only that value alive. The program may free its targets, recycle
 * their arena, or the next collection may find them dead. Arguments: verify, signals, young. */
#include "check.h"
#include <heapwood.h>
#include <stdint.h>
#include <string.h>

struct node {
    struct node *left, *right;
};

static hw_heap *heap;
static hw_mutator *m;
static hw_type node_type, long_type;
static struct node *root;
static int precise = 1;

static uint64_t live(void) {
    hw_stats stats = {.size = sizeof stats};
    CHECK(hw_collect(m) == HW_OK);
    CHECK(hw_stats_get(heap, &stats) == HW_OK && stats.barrier_violations == 0);
    return stats.live_objects;
}

/* Targets of the value: an object that the program frees, a dead object, and a value of a recycled arena. */
enum behind { FREED, LEFT, RECYCLED, KINDS };

static void end_one(enum behind what, int reset) {
    hw_arena *arena, *other = NULL;
    CHECK(hw_arena_new(m, 0, &arena) == HW_OK);
    void **value = (void **)hw_arena_alloc(arena, long_type, 1);
    CHECK(value != NULL && hw_arena_of(heap, value) == 0);
    hw_write(m, root, &root->left, value);
    struct node *behind;
    if (what == RECYCLED) {
        CHECK(hw_arena_new(m, HW_ARENA_RECYCLE, &other) == HW_OK);
        behind = (struct node *)hw_arena_alloc(other, node_type, 1);
    } else {
        behind = (struct node *)hw_alloc(m, node_type);
    }
    CHECK(behind != NULL);
    hw_write(m, value, value, behind);
    CHECK((reset ? hw_arena_reset(arena) : hw_arena_free(arena)) == HW_OK);
    if (what == FREED) CHECK(hw_free(m, behind) == HW_OK);
    if (what == RECYCLED) CHECK(hw_arena_free(other) == HW_OK);
    behind = NULL;
    CHECK(hw_collect_young(m) == HW_OK);
    /* The root's object and the value, and the header of an arena that is open. */
    uint64_t alive = live();
    CHECK(!precise || alive == 2 + (uint64_t)reset);
    CHECK(*value == NULL);
    if (reset) CHECK(hw_arena_free(arena) == HW_OK);
    hw_write(m, root, &root->left, NULL);
}

int main(int argc, char **argv) {
    hw_options options;
    hw_options_init(&options);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "verify") == 0) options.verify = 1;
        if (strcmp(argv[i], "young") == 0) options.generational = HW_GENERATIONAL_ALWAYS;
        /* Such a heap scans the stack, where any of these addresses may be left. */
        if (strcmp(argv[i], "signals") == 0) options.stop = HW_STOP_SIGNALS, precise = 0;
    }
    options.conservative_stacks = (uint32_t)!precise;
    CHECK(hw_heap_create(&options, &heap, NULL) == HW_OK && hw_attach(heap, NULL, &m, NULL) == HW_OK);
    uint64_t mask = 3;
    CHECK(hw_type_mask(heap, sizeof(struct node), &mask, 1, &node_type, NULL) == HW_OK);
    /* One that has cells, and one of pages of its own. */
    const char *types[] = {"{ ptr [300]word }", "{ ptr [100000]word }"};
    CHECK(hw_root_slots(heap, (void **)&root, 1, NULL) != 0);
    root = (struct node *)hw_alloc(m, node_type);
    CHECK(root != NULL);
    for (int i = 0; i < 2 * 2 * KINDS; i++) {
        CHECK(hw_type_describe(heap, types[i % 2], NULL, &long_type, NULL) == HW_OK);
        end_one((enum behind)(i / 4), i / 2 % 2);
    }
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
    puts("a stale pointer keeps nothing behind it");
    return 0;
}
