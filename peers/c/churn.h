/* What the churn peers in C share: the objects, the longest gap, the report. */
#ifndef PEERS_CHURN_H
#define PEERS_CHURN_H

#include "common.h"

enum { TABLE_SLOTS = 1000000 };
#define DEFAULT_OPS 20000000
#define MAX_OPS (UINT64_C(1) << 48)

/* The size the random number asks for: 64..=128 bytes, a multiple of 8. */
static inline size_t object_bytes(uint64_t r) {
    return (size_t)((64 + (r >> 32) % 65) & ~UINT64_C(7));
}

/* Writes the whole object; word 0 tells its size. */
static inline void write_object(uint64_t *object, size_t bytes, uint64_t r) {
    object[0] = bytes;
    for (size_t k = 1; k < bytes / 8; k++) object[k] = r + k;
}

static inline uint64_t add_to_checksum(uint64_t checksum, const uint64_t *object) {
    return checksum * 31 + object[0] + object[object[0] / 8 - 1];
}

/* The longest time between two successive samples of the clock. */
struct gaps {
    uint64_t start, last, longest;
};

static inline struct gaps gaps_start(void) {
    uint64_t now = monotonic_ns();
    return (struct gaps){now, now, 0};
}

static inline void gaps_sample(struct gaps *gaps) {
    uint64_t now = monotonic_ns();
    if (now - gaps->last > gaps->longest) gaps->longest = now - gaps->last;
    gaps->last = now;
}

static inline void churn_report(uint64_t ops, uint64_t checksum, const struct gaps *gaps) {
    double seconds = (double)(monotonic_ns() - gaps->start) / 1e9;
    printf("churn ops %" PRIu64 " checksum 0x%016" PRIx64 "\n", ops, checksum);
    printf("figure longest_gap_us %.1f\n", (double)gaps->longest / 1e3);
    printf("figure mops %.3f\n", (double)ops / seconds / 1e6);
}

#endif
