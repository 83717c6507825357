/* The latency program in C: a cache of entries of three nodes, replaced at random
   (see ../../workloads/src/latency.rs). Before including this, a program defines
     NODE_MEMORY(bytes)     for a node, and TABLE_MEMORY(bytes) for the table,
     RELEASE(p)             for what is no longer used; it may do nothing. */
#ifndef PEERS_LATENCY_H
#define PEERS_LATENCY_H

#include "common.h"
#include "gap-histogram.h"
#include "threads.h"

#define DEFAULT_MIB 256
#define MAX_MIB (UINT64_C(1) << 23)

enum { SAMPLE_STEPS = 4, ROUNDS = 16, LEAST_STEPS = 200000 };

struct node {
    struct node *left, *right;
    uint64_t key, rest[5];
};
_Static_assert(sizeof(struct node) == 64, "a node has 64 bytes");

struct cache {
    struct node **table;
    uint64_t entries, random, sum;
};

static struct node *new_node(struct node *left, struct node *right, uint64_t key) {
    struct node *node = check_memory(NODE_MEMORY(sizeof *node));
    node->left = left;
    node->right = right;
    node->key = key;
    for (int k = 0; k < 5; k++) node->rest[k] = key;
    return node;
}

static struct node *new_entry(uint64_t r) {
    struct node *left = new_node(NULL, NULL, r + 1);
    struct node *right = new_node(NULL, NULL, r + 2);
    return new_node(left, right, r);
}

static void drop_entry(struct node *entry) {
    RELEASE(entry->left);
    RELEASE(entry->right);
    RELEASE(entry);
}

static inline struct node **slot_of(struct cache *cache, uint64_t r) {
    return &cache->table[(r >> 32) * cache->entries >> 32];
}

static inline void step(struct cache *cache) {
    uint64_t r = next_random(&cache->random);
    struct node **slot = slot_of(cache, r);
    if ((r & 3) == 0) {
        struct node *old = *slot;
        *slot = new_entry(r);
        drop_entry(old);
    } else if ((r & 3) == 1) {
        struct node *a = *slot, *b = *slot_of(cache, next_random(&cache->random));
        struct node *of_a = a->left, *of_b = b->left;
        a->left = of_b;
        b->left = of_a;
    } else {
        struct node *root = *slot;
        cache->sum = cache->sum * 31 + root->key + root->left->key + root->right->key;
    }
}

static void latency(uint64_t mib, struct report *report) {
    uint64_t entries = (mib << 20) / (3 * sizeof(struct node));
    struct node **volatile kept = check_memory(TABLE_MEMORY(entries * sizeof *kept));
    struct cache cache = {.table = kept, .entries = entries, .random = SEED};
    for (uint64_t i = 0; i < entries; i++) cache.table[i] = new_entry(next_random(&cache.random));

    uint64_t steps = entries * ROUNDS;
    if (steps < LEAST_STEPS) steps = LEAST_STEPS;
    steps = steps / SAMPLE_STEPS * SAMPLE_STEPS;
    struct gap_histogram gaps;
    memset(&gaps, 0, sizeof gaps);
    uint64_t start = monotonic_ns(), last = start;
    for (uint64_t i = 0; i < steps; i += SAMPLE_STEPS) {
        for (int k = 0; k < SAMPLE_STEPS; k++) step(&cache);
        uint64_t now = monotonic_ns();
        note_gap(&gaps, now - last);
        last = now;
    }
    for (uint64_t i = 0; i < entries; i++) drop_entry(cache.table[i]);
    RELEASE(cache.table);

    report_checksum("latency", "steps", steps, cache.sum, report);
    report->has_figures = true;
    report->longest_gap_us = (double)gaps.longest / 1e3;
    report->mops = (double)steps * 1e3 / (double)(last - start);
    report_largest(report, "gap_99_us", gap_us(&gaps, 0.99));
    report_largest(report, "gap_99_9_us", gap_us(&gaps, 0.999));
    report_largest(report, "gap_99_99_us", gap_us(&gaps, 0.9999));
}

#endif
