/* Full collections of a graph, timed. What is timed is GC_gcollect(), which leaves
   most sweeping to later allocations. */
#ifndef PEERS_LIBGC_COLLECT_H
#define PEERS_LIBGC_COLLECT_H

#include "../common.h"
#include "start.h"

#include <gc/gc_mark.h>

enum { COLLECTIONS = 3 };

static inline void GC_CALLBACK add_object(void *object, size_t bytes, void *sum) {
    (void)object;
    (void)bytes;
    ++*(size_t *)sum;
}

static inline void *GC_CALLBACK add_all_objects(void *sum) {
    GC_enumerate_reachable_objects_inner(add_object, sum);
    return NULL;
}

/* How many objects the last collection marked. A conservative collector may
   find a stray pointer to a graph that was dropped, and then traces that, too. */
static inline size_t marked_objects(void) {
    size_t sum = 0;
    GC_call_with_alloc_lock(add_all_objects, &sum);
    return sum;
}

/* The nanoseconds of the fastest of the collections. Warns if they marked many
   more objects than the program can reach. */
static inline uint64_t collect_in_full(const char *graph, size_t reached) {
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < COLLECTIONS; i++) {
        uint64_t start = monotonic_ns();
        GC_gcollect();
        uint64_t elapsed = monotonic_ns() - start;
        if (elapsed < best) best = elapsed;
    }
    size_t marked = marked_objects();
    if (marked > reached + reached / 100 + 1000) {
        fprintf(stderr, "warning: mark %s: %zu objects were marked\n", graph, marked);
    }
    return best;
}

#endif
