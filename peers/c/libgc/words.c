/* Words with libgc: the time of a full collection of objects each word of which
   may be a pointer, as all are here: a tree, a list with tagged links, one that
   is shuffled, and a hash table. */
#include "../common.h"
#include "collect.h"
#include "order.h"
#include "start.h"

enum { TAGS = 7 }; /* tags are from 1 to this */
#define DEFAULT_OBJECTS 4000000
#define MAX_OBJECTS (UINT64_C(1) << 31)

/* The only thing that leads to objects, and the table that the shuffled list is
   made from. */
static uintptr_t *root;
static uintptr_t **pairs;
static size_t buckets;

/* What a walk has found. */
struct walked {
    size_t objects;
    uint64_t checksum;
};

static inline void add(struct walked *walked, uint64_t number) {
    walked->objects++;
    walked->checksum = walked->checksum * 31 + number;
}

static inline uintptr_t *new_words(size_t words) {
    return check_memory(GC_MALLOC(words * sizeof(uintptr_t)));
}

static uintptr_t *tree_node(size_t n) {
    size_t size[2] = {n / 2, n - 1 - n / 2};
    uintptr_t *child[2] = {NULL, NULL};
    for (size_t k = 0; k < 2; k++) {
        if (size[k] > 0) child[k] = tree_node(size[k]);
    }
    uintptr_t *node = new_words(2);
    for (size_t k = 0; k < 2; k++) node[k] = (uintptr_t)child[k];
    return node;
}

static void build_tree(size_t n) {
    root = tree_node(n);
}

static size_t add_tree(const uintptr_t *node, struct walked *walked) {
    size_t size = 1;
    for (size_t k = 0; k < 2; k++) {
        if (node[k] != 0) size += add_tree((uintptr_t *)node[k], walked);
    }
    add(walked, size);
    return size;
}

static void walk_tree(struct walked *walked) {
    add_tree(root, walked);
}

static inline uintptr_t tag(uintptr_t number) {
    return 1 + number / 2 % TAGS;
}

static void build_tagged(size_t n) {
    root = new_words(2);
    root[1] = 1;
    for (size_t i = 1; i < n; i++) {
        uintptr_t *pair = new_words(2);
        pair[0] = (uintptr_t)root + tag(root[1]);
        pair[1] = 2 * i + 1;
        root = pair;
    }
}

/* The lists are taken apart: a stray pointer then keeps one pair and not the rest. */
static void walk_tagged(struct walked *walked) {
    uintptr_t *pair = root;
    for (;;) {
        uintptr_t link = pair[0], number = pair[1];
        add(walked, number);
        pair[0] = 0;
        if (link == 0) return;
        pair = (uintptr_t *)(link - tag(number - 2));
    }
}

static void build_shuffled(size_t n) {
    pairs = check_memory(GC_MALLOC_IGNORE_OFF_PAGE(n * sizeof *pairs));
    for (size_t i = 0; i < n; i++) {
        pairs[i] = new_words(2);
        pairs[i][1] = 2 * i + 1;
    }
    uint32_t *order = order_shuffled(n);
    for (size_t i = 0; i + 1 < n; i++) pairs[order[i]][0] = (uintptr_t)pairs[order[i + 1]];
    root = pairs[order[0]];
    free(order);
    /* Freed at once: a stray copy of its address can then not keep every pair. */
    GC_FREE(pairs);
    pairs = NULL;
}

static void walk_shuffled(struct walked *walked) {
    for (uintptr_t *pair = root, *next; pair != NULL; pair = next) {
        add(walked, pair[1]);
        next = (uintptr_t *)pair[0];
        pair[0] = 0;
    }
}

static void build_table(size_t n) {
    uint64_t rng = SEED;
    buckets = n / 3 > 1 ? n / 3 : 1;
    root = check_memory(GC_MALLOC_IGNORE_OFF_PAGE(buckets * sizeof *root));
    for (size_t i = 0; i < buckets; i++) {
        uintptr_t *entry = new_words(4);
        entry[0] = next_random(&rng) >> 20;
        uint64_t *key = check_memory(GC_MALLOC_ATOMIC(3 * sizeof *key));
        key[0] = entry[0];
        entry[1] = (uintptr_t)key;
        uintptr_t *value = new_words(2);
        value[0] = 2 * i + 1;
        entry[2] = (uintptr_t)value;
        uintptr_t *bucket = &root[entry[0] % buckets];
        entry[3] = *bucket;
        *bucket = (uintptr_t)entry;
    }
}

static void walk_table(struct walked *walked) {
    for (size_t i = 0; i < buckets; i++) {
        for (const uintptr_t *entry = (uintptr_t *)root[i]; entry != NULL;
             entry = (uintptr_t *)entry[3]) {
            add(walked, entry[0]);
            add(walked, *(uint64_t *)entry[1]);
            add(walked, *(uintptr_t *)entry[2]);
        }
    }
}

/* Not inlined, so that what a call leaves on the stack lies below the frames of
   the measuring. */
static __attribute__((noinline)) void measure(const char *graph, const char *figure, size_t n,
                                              void (*build)(size_t), void (*walk)(struct walked *)) {
    build(n);
    uint64_t best = collect_in_full(graph, n);
    struct walked walked = {0, 0};
    walk(&walked);
    printf("words %s objects %zu checksum 0x%016" PRIx64 "\n", graph, walked.objects, walked.checksum);
    printf("figure %s %.3f\n", figure, (double)best / (double)walked.objects);
    root = NULL;
}

int main(int argc, char **argv) {
    start_collector(&argc, argv);
    for (size_t offset = 1; offset <= TAGS; offset++) GC_REGISTER_DISPLACEMENT(offset);
    size_t n = take_number(argc, argv, DEFAULT_OBJECTS, MAX_OBJECTS);
    measure("tree", "tree_ns", n, build_tree, walk_tree);
    measure("tagged-list", "tagged_list_ns", n, build_tagged, walk_tagged);
    measure("shuffled-list", "shuffled_list_ns", n, build_shuffled, walk_shuffled);
    measure("table", "table_ns", n, build_table, walk_table);
    return 0;
}
