/* The gaps of a thread of the latency program: a histogram of all, with 32 buckets
   for each power of two, and the beginning and length of those of 20 us or more.
   ../../workloads/src/latency/record.rs says how they are printed. Noting a gap
   neither allocates nor touches new memory. */
#ifndef PEERS_GAP_HISTOGRAM_H
#define PEERS_GAP_HISTOGRAM_H

#include "common.h"

enum { GAP_SUB = 32, GAP_BUCKETS = 60 * GAP_SUB, MOST_LONG_GAPS = 1 << 18 };
#define LONG_GAP_NS 20000

struct noted_gaps {
    uint64_t start, last, end, steps, longest, dropped, kept;
    uint64_t counts[GAP_BUCKETS];
    struct {
        uint64_t start, length;
    } kept_gaps[MOST_LONG_GAPS];
};

static inline size_t gap_bucket(uint64_t ns) {
    if (ns < GAP_SUB) return (size_t)ns;
    unsigned shift = 63 - (unsigned)__builtin_clzll(ns) - 5;
    return (size_t)(shift * GAP_SUB + (ns >> shift));
}

/* In memory of the C library, at which no collector looks. */
static inline struct noted_gaps *new_noted_gaps(void) {
    struct noted_gaps *gaps = check_memory(malloc(sizeof *gaps));
    memset(gaps, 1, sizeof *gaps);
    __asm__ volatile("" ::"r"(gaps) : "memory");
    memset(gaps, 0, sizeof *gaps);
    return gaps;
}

static inline void start_noting(struct noted_gaps *gaps, uint64_t ns) {
    gaps->start = gaps->last = monotonic_ns();
    gaps->end = gaps->start + ns;
}

/* Whether the time is not over yet. */
static inline bool note_gap(struct noted_gaps *gaps, uint64_t steps) {
    uint64_t now = monotonic_ns(), gap = now - gaps->last;
    gaps->steps += steps;
    gaps->counts[gap_bucket(gap)]++;
    if (gap > gaps->longest) gaps->longest = gap;
    if (gap >= LONG_GAP_NS) {
        if (gaps->kept < MOST_LONG_GAPS) {
            gaps->kept_gaps[gaps->kept].start = gaps->last - gaps->start;
            gaps->kept_gaps[gaps->kept++].length = gap;
        } else {
            gaps->dropped++;
        }
    }
    gaps->last = now;
    return now < gaps->end;
}

static inline void print_noted(const struct noted_gaps *gaps) {
    printf("thread steps=%" PRIu64 " ns=%" PRIu64 " max_ns=%" PRIu64 " dropped=%" PRIu64 " hist=", gaps->steps,
           gaps->last - gaps->start, gaps->longest, gaps->dropped);
    const char *comma = "";
    for (size_t k = 0; k < GAP_BUCKETS; k++) {
        if (gaps->counts[k] == 0) continue;
        printf("%s%zu:%" PRIu64, comma, k, gaps->counts[k]);
        comma = ",";
    }
    printf(" long=");
    for (uint64_t k = 0; k < gaps->kept; k++) {
        printf("%s%" PRIu64 ":%" PRIu64, k > 0 ? "," : "", gaps->kept_gaps[k].start, gaps->kept_gaps[k].length);
    }
    printf("\n");
}

#endif
