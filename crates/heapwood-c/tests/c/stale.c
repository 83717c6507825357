/* Mistakes of a program that lead to a stale pointer: the argument names one. With HW_CHECKED the program is told where it
 * follows the pointer; without it, it reads filled memory and goes on. */
#include "check.h"
#include <heapwood.h>
#include <string.h>

struct node {
    struct node *next;
    uint64_t value, pad[2];
};

static hw_heap *heap;
static hw_mutator *m;
static hw_type type;

/* Registered nowhere. */
static struct node *forgotten;

static struct node *made(void) {
    struct node *node = hw_alloc(m, type);
    CHECK(node != NULL);
    node->value = 7;
    return node;
}

static void collect(void) { CHECK(hw_collect(m) == HW_OK && hw_collect(m) == HW_OK); }

int main(int argc, char **argv) {
    const char *mistake = argc > 1 ? argv[1] : "";
    hw_options options;
    hw_options_init(&options);
    options.verify = 1;
    options.conservative_stacks = 0;
    uint64_t mask = strcmp(mistake, "wrong mask") ? HW_POINTER(struct node, next) : 2;
    CHECK(hw_heap_create(&options, &heap, NULL) == HW_OK && hw_attach(heap, NULL, &m, NULL) == HW_OK);
    CHECK(hw_type_mask(heap, sizeof(struct node), &mask, 1, &type, NULL) == HW_OK);
    CHECK(hw_type_name(heap, type, "node", NULL) == HW_OK);
    CHECK(hw_type_name(heap, type + 12345678, "none", NULL) == HW_EINVAL);
    void **handle = hw_handle_new(m, made());
    CHECK(handle != NULL);
    struct node *stale = NULL, **block = malloc(sizeof *block);
    if (!strcmp(mistake, "global")) {
        forgotten = made();
        collect();
        stale = forgotten;
    } else if (!strcmp(mistake, "malloc")) {
        *block = made();
        collect();
        stale = *block;
    } else if (!strcmp(mistake, "wrong mask")) {
        struct node *first = *handle;
        first->value = 0;
        hw_write(m, first, &first->next, made());
        collect();
        stale = first->next;
    } else if (!strcmp(mistake, "freed")) {
        stale = made();
        CHECK(hw_free(m, stale) == HW_OK);
    } else if (!strcmp(mistake, "store")) {
        stale = made();
        collect();
        hw_write(m, stale, &stale->next, NULL);
    }
    CHECK(stale != NULL);
    /* Other objects do not get the memory. */
    for (int i = 0; i < 100000; i++) CHECK(made() != stale);
    printf("%llx\n", (unsigned long long)HW_AT(stale)->value);
    free(block);
    return 0;
}
