//! What the collector has done: counts, bytes, times, and a histogram of pauses with sixteen steps to a doubling,
//! so that a quantile is right within 6 %.

/// Figures of a heap. Times are nanoseconds, sizes bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    /// Collections so far.
    pub collections: u64,
    /// What the last collection found alive, in cells and pages.
    pub live_bytes: usize,
    /// Objects it found alive.
    pub live_objects: usize,
    /// The size at which the next collection is due.
    pub goal_bytes: usize,
    /// Handed out to mutators since the heap was made.
    pub allocated_bytes: u64,
    /// In pages that objects occupy now, or that running mutators have set aside.
    pub in_use_bytes: usize,
    /// Committed for objects.
    pub committed_bytes: usize,
    /// In pages that may have memory behind them: of those committed, without those that were never used or released.
    pub backed_bytes: usize,
    /// What has been given back so far, in the background or when asked to.
    pub released_bytes: u64,
    /// Spans of small objects handed out to mutators, as of their last visits.
    pub spans: u64,
    /// How often the lock of the span lists was taken for them.
    pub span_visits: u64,
    /// How often the lock of the page allocator was taken, by anyone.
    pub page_visits: u64,
    /// CPU time of collecting threads.
    pub collect_cpu_ns: u64,
    /// The median pause.
    pub pause_p50_ns: u64,
    /// The pause that 99 % do not exceed.
    pub pause_p99_ns: u64,
    /// The longest pause.
    pub pause_max_ns: u64,
    /// All pauses together.
    pub pause_total_ns: u64,
    /// Time to stop, a part of each pause: from the first request until every other thread had stopped. 99 % of stops
    /// took no longer.
    pub stop_p99_ns: u64,
    /// The longest.
    pub stop_max_ns: u64,
    /// All together.
    pub stop_total_ns: u64,
    /// Time marking, another part: 99 % of markings took no longer.
    pub mark_p99_ns: u64,
    /// The longest.
    pub mark_max_ns: u64,
    /// All together.
    pub mark_total_ns: u64,
    /// Time that the collecting thread swept what the cycle before had left, before it asked the others to stop: no part
    /// of a pause, but its own thread waits. 99 % took no longer.
    pub sweep_p99_ns: u64,
    /// The longest.
    pub sweep_max_ns: u64,
    /// All together.
    pub sweep_total_ns: u64,
    /// The longest that the lock of the span lists was held, which others may have waited for.
    pub hold_spans_max_ns: u64,
    /// The same of the page allocator's lock.
    pub hold_pages_max_ns: u64,
    /// The same of the lock for registering layouts.
    pub hold_types_max_ns: u64,
    /// The same of the lock of the list of threads, which a collection holds while they are stopped.
    pub hold_threads_max_ns: u64,
    /// The same of the lock of the table of roots.
    pub hold_roots_max_ns: u64,
    /// The same of the lock of the handles.
    pub hold_handles_max_ns: u64,
    /// How often a mark stack was full.
    pub mark_overflows: u64,
    /// Stores that went around the barrier (verify mode).
    pub barrier_violations: u64,
    /// Collections that were followed by the full set of checks (verify mode).
    pub verified: u64,
}

const SUB: usize = 16;
const BUCKETS: usize = SUB * 48;

/// A histogram of durations.
pub(crate) struct Histogram {
    counts: [u32; BUCKETS],
    total: u64,
    pub(crate) sum: u64,
    pub(crate) max: u64,
}

impl Histogram {
    pub(crate) const fn new() -> Self {
        Histogram { counts: [0; BUCKETS], total: 0, sum: 0, max: 0 }
    }

    fn bucket(ns: u64) -> usize {
        if ns < SUB as u64 {
            return ns as usize;
        }
        let log = ns.ilog2() as usize;
        let step = (ns >> (log - 4)) as usize - SUB;
        ((log - 3) * SUB + step).min(BUCKETS - 1)
    }

    /// The largest duration of a bucket.
    fn upper(bucket: usize) -> u64 {
        if bucket < SUB {
            return bucket as u64;
        }
        let shift = bucket / SUB - 1;
        (((SUB + bucket % SUB + 1) as u64) << shift) - 1
    }

    pub(crate) fn record(&mut self, ns: u64) {
        self.counts[Self::bucket(ns)] += 1;
        self.total += 1;
        self.sum += ns;
        self.max = self.max.max(ns);
    }

    /// The duration that a share `q` of all do not exceed; 0 if there are none.
    pub(crate) fn quantile(&self, q: f64) -> u64 {
        let wanted = (q * self.total as f64).ceil() as u64;
        let mut seen = 0;
        for (bucket, &count) in self.counts.iter().enumerate() {
            seen += count as u64;
            if count > 0 && seen >= wanted {
                return Self::upper(bucket).min(self.max);
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_within_a_sixteenth() {
        let mut h = Histogram::new();
        for ns in 1..=100_000u64 {
            h.record(ns);
        }
        for (q, exact) in [(0.5, 50_000.0), (0.99, 99_000.0), (0.001, 100.0)] {
            let got = h.quantile(q) as f64;
            assert!((got / exact - 1.0).abs() < 0.0626, "{q}: {got}");
        }
        assert_eq!((h.max, h.quantile(1.0)), (100_000, 100_000));
        assert_eq!(Histogram::new().quantile(0.5), 0);
    }

    #[test]
    fn every_duration_falls_into_a_bucket_that_holds_it() {
        for shift in 0..46 {
            for ns in [(1u64 << shift) - 1, 1 << shift, (1 << shift) + 1, (1u64 << shift) * 3 / 2] {
                assert!(ns <= Histogram::upper(Histogram::bucket(ns)), "{ns}");
            }
        }
    }
}
