/* Treap in C: an index of byte strings that is never changed, only replaced: each
   insert copies the path it goes down, and shares the rest. Before including this, a
   program defines
     NODE_MEMORY(bytes), ITEM_MEMORY(bytes)
   for memory that may be uncleared, and, if nothing else finds out what is dropped,
   COUNTED and
     RELEASE(p)
   for what nobody refers to: then every node and item counts its references. An
   index belongs to one thread, so the counts are plain numbers. */
#ifndef PEERS_TREAP_H
#define PEERS_TREAP_H

#include "common.h"
#include "threads.h"

enum { BATCH = 100, RENEWAL = 10, SHORTEST = 8, LONGEST = 24 };
#define DEFAULT_KEYS 500000
#define MAX_KEYS (UINT64_C(1) << 31)

/* A key and its value; no pointers. */
struct item {
#ifdef COUNTED
    uint32_t references;
#endif
    uint32_t value, length;
    unsigned char key[];
};

/* Never changed, but for the count. Of it and those below its priority is the highest. */
struct node {
    struct item *item;
    struct node *left, *right;
    uint32_t priority;
#ifdef COUNTED
    uint32_t references;
#endif
};

/* What a treap is in two, around a key: references of their own, but for that to what
   is equal. */
struct parts {
    struct node *smaller, *equal, *larger;
};

#ifdef COUNTED

static inline struct node *keep(struct node *node) {
    if (node != NULL) node->references++;
    return node;
}

static inline struct item *keep_item(struct item *item) {
    item->references++;
    return item;
}

static void drop(struct node *node) {
    if (node == NULL || --node->references > 0) return;
    drop(node->left);
    drop(node->right);
    if (--node->item->references == 0) RELEASE(node->item);
    RELEASE(node);
}

#else

static inline struct node *keep(struct node *node) {
    return node;
}

static inline struct item *keep_item(struct item *item) {
    return item;
}

static inline void drop(struct node *node) {
    (void)node;
}

#endif

/* Takes over the references that it is given. */
static inline struct node *new_node(struct item *item, uint32_t priority, struct node *left,
                                    struct node *right) {
    struct node *node = check_memory(NODE_MEMORY(sizeof *node));
    *node = (struct node){.item = item, .left = left, .right = right, .priority = priority};
#ifdef COUNTED
    node->references = 1;
#endif
    return node;
}

static inline int compare(const unsigned char *key, uint32_t length, const struct item *item) {
    int order = memcmp(key, item->key, length < item->length ? length : item->length);
    return order != 0 ? order : (length > item->length) - (length < item->length);
}

/* Takes a treap apart: a copy of the path to the key, in two. */
static struct parts split(struct node *tree, const struct item *key) {
    if (tree == NULL) return (struct parts){NULL, NULL, NULL};
    int order = compare(key->key, key->length, tree->item);
    if (order == 0) return (struct parts){keep(tree->left), tree, keep(tree->right)};
    struct parts parts = split(order < 0 ? tree->left : tree->right, key);
    struct item *item = keep_item(tree->item);
    if (order < 0) {
        parts.larger = new_node(item, tree->priority, parts.larger, keep(tree->right));
    } else {
        parts.smaller = new_node(item, tree->priority, keep(tree->left), parts.smaller);
    }
    return parts;
}

/* What is in either of two treaps; of two items with one key the newer one's. */
static struct node *unite(struct node *old, struct node *new) {
    if (old == NULL) return keep(new);
    if (new == NULL) return keep(old);
    struct node *left, *right, *top = old->priority > new->priority ? old : new;
    struct item *item = top->item;
    struct parts parts = split(top == old ? new : old, item);
    if (top == old) {
        left = unite(old->left, parts.smaller);
        right = unite(old->right, parts.larger);
        if (parts.equal != NULL) item = parts.equal->item;
    } else {
        left = unite(parts.smaller, new->left);
        right = unite(parts.larger, new->right);
    }
    keep_item(item);
    drop(parts.smaller);
    drop(parts.larger);
    return new_node(item, top->priority, left, right);
}

static inline const struct item *find(const struct node *tree, const unsigned char *key,
                                      uint32_t length) {
    while (tree != NULL) {
        int order = compare(key, length, tree->item);
        if (order == 0) return tree->item;
        tree = order < 0 ? tree->left : tree->right;
    }
    return NULL;
}

/* Spells the key that a random number stands for; its length. */
static inline uint32_t spell(uint64_t r, unsigned char room[LONGEST]) {
    for (uint64_t k = 0; k < LONGEST; k++) room[k] = (unsigned char)((r + k / 8) >> k % 8 * 8);
    return SHORTEST + (uint32_t)((r >> 32) % (LONGEST - SHORTEST + 1));
}

/* What lookups found. */
struct found {
    uint64_t keys, sum;
};

static inline void look_up(struct found *found, const struct node *tree, uint64_t r) {
    unsigned char room[LONGEST];
    uint32_t length = spell(r, room);
    const struct item *item = find(tree, room, length);
    if (item == NULL) return;
    found->keys++;
    found->sum = found->sum * 31 + item->value;
}

/* The index with one key more, instead of the one given. */
static inline struct node *insert(struct node *index, uint64_t r, uint64_t random) {
    unsigned char room[LONGEST];
    uint32_t length = spell(r, room);
    struct item *item = check_memory(ITEM_MEMORY(sizeof *item + length));
    *item = (struct item){.value = (uint32_t)random, .length = length};
#ifdef COUNTED
    item->references = 1;
#endif
    memcpy(item->key, room, length);
    struct node *node = new_node(item, (uint32_t)(random >> 32), NULL, NULL);
    struct node *next = unite(index, node);
    drop(node);
    drop(index);
    return next;
}

/* Inserts the keys in batches, while a reader holds older snapshots. */
static struct node *insert_all(uint64_t keys, uint64_t *rng, struct found *snapshots) {
    /* On the stack, where a conservative collector sees them. */
    struct node *volatile published = NULL, *volatile snapshot = NULL;
    uint64_t batches = 0;
    /* The first keys of the last batches. */
    uint64_t firsts[2 * RENEWAL];
    for (uint64_t first = 0; first < keys; first += BATCH) {
        struct node *index = keep(published);
        for (uint64_t key = first; key < keys && key < first + BATCH; key++) {
            uint64_t r = next_random(rng);
            if (key == first) firsts[batches++ % (2 * RENEWAL)] = r;
            index = insert(index, r, next_random(rng));
        }
        drop(published);
        published = index;
        if (batches % RENEWAL == 0) {
            uint64_t k = batches < 2 * RENEWAL ? 0 : batches - 2 * RENEWAL;
            for (; k < batches; k++) look_up(snapshots, snapshot, firsts[k % (2 * RENEWAL)]);
            drop(snapshot);
            snapshot = keep(published);
        }
    }
    drop(snapshot);
    return published;
}

/* What is seen on the way through an index in the order of its keys. */
struct seen {
    uint64_t nodes, depth, checksum;
};

static void walk(struct seen *seen, const struct node *tree, uint64_t depth) {
    if (tree == NULL) {
        if (depth > seen->depth) seen->depth = depth;
        return;
    }
    walk(seen, tree->left, depth + 1);
    seen->nodes++;
    seen->checksum = seen->checksum * 31 + tree->item->value;
    walk(seen, tree->right, depth + 1);
}

static void treap(uint64_t keys, struct report *report) {
    struct found snapshots = {0, 0}, present = {0, 0}, absent = {0, 0};
    uint64_t rng = SEED, again = SEED;

    uint64_t start = monotonic_ns();
    struct node *volatile index = insert_all(keys, &rng, &snapshots);
    uint64_t middle = monotonic_ns();
    for (uint64_t k = 0; k < keys; k++) {
        look_up(&present, index, next_random(&again));
        next_random(&again);
    }
    for (uint64_t k = 0; k < keys; k++) look_up(&absent, index, next_random(&rng));
    uint64_t end = monotonic_ns();

    struct seen seen = {0, 0, 0};
    walk(&seen, index, 0);
    fprintf(report->lines,
            "treap keys %" PRIu64 " nodes %" PRIu64 " depth %" PRIu64 " checksum 0x%016" PRIx64
            " snapshots %" PRIu64 " sum 0x%016" PRIx64 " found %" PRIu64 " sum 0x%016" PRIx64
            " absent %" PRIu64 "\n",
            keys, seen.nodes, seen.depth, seen.checksum, snapshots.keys, snapshots.sum,
            present.keys, present.sum, absent.keys);
    report_largest(report, "insert_s", (double)(middle - start) / 1e9);
    report_largest(report, "lookup_s", (double)(end - middle) / 1e9);
    drop(index);
}

#endif
