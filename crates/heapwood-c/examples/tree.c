/* A tree that stays alive because a local variable leads to it: the collector scans the stack. */
#include <heapwood.h>
#include <stdio.h>

struct node {
    struct node *left, *right;
};

static struct node *grow(hw_mutator *m, hw_type type, int depth) {
    struct node *n = hw_alloc(m, type);
    if (n == NULL || depth == 0) return n;
    struct node *left = grow(m, type, depth - 1), *right = grow(m, type, depth - 1);
    hw_write(m, n, &n->left, left); /* n is not new any more: a barrier */
    hw_write(m, n, &n->right, right);
    return n;
}

static int count(const struct node *n) { return n == NULL ? 0 : 1 + count(n->left) + count(n->right); }

int main(void) {
    hw_heap *heap;
    hw_mutator *m;
    hw_type type;
    hw_error why;
    uint64_t mask = HW_POINTER(struct node, left) | HW_POINTER(struct node, right);
    if (hw_heap_create(NULL, &heap, &why) || hw_attach(heap, NULL, &m, &why) ||
        hw_type_mask(heap, sizeof(struct node), &mask, 1, &type, &why)) {
        fprintf(stderr, "tree: %s\n", why.text);
        return 1;
    }
    struct node *root = NULL;
    for (int i = 0; i < 100; i++) root = grow(m, type, 15); /* all but the last are garbage */
    hw_collect(m);
    hw_stats stats = {.size = sizeof stats};
    hw_stats_get(heap, &stats);
    printf("%d nodes, %d collections\n", count(root), (int)stats.collections);
    hw_detach(m);
    return hw_heap_destroy(heap, NULL) != HW_OK;
}
