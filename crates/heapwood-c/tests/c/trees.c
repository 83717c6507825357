/* Binary trees, as in the Benchmarks Game: a stretch tree, a long-lived one, many short-lived ones; each is counted.
 * All allocation goes through the inline path.
 *
 *     trees DEPTH precise|conservative [time]
 *
 * "precise" keeps live objects only in shadow frames, and the heap does not look at stacks. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 199309L
#endif
#include <heapwood.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct node {
    struct node *left, *right;
};

static hw_type node_type;

static void give_up(const char *what, const hw_error *why) {
    fprintf(stderr, "trees: %s: %s\n", what, why->text);
    exit(1);
}

static struct node *new_node(hw_mutator *m) {
    struct node *n = (struct node *)hw_alloc(m, node_type);
    if (n == NULL) give_up("no node", hw_last_error(m));
    return n;
}

/* Children first: the node is new when it is filled. */
static struct node *grow_precise(hw_mutator *m, int depth) {
    if (depth == 0) return new_node(m);
    struct node *child[2] = {NULL, NULL};
    hw_frame frame;
    hw_frame_push(m, &frame, child, 2);
    child[0] = grow_precise(m, depth - 1);
    child[1] = grow_precise(m, depth - 1);
    struct node *n = new_node(m);
    n->left = child[0];
    n->right = child[1];
    hw_frame_pop(m, &frame);
    return n;
}

/* Nothing but the machine's stack and registers leads to the left child while the right one grows. */
static struct node *grow_conservative(hw_mutator *m, int depth) {
    if (depth == 0) return new_node(m);
    struct node *left = grow_conservative(m, depth - 1);
    struct node *right = grow_conservative(m, depth - 1);
    struct node *n = new_node(m);
    n->left = left;
    n->right = right;
    return n;
}

static uint64_t count(const struct node *n) {
    if (n->left == NULL) return 1;
    return 1 + count(n->left) + count(n->right);
}

static uint64_t nodes_of(int depth) { return (UINT64_C(2) << depth) - 1; }

static void check(int depth, uint64_t trees, uint64_t nodes) {
    if (nodes != trees * nodes_of(depth)) {
        fprintf(stderr, "trees: %" PRIu64 " nodes in %" PRIu64 " trees of depth %d\n", nodes, trees, depth);
        exit(1);
    }
}

int main(int argc, char **argv) {
    int depth = argc > 1 ? atoi(argv[1]) : 14;
    int precise = argc > 2 && strcmp(argv[2], "precise") == 0;
    struct node *(*grow)(hw_mutator *, int) = precise ? grow_precise : grow_conservative;
    if (depth < 6 || depth > 30) return 2;

    hw_heap *heap;
    hw_mutator *m;
    hw_error why;
    hw_options options;
    hw_options_init(&options);
    options.conservative_stacks = !precise;
    /* A collection every few trees even at small depths. */
    if (argc <= 3) options.min_heap = 1 << 20;
    if (hw_heap_create(&options, &heap, &why)) give_up("no heap", &why);
    if (hw_attach(heap, NULL, &m, &why)) give_up("not attached", &why);
    uint64_t mask = HW_POINTER(struct node, left) | HW_POINTER(struct node, right);
    if (hw_type_mask(heap, sizeof(struct node), &mask, 1, &node_type, &why)) give_up("no type", &why);

    struct timespec begin, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    uint64_t total = nodes_of(depth + 1) + nodes_of(depth);
    check(depth + 1, 1, count(grow(m, depth + 1)));
    struct node *long_lived[1] = {NULL};
    hw_frame frame;
    hw_frame_push(m, &frame, long_lived, 1);
    long_lived[0] = grow(m, depth);
    for (int d = 4; d <= depth; d += 2) {
        uint64_t trees = UINT64_C(1) << (depth - d + 4), nodes = 0;
        for (uint64_t i = 0; i < trees; i++) nodes += count(grow(m, d));
        check(d, trees, nodes);
        printf("%" PRIu64 " trees of depth %d nodes %" PRIu64 "\n", trees, d, nodes);
        total += nodes;
    }
    check(depth, 1, count(long_lived[0]));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    if (precise) {
        /* Only the long-lived tree is left, exactly. */
        hw_collect(m);
    }
    hw_stats stats = {.size = sizeof stats};
    hw_stats_get(heap, &stats);
    if (stats.collections < 2 || (precise && stats.live_objects != nodes_of(depth))) {
        fprintf(stderr, "trees: %" PRIu64 " objects alive after %" PRIu64 " collections\n", stats.live_objects,
                stats.collections);
        return 1;
    }
    if (argc > 3) {
        double ns = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
        printf("%.2f ns a node, %" PRIu64 " nodes, %" PRIu64 " collections\n", ns / (double)total, total,
               stats.collections);
    }
    hw_frame_pop(m, &frame);
    if (hw_detach(m) || hw_heap_destroy(heap, NULL)) return 1;
    return 0;
}
