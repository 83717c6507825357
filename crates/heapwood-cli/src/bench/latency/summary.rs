//! The figures of a run. A percentile is the upper end of its bucket, so it is never too small; of several threads all gaps
//! count together.

use super::utilisation::{WINDOWS_NS, minimum};
use heapwood_workloads::latency::gaps::upper;
use heapwood_workloads::latency::record::Record;

/// The percentiles of gaps, with their labels.
pub(crate) const PERCENTILES: [(&str, f64); 5] =
    [("50 %", 0.5), ("99 %", 0.99), ("99.9 %", 0.999), ("99.99 %", 0.9999), ("99.999 %", 0.99999)];

/// The figures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Summary {
    /// By the percentiles.
    pub(crate) gaps_ns: [u64; 5],
    pub(crate) max_ns: u64,
    /// By the windows: the least of all threads. `None` if the run was too short, or had too many long gaps to keep.
    pub(crate) utilisation: [Option<f64>; 3],
    /// Of the whole process, collector included.
    pub(crate) cpu_ns_a_step: f64,
    /// Of all threads.
    pub(crate) steps_a_s: f64,
    pub(crate) rss_bytes: u64,
    pub(crate) collector: Option<String>,
}

impl Summary {
    pub(crate) fn of(record: &Record, max_rss_bytes: u64) -> Summary {
        let (counts, max_ns) = (record.counts(), record.max_ns());
        let least = |window: u64| {
            let each = record.threads.iter().map(|thread| match thread.dropped {
                0 => minimum(&thread.long, thread.ns, window),
                _ => None,
            });
            each.reduce(|a, b| Some(a?.min(b?))).flatten()
        };
        let steps: u64 = record.threads.iter().map(|thread| thread.steps).sum();
        Summary {
            gaps_ns: PERCENTILES.map(|(_, share)| percentile(&counts, share).min(max_ns)),
            max_ns,
            utilisation: WINDOWS_NS.map(least),
            cpu_ns_a_step: record.cpu_ns as f64 / steps as f64,
            steps_a_s: record.threads.iter().map(|t| t.steps as f64 / (t.ns as f64 / 1e9)).sum(),
            rss_bytes: record.pss_bytes.unwrap_or(max_rss_bytes),
            collector: record.collector.clone(),
        }
    }
}

/// The smallest upper end of a bucket at or below which that share of the gaps lies.
fn percentile(counts: &[u64], share: f64) -> u64 {
    let total: u64 = counts.iter().sum();
    let rank = ((total as f64 * share).ceil() as u64).clamp(1, total.max(1));
    let mut seen = 0;
    for (bucket, count) in counts.iter().enumerate() {
        seen += count;
        if seen >= rank {
            return upper(bucket);
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwood_workloads::latency::gaps::{BUCKETS, bucket};

    #[test]
    fn percentiles_are_those_of_the_gaps() {
        let mut counts = vec![0; BUCKETS];
        assert_eq!(percentile(&counts, 0.5), 0);
        for (ns, count) in [(20, 99_899), (30, 90), (1_000_000, 10), (50_000_000, 1)] {
            counts[bucket(ns)] += count;
        }
        let found = PERCENTILES.map(|(_, share)| percentile(&counts, share));
        let near = |ns: u64| upper(bucket(ns));
        assert_eq!(found, [20, 20, 30, near(1_000_000), near(1_000_000)]);
        assert_eq!(percentile(&counts, 1.0), near(50_000_000));
        assert!(near(1_000_000) as f64 / 1e6 < 1.032);
    }

    #[test]
    fn threads_are_taken_together() {
        let thread = |long: &str| {
            format!("thread steps=100 ns=2000000 max_ns=500000 dropped=0 hist=20:50 long={long}")
        };
        let text = format!(
            "latency entries=1 check=0x1 cpu_ns=4000\n{}\n{}",
            thread("100:500000"),
            thread("100:250000,1500000:500000")
        );
        let summary = Summary::of(&Record::parse(&text).unwrap(), 7);
        assert_eq!((summary.cpu_ns_a_step, summary.steps_a_s, summary.rss_bytes), (20.0, 100_000.0, 7));
        assert_eq!((summary.gaps_ns, summary.max_ns), ([20; 5], 500_000));
        assert_eq!(summary.utilisation, [Some(0.5), None, None], "the time is 2 ms");
        let text =
            text.replace("cpu_ns=4000", "cpu_ns=4000 pss_bytes=5").replacen("dropped=0", "dropped=1", 1);
        let summary = Summary::of(&Record::parse(&text).unwrap(), 7);
        assert_eq!((summary.rss_bytes, summary.utilisation[0]), (5, None));
    }
}
