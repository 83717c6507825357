/* Mark with libgc: the time of a full collection of a static graph: a tree in two
   orders in memory, a random graph, and lists. It compares how fast the collectors
   trace. */
#include "../common.h"
#include "collect.h"
#include "lists.h"
#include "order.h"
#include "start.h"

enum { ROOT_STRIDE = 64 };
#define DEFAULT_OBJECTS 8000000
#define MAX_OBJECTS (UINT64_C(1) << 31)
#define NONE UINT32_MAX

/* A node of the graph, 32 bytes. */
struct object {
    struct object *links[2];
    uint64_t id;
    uint64_t seen; /* set by walk */
};

/* A graph over indices, from which the objects are built. It has no pointers to
   objects, so plain malloc serves. */
struct plan {
    size_t objects, roots;
    uint32_t (*links)[2];
    uint32_t *root;
};

/* The only things that lead to objects. Both live in memory of the collector;
   the index is freed before anything is measured. */
static struct object **root;
static struct object **object_index;

/* Makes a balanced binary tree of the indices: order is its preorder. So in
   order, objects lie as a program that builds a tree from the root allocates
   them. */
static struct plan plan_tree(size_t n, uint32_t *order) {
    struct plan plan = {n, 1, must_malloc(n * sizeof *plan.links),
                        must_malloc(sizeof *plan.root)};
    struct {
        size_t first, size;
    } stack[2 * 64], child[2];
    size_t height = 0;
    stack[height].first = 0;
    stack[height++].size = n;
    while (height > 0) {
        size_t first = stack[--height].first, size = stack[height].size;
        child[0].first = first + 1;
        child[0].size = size / 2;
        child[1].first = first + 1 + child[0].size;
        child[1].size = size - 1 - child[0].size;
        for (size_t k = 0; k < 2; k++) {
            uint32_t to = NONE;
            if (child[k].size > 0) {
                to = order[child[k].first];
                stack[height].first = child[k].first;
                stack[height++].size = child[k].size;
            }
            plan.links[order[first]][k] = to;
        }
    }
    plan.root[0] = order[0];
    free(order);
    return plan;
}

/* Links every index to two random ones; every 64th is a root. */
static struct plan plan_random(size_t n) {
    uint64_t rng = SEED;
    size_t roots = (n + ROOT_STRIDE - 1) / ROOT_STRIDE;
    struct plan plan = {n, roots, must_malloc(n * sizeof *plan.links),
                        must_malloc(roots * sizeof *plan.root)};
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < 2; k++) plan.links[i][k] = (uint32_t)(next_random(&rng) % n);
    }
    for (size_t i = 0; i < roots; i++) plan.root[i] = (uint32_t)(i * ROOT_STRIDE);
    return plan;
}

static void plan_free(struct plan *plan) {
    free(plan->links);
    free(plan->root);
}

/* Counts the indices that can be reached from the roots. */
static size_t plan_reached(const struct plan *plan) {
    bool *seen = check_memory(calloc(plan->objects, sizeof *seen));
    uint32_t *stack = must_malloc(plan->objects * sizeof *stack);
    size_t height = 0, reached = 0;
    for (size_t r = 0; r < plan->roots; r++) {
        uint32_t first = plan->root[r];
        if (seen[first]) continue;
        seen[first] = true;
        stack[height++] = first;
        while (height > 0) {
            uint32_t from = stack[--height];
            reached++;
            for (size_t k = 0; k < 2; k++) {
                uint32_t to = plan->links[from][k];
                if (to == NONE || seen[to]) continue;
                seen[to] = true;
                stack[height++] = to;
            }
        }
    }
    free(stack);
    free(seen);
    return reached;
}

/* Allocates the objects in index order and links them. Not inlined, so that
   what it leaves on the stack lies below the frames of the measuring. */
static __attribute__((noinline)) void build(const struct plan *plan) {
    object_index =
        check_memory(GC_MALLOC_IGNORE_OFF_PAGE(plan->objects * sizeof *object_index));
    for (size_t i = 0; i < plan->objects; i++) {
        object_index[i] = check_memory(GC_MALLOC(sizeof **object_index));
        object_index[i]->id = i;
    }
    for (size_t i = 0; i < plan->objects; i++) {
        for (size_t k = 0; k < 2; k++) {
            uint32_t to = plan->links[i][k];
            if (to != NONE) object_index[i]->links[k] = object_index[to];
        }
    }
    root = check_memory(GC_MALLOC_IGNORE_OFF_PAGE(plan->roots * sizeof *root));
    for (size_t r = 0; r < plan->roots; r++) root[r] = object_index[plan->root[r]];

    /* Freed by hand and at once: a stray copy of its address on the stack can
       then not keep every object alive. */
    GC_FREE(object_index);
    object_index = NULL;
}

/* Counts the objects that the program can reach and sums up their ids in the
   order of the walk. */
static __attribute__((noinline)) size_t walk(size_t objects, size_t roots, uint64_t *checksum) {
    /* The stack hides nothing: what is on it stays linked in the graph. */
    struct object **stack = must_malloc(objects * sizeof *stack);
    size_t height = 0, walked = 0;
    *checksum = 0;
    for (size_t r = 0; r < roots; r++) {
        if (root[r]->seen) continue;
        root[r]->seen = 1;
        stack[height++] = root[r];
        while (height > 0) {
            struct object *from = stack[--height];
            walked++;
            *checksum = *checksum * 31 + from->id;
            for (size_t k = 0; k < 2; k++) {
                struct object *to = from->links[k];
                if (to == NULL || to->seen) continue;
                to->seen = 1;
                stack[height++] = to;
            }
        }
    }
    free(stack);
    return walked;
}

static bool mark_graph(const char *name, const char *figure, struct plan plan, bool count_mode) {
    size_t reached = plan_reached(&plan);
    build(&plan);
    plan_free(&plan);

    uint64_t best = collect_in_full(name, reached);
    printf("mark %s objects %zu reached %zu\n", name, plan.objects, reached);
    printf("figure %s %.3f\n", figure, (double)best / (double)reached);

    bool ok = true;
    if (count_mode) {
        uint64_t checksum;
        size_t walked = walk(plan.objects, plan.roots, &checksum);
        printf("mark %s walked %zu checksum 0x%016" PRIx64 "\n", name, walked, checksum);
        ok = walked == reached;
    }

    root = NULL;
    return ok;
}

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    bool count_mode = take_flag(&argc, argv, "--count");
    size_t n = take_number(argc, argv, DEFAULT_OBJECTS, MAX_OBJECTS);

    bool ok = mark_graph("in-order", "in_order_ns", plan_tree(n, order_in_order(n)), count_mode);
    ok = mark_graph("shuffled", "shuffled_ns", plan_tree(n, order_shuffled(n)), count_mode) && ok;
    ok = mark_graph("random", "random_ns", plan_random(n), count_mode) && ok;
    for (size_t lists = 1; lists <= MOST_LISTS; lists *= 2) {
        ok = mark_lists("", "", n, order_in_order(n), lists) && ok;
    }
    for (size_t lists = 1; lists <= MOST_LISTS; lists *= 8) {
        ok = mark_lists("shuffled-", "shuffled_", n, order_shuffled(n), lists) && ok;
    }
    return ok ? 0 : 1;
}
