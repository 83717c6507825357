//! Churn: a table of a million live objects of 64 to 128 bytes, replaced at random. Each new object is written whole;
//! the old one is read. The longest time between samples of the clock, one every 16 operations, is the longest delay by
//! a collection that the program sees.

use crate::random::Random;
use crate::replacements::{FIGURES, Gaps, Outcome, SAMPLE};
use crate::workload::{N, Threads, Workload};
use heapwood::{Gc, GcCell, Mutator, Slice};

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "churn",
    about: "A million live objects of 64 to 128 bytes, replaced at random",
    n: N { unit: "number of replacements", usual: 20_000_000, most: 1 << 48 },
    threads: Threads::USUALLY_ONE,
    least_bytes: |_| least_bytes(),
    figures: FIGURES,
    shared: None,
    run: |m, n, report| report(run(m, n).line("churn")),
};

/// Objects alive at any time.
pub const LIVE: usize = 1_000_000;

/// An object: word 0 is its size in bytes, the length word of its slice not counted.
type Block = Slice<u64>;

/// The minimum of bytes alive at once.
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
    let (mut checksum, mut gaps) = (0u64, Gaps::start());
    for op in 1..=ops {
        let r = random.next_u64();
        let slot = &table[(r & 0xffff_ffff) as usize % LIVE];
        if let Some(old) = slot.get() {
            checksum = checksum.wrapping_mul(31).wrapping_add(old[0]).wrapping_add(old[old.len() - 1]);
        }
        slot.set(m, Some(block(m, r)));
        if op % SAMPLE == 0 {
            gaps.sample();
        }
    }
    let (longest_gap_ns, mops) = gaps.end(ops);
    let requested_live_bytes = Some(table.iter().filter_map(|slot| slot.get()).map(|b| b[0]).sum());
    Outcome { ops, checksum, longest_gap_ns, mops, live: None, requested_live_bytes }
}
