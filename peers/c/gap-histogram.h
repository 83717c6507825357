/* The gaps of the latency program in a histogram, with 32 buckets for each power of
   two: ../../workloads/src/latency.rs numbers them in the same way. Noting a gap neither
   allocates nor touches new memory. */
#ifndef PEERS_GAP_HISTOGRAM_H
#define PEERS_GAP_HISTOGRAM_H

#include "common.h"

enum { GAP_SUB = 32, GAP_BUCKETS = 60 * GAP_SUB };

struct gap_histogram {
    uint64_t longest, all, counts[GAP_BUCKETS];
};

static inline size_t gap_bucket(uint64_t ns) {
    if (ns < GAP_SUB) return (size_t)ns;
    unsigned shift = 63 - (unsigned)__builtin_clzll(ns) - 5;
    return (size_t)(shift * GAP_SUB + (ns >> shift));
}

static inline void note_gap(struct gap_histogram *gaps, uint64_t ns) {
    gaps->all++;
    gaps->counts[gap_bucket(ns)]++;
    if (ns > gaps->longest) gaps->longest = ns;
}

/* The length in us that such a share of all gaps does not exceed. */
static inline double gap_us(const struct gap_histogram *gaps, double share) {
    uint64_t sum = 0, ns = gaps->longest;
    for (size_t k = 0; k < GAP_BUCKETS; k++) {
        sum += gaps->counts[k];
        if ((double)sum < share * (double)gaps->all) continue;
        uint64_t shift = k < GAP_SUB ? 0 : k / GAP_SUB - 1;
        uint64_t upper = ((k - shift * GAP_SUB + 1) << shift) - 1;
        if (upper < ns) ns = upper;
        break;
    }
    return (double)ns / 1e3;
}

#endif
