/* A small program for address spaces of any size: it keeps 1 MiB alive, drops 8 MiB, and has some memory of its own.
 * Exit 0: done. Exit 3: an error, with its reason on standard output. */
#include "check.h"
#include <heapwood.h>
#include <stdint.h>
#include <string.h>

struct pair {
    struct pair *first, *second;
};

static int refused(const char *what, const char *why) {
    printf("refused: %s: %s\n", what, why);
    return why[0] == 0 ? 1 : 3;
}

int main(void) {
    static struct pair *all;
    hw_heap *heap;
    hw_mutator *m;
    hw_type pair;
    hw_error why = {HW_OK, ""};
    const uint64_t mask = HW_POINTER(struct pair, first) | HW_POINTER(struct pair, second);
    if (hw_heap_create(NULL, &heap, &why) != HW_OK) return refused("a heap", why.text);
    if (hw_attach(heap, NULL, &m, &why) != HW_OK) return refused("a thread", why.text);
    if (hw_type_mask(heap, sizeof(struct pair), &mask, 1, &pair, &why) != HW_OK) return refused("a type", why.text);
    hw_root root = hw_root_slots(heap, &all, 1, &why);
    if (root == 0) return refused("a root", why.text);
    unsigned char *own = malloc(1 << 20);
    if (own == NULL) return refused("malloc", "the heap has left nothing");
    memset(own, 7, 1 << 20);
    for (int round = 0; round < 9; round++) {
        all = NULL;
        for (int i = 0; i < (1 << 20) / 16; i++) {
            struct pair *p = hw_alloc(m, pair);
            if (p == NULL) return refused("an object", hw_last_error(m)->text);
            p->second = all;
            all = p;
        }
        if (hw_collect(m) != HW_OK) return refused("a collection", hw_last_error(m)->text);
    }
    int n = 0;
    for (struct pair *p = all; p != NULL; p = p->second) n++;
    CHECK(n == (1 << 20) / 16 && own[12345] == 7);
    free(own);
    CHECK(hw_root_remove(heap, root, NULL) == HW_OK && hw_detach(m) == HW_OK);
    CHECK(hw_heap_destroy(heap, NULL) == HW_OK);
    puts("done");
    return 0;
}
