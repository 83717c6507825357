//! What programs have in common that replace objects in a table at random: their figures, the longest gap that a program
//! would notice of collections, and what they say at the end.

use crate::workload::{Across, Figure, Line};
use heapwood_os::clock::monotonic_ns;
use serde_json::{Map, json};

pub(crate) const FIGURES: &[Figure] = &[
    Figure { name: "mops", label: "million replacements a second", headline: false, across: Across::Sum },
    Figure { name: "longest_gap_us", label: "longest gap, us", headline: false, across: Across::Largest },
];

/// The clock is looked at after so many replacements.
pub(crate) const SAMPLE: u64 = 16;

/// What a run found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Replacements made.
    pub ops: u64,
    /// A sum over what was read; the same for every program that does the same work.
    pub checksum: u64,
    /// The longest time between two samples, in nanoseconds.
    pub longest_gap_ns: u64,
    /// Millions of replacements a second, without filling the table.
    pub mops: f64,
    /// Documents alive at the end, if some were dropped.
    pub live_documents: Option<u64>,
    /// Bytes that were asked for and are alive at the end, length words and the table not counted.
    pub requested_live_bytes: u64,
}

impl Outcome {
    /// What the program of that name reports.
    pub(crate) fn line(self, workload: &str) -> Line {
        let (ops, mops, gap_us) = (self.ops, self.mops, self.longest_gap_ns as f64 / 1e3);
        let checksum = format!("0x{:016x}", self.checksum);
        let check = format!("{workload} ops {ops} checksum {checksum}");
        let requested = self.requested_live_bytes as f64 / (1 << 20) as f64;
        let live = self.live_documents.map_or(String::new(), |live| format!("live documents {live} "));
        let mut fields = Map::from_iter([
            ("ops".into(), json!(ops)),
            ("checksum".into(), json!(checksum)),
            ("longest_gap_us".into(), json!(gap_us)),
            ("mops".into(), json!(mops)),
            ("requested_live_bytes".into(), json!(self.requested_live_bytes)),
        ]);
        if let Some(live) = self.live_documents {
            fields.insert("live_documents".into(), json!(live));
        }
        Line {
            text: format!(
                "{check}\nlongest gap us {gap_us:.1}\nmops {mops:.3}\n{live}requested live {requested:.1} MiB"
            ),
            check,
            figures: vec![("mops", mops), ("longest_gap_us", gap_us)],
            fields: fields.into(),
        }
    }
}

/// The time since the table was filled, and the longest between two looks at the clock.
pub(crate) struct Gaps {
    start: u64,
    last: u64,
    longest: u64,
}

impl Gaps {
    pub(crate) fn start() -> Gaps {
        let start = monotonic_ns();
        Gaps { start, last: start, longest: 0 }
    }

    /// Looks at the clock.
    #[inline]
    pub(crate) fn sample(&mut self) {
        let now = monotonic_ns();
        self.longest = self.longest.max(now - self.last);
        self.last = now;
    }

    /// The longest gap, and how many million of `ops` were made a second until now.
    pub(crate) fn end(self, ops: u64) -> (u64, f64) {
        let seconds = (monotonic_ns() - self.start) as f64 / 1e9;
        (self.longest, ops as f64 / seconds / 1e6)
    }
}
