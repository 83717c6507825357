/* The longest time between two successive samples of the clock, and the report
   of the programs that take them: churn, mixed, graph and map, and those with weak
   references. */
#ifndef PEERS_GAPS_H
#define PEERS_GAPS_H

#include "common.h"
#include "threads.h"

struct gaps {
    uint64_t start, last, longest, end;
};

static inline struct gaps gaps_start(void) {
    uint64_t now = monotonic_ns();
    return (struct gaps){now, now, 0, 0};
}

static inline void gaps_sample(struct gaps *gaps) {
    uint64_t now = monotonic_ns();
    if (now - gaps->last > gaps->longest) gaps->longest = now - gaps->last;
    gaps->last = now;
}

/* What comes after it is not part of the throughput. */
static inline void gaps_stop(struct gaps *gaps) {
    gaps->end = monotonic_ns();
}

static inline void gaps_figures(uint64_t ops, const struct gaps *gaps, struct report *report) {
    double seconds = (double)(gaps->end - gaps->start) / 1e9;
    report->has_figures = true;
    report->longest_gap_us = (double)gaps->longest / 1e3;
    report->mops = (double)ops / seconds / 1e6;
}

static inline void gaps_report(const char *workload, uint64_t ops, uint64_t checksum,
                               const struct gaps *gaps, struct report *report) {
    report_checksum(workload, "ops", ops, checksum, report);
    gaps_figures(ops, gaps, report);
}

#endif
