/* In which order the objects of a graph lie in memory. Each order is an array of
   all indices, made with malloc, which the collector does not look at. */
#ifndef PEERS_LIBGC_ORDER_H
#define PEERS_LIBGC_ORDER_H

#include "../common.h"

static inline void *must_malloc(size_t bytes) {
    return check_memory(malloc(bytes));
}

/* As they are linked. */
static inline uint32_t *order_in_order(size_t n) {
    uint32_t *order = must_malloc(n * sizeof *order);
    for (size_t i = 0; i < n; i++) order[i] = (uint32_t)i;
    return order;
}

/* A random permutation (Fisher-Yates, from the end). */
static inline uint32_t *order_shuffled(size_t n) {
    uint64_t rng = SEED;
    uint32_t *order = order_in_order(n);
    for (size_t i = n - 1; i > 0; i--) {
        size_t j = next_random(&rng) % (i + 1);
        uint32_t other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
    return order;
}

#endif
