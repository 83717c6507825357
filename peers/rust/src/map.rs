//! A hash map with chains, into which entries are inserted and from which they are deleted at random, as the workload `map`.

use crate::Report;
use heapwood_workloads::random::Random;
use heapwood_workloads::replacements::{Gaps, Outcome, SAMPLE};

/// Operations for each entry.
const ROUNDS: u64 = 10;

/// The value of a key.
pub(crate) type Pair = [u64; 2];

/// An operation on the entry of a key.
#[derive(Clone, Copy)]
pub(crate) struct Operation {
    pub(crate) key: u64,
    /// The new value, or none to delete the entry.
    pub(crate) value: Option<Pair>,
}

/// A map of a memory manager.
pub(crate) trait Map {
    /// Makes the operations in turn, and tells of each value that it found before it.
    fn operate(&mut self, operations: &[Operation], found: impl FnMut(Pair));
    /// All entries, bucket by bucket, each chain from its beginning.
    fn for_each(&mut self, f: impl FnMut(u64, Pair));
}

/// The number of buckets: one for two entries.
pub(crate) fn buckets(entries: u64) -> usize {
    (entries / 2).max(1) as usize
}

/// The bucket of a key.
pub(crate) fn bucket(key: u64, buckets: usize) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % buckets
}

fn pair(r: u64) -> Pair {
    [r, r.wrapping_add(1)]
}

fn add(sum: &mut u64, [first, second]: Pair) {
    *sum = sum.wrapping_mul(31).wrapping_add(first).wrapping_add(second);
}

/// Operations that are made in one call, as between two samples of the clock.
fn batch(mut operation: impl FnMut() -> Operation, left: u64) -> Vec<Operation> {
    (0..SAMPLE.min(left)).map(|_| operation()).collect()
}

pub(crate) fn run(map: &mut impl Map, entries: u64, report: Report<'_>) {
    let (mut random, ops) = (Random::new(), entries * ROUNDS);
    for entry in (0..entries).step_by(SAMPLE as usize) {
        let mut keys = (entry..).map(|entry| 2 * entry);
        let insert =
            || Operation { key: keys.next().expect("keys do not end"), value: Some(pair(random.next_u64())) };
        map.operate(&batch(insert, entries - entry), |_| ());
    }
    let (mut checksum, mut gaps) = (0u64, Gaps::start());
    for op in (0..ops).step_by(SAMPLE as usize) {
        let operation = || {
            let r = random.next_u64();
            let key = (r & 0xffff_ffff) % (2 * entries);
            Operation { key, value: ((r >> 32) % 2 == 0).then(|| pair(r)) }
        };
        map.operate(&batch(operation, ops - op), |found| add(&mut checksum, found));
        gaps.sample();
    }
    let (longest_gap_ns, mops) = gaps.end(ops);
    let mut live = 0;
    map.for_each(|key, value| {
        add(&mut checksum, value);
        checksum = checksum.wrapping_add(key);
        live += 1;
    });
    let outcome = Outcome {
        ops,
        checksum,
        longest_gap_ns,
        mops,
        live: Some(("entries", live)),
        requested_live_bytes: None,
    };
    report(outcome.line("map"));
}
