//! Churn: a table of a million live objects of 64 to 128 bytes, replaced at random. Each new object is written
//! whole; the old one is read. The longest time between samples of the clock, taken every 16 operations, is what a
//! program would notice of collections.

use crate::random::Random;
use crate::workload::{Figure, Line, N, Workload};
use heapwood::{Gc, GcCell, Mutator, Slice};
use heapwood_os::clock::monotonic_ns;
use serde_json::json;

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "churn",
    about: "A million live objects of 64 to 128 bytes, replaced at random",
    n: N { unit: "number of replacements", usual: 20_000_000, most: 1 << 48 },
    least_bytes: |_| least_bytes(),
    figures: &[
        Figure { name: "mops", label: "million replacements a second", headline: false },
        Figure { name: "longest_gap_us", label: "longest gap, us", headline: false },
    ],
    run: |m, n, report| report(run(m, n).into()),
};

/// Objects alive at any time.
pub const LIVE: usize = 1_000_000;
const SAMPLE: u64 = 16;

/// An object: word 0 is its size in bytes, the length word of its slice not counted.
type Block = Slice<u64>;

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
    /// Bytes that were asked for and are alive at the end, length words not counted.
    pub requested_live_bytes: u64,
}

impl From<Outcome> for Line {
    fn from(o: Outcome) -> Self {
        let (ops, mops, gap_us) = (o.ops, o.mops, o.longest_gap_ns as f64 / 1e3);
        let checksum = format!("0x{:016x}", o.checksum);
        let check = format!("churn ops {ops} checksum {checksum}");
        let requested = o.requested_live_bytes as f64 / (1 << 20) as f64;
        Line {
            text: format!(
                "{check}\nlongest gap us {gap_us:.1}\nmops {mops:.3}\nrequested live {requested:.1} MiB"
            ),
            check,
            figures: vec![("mops", mops), ("longest_gap_us", gap_us)],
            fields: json!({
                "ops": ops,
                "checksum": checksum,
                "longest_gap_us": gap_us,
                "mops": mops,
                "requested_live_bytes": o.requested_live_bytes,
            }),
        }
    }
}

/// The bytes that are alive at once at the least.
pub fn least_bytes() -> u128 {
    LIVE as u128 * (96 + 8)
}

fn block(m: &Mutator, r: u64) -> Gc<Block> {
    let words = (64 + (r >> 32) % 65) / 8;
    m.alloc_slice(words as usize, |k| if k == 0 { words * 8 } else { r.wrapping_add(k as u64) })
}

/// Makes `ops` replacements.
pub fn run(m: &Mutator, ops: u64) -> Outcome {
    let mut random = Random::new();
    let table: Gc<Slice<GcCell<Option<Gc<Block>>>>> = m.alloc_slice(LIVE, |_| GcCell::new(None));
    for slot in table.iter() {
        slot.set(m, Some(block(m, random.next_u64())));
    }
    let (mut checksum, mut longest) = (0u64, 0);
    let start = monotonic_ns();
    let mut last = start;
    for op in 1..=ops {
        let r = random.next_u64();
        let slot = &table[(r & 0xffff_ffff) as usize % LIVE];
        if let Some(old) = slot.get() {
            checksum = checksum.wrapping_mul(31).wrapping_add(old[0]).wrapping_add(old[old.len() - 1]);
        }
        slot.set(m, Some(block(m, r)));
        if op % SAMPLE == 0 {
            let now = monotonic_ns();
            longest = longest.max(now - last);
            last = now;
        }
    }
    let seconds = (monotonic_ns() - start) as f64 / 1e9;
    let requested_live_bytes = table.iter().filter_map(|slot| slot.get()).map(|b| b[0]).sum();
    Outcome { ops, checksum, longest_gap_ns: longest, mops: ops as f64 / seconds / 1e6, requested_live_bytes }
}
