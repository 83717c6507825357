/* The latency program in C: a cache of entries of three nodes, replaced at random
   for a chosen time (see ../../workloads/src/latency.rs). Before including this, a
   program defines
     NODE_MEMORY(bytes)     for a node, and TABLE_MEMORY(bytes) for the table,
     RELEASE(p)             for what is no longer used; it may do nothing. */
#ifndef PEERS_LATENCY_H
#define PEERS_LATENCY_H

#include "common.h"
#include "gap-histogram.h"

#include <pthread.h>

enum { SAMPLE_STEPS = 4, CHECKED_STEPS = 200000 };

struct node {
    struct node *left, *right;
    uint64_t key, rest[5];
};
_Static_assert(sizeof(struct node) == 64, "a node has 64 bytes");

/* The arguments: bytes of all nodes, milliseconds, threads, frames. */
static struct {
    uint64_t live, ms, threads, depth;
} setup;

static pthread_barrier_t start_barrier, end_barrier;

struct cache {
    pthread_t thread;
    unsigned number;
    struct node **table;
    uint64_t entries, random, sum, check, cpu_before, cpu_after;
    struct noted_gaps *gaps;
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

static uint64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void work(struct cache *cache) {
    cache->random = SEED;
    /* Each thread takes other numbers. */
    for (unsigned t = 0; t < cache->number; t++) cache->random = next_random(&cache->random) | 1;
    struct node **volatile kept = check_memory(TABLE_MEMORY(cache->entries * sizeof *kept));
    cache->table = kept;
    for (uint64_t i = 0; i < cache->entries; i++) cache->table[i] = new_entry(next_random(&cache->random));
    for (int i = 0; i < CHECKED_STEPS; i++) step(cache);
    cache->check = cache->sum;
    cache->gaps = new_noted_gaps();
    pthread_barrier_wait(&start_barrier);
    cache->cpu_before = cpu_ns();
    start_noting(cache->gaps, setup.ms * 1000000);
    do {
        for (int k = 0; k < SAMPLE_STEPS; k++) step(cache);
    } while (note_gap(cache->gaps, SAMPLE_STEPS));
    cache->cpu_after = cpu_ns();
    pthread_barrier_wait(&end_barrier);
    for (uint64_t i = 0; i < cache->entries; i++) drop_entry(cache->table[i]);
    RELEASE(cache->table);
}

/* The work beneath so many frames, each with a node of its own. */
static __attribute__((noinline)) uint64_t beneath(struct cache *cache, uint64_t frames) {
    if (frames == 0) {
        work(cache);
        return 0;
    }
    struct node *volatile kept = new_node(NULL, NULL, frames);
    uint64_t below = beneath(cache, frames - 1);
    uint64_t sum = kept->key + below;
    RELEASE(kept);
    return sum;
}

static void *run_cache(void *arg) {
    struct cache *cache = arg;
    beneath(cache, setup.depth);
    return NULL;
}

static uint64_t latency_number(const char *program, const char *text, uint64_t least) {
    char *end = NULL;
    errno = 0;
    uint64_t n = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
    if (end == NULL || *end != '\0' || errno != 0 || n < least || n > UINT64_C(1) << 48) {
        fprintf(stderr, "usage: %s BYTES MILLISECONDS THREADS FRAMES\n", program);
        exit(2);
    }
    return n;
}

/* What is known of the collector, without blanks, or NULL. */
static int run_latency(int argc, char **argv, const char *collector) {
    if (argc != 5) latency_number(argv[0], "", 1);
    setup.live = latency_number(argv[0], argv[1], 1);
    setup.ms = latency_number(argv[0], argv[2], 1);
    setup.threads = latency_number(argv[0], argv[3], 1);
    setup.depth = latency_number(argv[0], argv[4], 0);
    if (setup.threads > 1024) latency_number(argv[0], "", 1);

    uint64_t entries = setup.live / setup.threads / (3 * sizeof(struct node));
    if (entries == 0) entries = 1;
    struct cache *caches = check_memory(calloc(setup.threads, sizeof *caches));
    pthread_barrier_init(&start_barrier, NULL, (unsigned)setup.threads + 1);
    pthread_barrier_init(&end_barrier, NULL, (unsigned)setup.threads + 1);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    int error = pthread_attr_setstacksize(&attributes, (4 << 20) + 256 * setup.depth);
    for (unsigned t = 0; t < setup.threads && error == 0; t++) {
        caches[t].entries = entries;
        caches[t].number = t;
        error = pthread_create(&caches[t].thread, &attributes, run_cache, &caches[t]);
    }
    if (error != 0) {
        fprintf(stderr, "a thread cannot be started: %s\n", strerror(error));
        return 1;
    }
    pthread_barrier_wait(&start_barrier);
    pthread_barrier_wait(&end_barrier);
    /* From the first thread's beginning to the last one's end. */
    uint64_t first = UINT64_MAX, last = 0, check = 0;
    for (unsigned t = 0; t < setup.threads; t++) {
        pthread_join(caches[t].thread, NULL);
        check += caches[t].check;
        if (caches[t].cpu_before < first) first = caches[t].cpu_before;
        if (caches[t].cpu_after > last) last = caches[t].cpu_after;
    }
    printf("latency entries=%" PRIu64 " check=0x%016" PRIx64 " cpu_ns=%" PRIu64, entries, check, last - first);
    if (collector != NULL) printf(" collector=%s", collector);
    printf("\n");
    for (unsigned t = 0; t < setup.threads; t++) print_noted(caches[t].gaps);
    return 0;
}

#endif
