//! A histogram of durations with sixteen steps to a doubling, so that a quantile is exact within 6 %. Invariant: the
//! counts add up to the total.

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

    /// The duration that a share `q` of all durations do not exceed; 0 if there are none.
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
}
