//! Code shared by programs that replace objects or rewrite pointers at random, and those with weak references: their figures, the
//! longest gap between two operations, and their report.

use crate::workload::{Across, Figure, Line};
use heapwood_os::process::clock::monotonic_ns;
use serde_json::{Map, json};

/// The figures of programs that make replacements.
pub(crate) const FIGURES: &[Figure] = &figures("million replacements a second");

/// The figures; the label says what is counted.
pub(crate) const fn figures(label: &'static str) -> [Figure; 2] {
    [
        Figure { name: "mops", label, headline: false, across: Across::Sum },
        Figure { name: "longest_gap_us", label: "longest gap, us", headline: false, across: Across::Largest },
    ]
}

/// Operations between two samples of the clock.
pub const SAMPLE: u64 = 16;

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Replacements, or what the program counts instead.
    pub ops: u64,
    /// A checksum of the values read, equal for every program that does the same work.
    pub checksum: u64,
    /// The longest time between two samples, in nanoseconds.
    pub longest_gap_ns: u64,
    /// Millions of operations a second, without filling the table.
    pub mops: f64,
    /// The kind and number of objects alive at the end, if that is not known beforehand.
    pub live: Option<(&'static str, u64)>,
    /// Requested bytes alive at the end, without length words and the table. `None` if unknown.
    pub requested_live_bytes: Option<u64>,
}

impl Outcome {
    /// The report of the program of that name.
    pub fn line(self, workload: &str) -> Line {
        let (ops, mops, gap_us) = (self.ops, self.mops, self.longest_gap_ns as f64 / 1e3);
        let checksum = format!("0x{:016x}", self.checksum);
        let check = format!("{workload} ops {ops} checksum {checksum}");
        let mut text = format!("{check}\nlongest gap us {gap_us:.1}\nmops {mops:.3}");
        let mut fields = Map::from_iter([
            ("ops".into(), json!(ops)),
            ("checksum".into(), json!(checksum)),
            ("longest_gap_us".into(), json!(gap_us)),
            ("mops".into(), json!(mops)),
        ]);
        let mut alive = Vec::new();
        if let Some((what, live)) = self.live {
            alive.push(format!("live {what} {live}"));
            fields.insert(format!("live_{what}"), json!(live));
        }
        if let Some(bytes) = self.requested_live_bytes {
            alive.push(format!("requested live {:.1} MiB", bytes as f64 / (1 << 20) as f64));
            fields.insert("requested_live_bytes".into(), json!(bytes));
        }
        if !alive.is_empty() {
            text += &format!("\n{}", alive.join(" "));
        }
        Line { text, check, figures: vec![("mops", mops), ("longest_gap_us", gap_us)], fields: fields.into() }
    }
}

/// The report of a program that counts something and measures its gaps: the longest, in nanoseconds, and million operations a
/// second.
pub(crate) fn gaps_line(
    workload: &str,
    counted: (&str, u64),
    checksum: u64,
    (longest_gap_ns, mops): (u64, f64),
) -> Line {
    let mut line = Line::checked(workload, counted, checksum);
    line.add_figure("mops", mops);
    line.add_figure("longest_gap_us", longest_gap_ns as f64 / 1e3);
    line
}

/// The time since the table was filled, and the longest time between two samples of the clock.
pub struct Gaps {
    start: u64,
    last: u64,
    longest: u64,
}

impl Gaps {
    /// From now on.
    pub fn start() -> Gaps {
        let start = monotonic_ns();
        Gaps { start, last: start, longest: 0 }
    }

    /// Samples the clock.
    #[inline]
    pub fn sample(&mut self) {
        let now = monotonic_ns();
        self.longest = self.longest.max(now - self.last);
        self.last = now;
    }

    /// The longest gap, and millions of operations a second until now.
    pub fn end(self, ops: u64) -> (u64, f64) {
        let seconds = (monotonic_ns() - self.start) as f64 / 1e9;
        (self.longest, ops as f64 / seconds / 1e6)
    }
}
