//! Latency: a cache whose entries are replaced at random, and all gaps between readings of the clock, one every [`SAMPLE`] steps.
//!
//! An entry is three nodes of 64 bytes: a root and two children. One step in four replaces an entry, one in four swaps a
//! child of two entries, the others read one. So every node has one owner at any time, and a program without a collector
//! can free it.

use crate::random::Random;
use crate::workload::{Across, Figure, Line, N, Threads, Workload};
use heapwood::{Gc, GcCell, Mutator, Slice, Trace};
use heapwood_os::process::clock::monotonic_ns;

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "latency",
    about: "A cache of entries of three nodes, replaced at random, and the gaps between its steps",
    n: N { unit: "cache size in MiB", usual: 256, most: 1 << 23 },
    threads: Threads::USUALLY_ONE,
    least_bytes: |n| u128::from(entries(n)) * (ENTRY_BYTES + 8) as u128,
    figures: FIGURES,
    shared: None,
    run: |m, n, report| report(run(m, n)),
};

const FIGURES: &[Figure] = &[
    Figure { name: "mops", label: "million steps a second", headline: false, across: Across::Sum },
    gap("gap_99_us", "99 % of gaps, us", false),
    gap("gap_99_9_us", "99.9 % of gaps, us", true),
    gap("gap_99_99_us", "99.99 % of gaps, us", false),
    gap("longest_gap_us", "longest gap, us", true),
];

const fn gap(name: &'static str, label: &'static str, headline: bool) -> Figure {
    Figure { name, label, headline, across: Across::Largest }
}

/// Bytes of the three nodes of an entry.
const ENTRY_BYTES: u64 = 3 * size_of::<Node>() as u64;
/// Steps between two readings of the clock.
pub const SAMPLE: u64 = 4;
/// Steps for each entry, a quarter of which replace one; and the least number of steps.
const ROUNDS: u64 = 16;
const LEAST_STEPS: u64 = 200_000;

type Edge = GcCell<Option<Gc<Node>>>;

#[derive(Trace)]
struct Node {
    left: Edge,
    right: Edge,
    key: u64,
    rest: [u64; 5],
}

const _: () = assert!(size_of::<Node>() == 64);

/// The entries of a cache of N MiB.
fn entries(mib: u64) -> u64 {
    (mib << 20) / ENTRY_BYTES
}

/// Fills a cache of N MiB, and steps through it.
fn run(m: &Mutator, mib: u64) -> Line {
    let mut cache = Cache::new(m, entries(mib));
    let steps = (entries(mib) * ROUNDS).max(LEAST_STEPS) / SAMPLE * SAMPLE;
    let mut gaps = Gaps::new();
    let start = monotonic_ns();
    let mut last = start;
    for _ in 0..steps / SAMPLE {
        for _ in 0..SAMPLE {
            cache.step();
        }
        let now = monotonic_ns();
        gaps.note(now - last);
        last = now;
    }
    let us = |ns: u64| ns as f64 / 1e3;
    let mut line = Line::checked("latency", ("steps", steps), cache.sum);
    line.add_figure("mops", steps as f64 * 1e3 / (last - start) as f64);
    for (name, share) in [("gap_99_us", 0.99), ("gap_99_9_us", 0.999), ("gap_99_99_us", 0.9999)] {
        line.add_figure(name, us(gaps.at(share)));
    }
    line.add_figure("longest_gap_us", us(gaps.longest));
    line
}

impl Node {
    fn leaf(key: u64) -> Node {
        Node { left: GcCell::new(None), right: GcCell::new(None), key, rest: [key; 5] }
    }
}

/// An entry for a random number.
fn entry(m: &Mutator, r: u64) -> Gc<Node> {
    let left = m.alloc(Node::leaf(r.wrapping_add(1)));
    let right = m.alloc(Node::leaf(r.wrapping_add(2)));
    m.alloc(Node { left: GcCell::new(Some(left)), right: GcCell::new(Some(right)), key: r, rest: [r; 5] })
}

struct Cache<'m> {
    m: &'m Mutator,
    table: Gc<Slice<Edge>>,
    random: Random,
    sum: u64,
}

impl<'m> Cache<'m> {
    fn new(m: &'m Mutator, entries: u64) -> Cache<'m> {
        let mut random = Random::new();
        let table: Gc<Slice<Edge>> = m.alloc_slice(entries as usize, |_| GcCell::new(None));
        for slot in table.iter() {
            slot.set(m, Some(entry(m, random.next_u64())));
        }
        Cache { m, table, random, sum: 0 }
    }

    fn slot(&self, r: u64) -> &Edge {
        &self.table[(((r >> 32) * self.table.len() as u64) >> 32) as usize]
    }

    #[inline]
    fn step(&mut self) {
        let r = self.random.next_u64();
        match r & 3 {
            0 => self.slot(r).set(self.m, Some(entry(self.m, r))),
            1 => {
                let other = self.random.next_u64();
                if let (Some(a), Some(b)) = (self.slot(r).get(), self.slot(other).get()) {
                    let (of_a, of_b) = (a.left.get(), b.left.get());
                    a.left.set(self.m, of_b);
                    b.left.set(self.m, of_a);
                }
            }
            _ => {
                let key = |node: Option<Gc<Node>>| node.map_or(0, |node| node.key);
                if let Some(root) = self.slot(r).get() {
                    let (left, right) = (key(root.left.get()), key(root.right.get()));
                    let sum = self.sum.wrapping_mul(31).wrapping_add(root.key);
                    self.sum = sum.wrapping_add(left).wrapping_add(right);
                }
            }
        }
    }
}

/// Values below it have a bucket each.
const SUB: u64 = 32;
/// For all values of 64 bits.
const BUCKETS: usize = 60 * SUB as usize;

/// The gaps of a thread in a histogram with 32 buckets for each power of two, as HdrHistogram (Tene): a value is known to 3.2 %. The
/// peers number the buckets in the same way.
struct Gaps {
    longest: u64,
    counts: Vec<u64>,
}

impl Gaps {
    fn new() -> Gaps {
        // Zeroed pages of the kernel would make gaps when they are touched.
        let mut counts = vec![1; BUCKETS];
        counts.fill(0);
        Gaps { longest: 0, counts }
    }

    #[inline]
    fn note(&mut self, ns: u64) {
        self.counts[bucket(ns)] += 1;
        self.longest = self.longest.max(ns);
    }

    /// The length that such a share of all gaps does not exceed.
    fn at(&self, share: f64) -> u64 {
        let least = (share * self.counts.iter().sum::<u64>() as f64).ceil() as u64;
        let mut sum = 0;
        let found = self.counts.iter().position(|&count| {
            sum += count;
            sum >= least
        });
        found.map_or(self.longest, |bucket| upper(bucket).min(self.longest))
    }
}

#[inline]
fn bucket(ns: u64) -> usize {
    match ns {
        0..SUB => ns as usize,
        _ => {
            let shift = ns.ilog2() - SUB.ilog2();
            (u64::from(shift) * SUB + (ns >> shift)) as usize
        }
    }
}

/// The largest value of a bucket.
fn upper(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    match bucket {
        0..SUB => bucket,
        _ => {
            let shift = bucket / SUB - 1;
            let above = u128::from(bucket - shift * SUB + 1) << shift;
            (above - 1).min(u64::MAX.into()) as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_in_order_and_narrow() {
        let mut next = 0u64;
        for k in 0..BUCKETS {
            let last = upper(k);
            assert_eq!((bucket(next), bucket(last)), (k, k), "{k}: {next} to {last}");
            assert!((last - next) as f64 <= next as f64 / 31.0, "{k}: {next} to {last}");
            next = last.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bucket ends with the last value");
    }

    #[test]
    fn shares_of_gaps_are_found() {
        let mut gaps = Gaps::new();
        (0..990).for_each(|_| gaps.note(7));
        (0..9).for_each(|_| gaps.note(20));
        gaps.note(1_000_001);
        assert_eq!([0.5, 0.99, 0.999, 0.9999].map(|share| gaps.at(share)), [7, 7, 20, 1_000_001]);
    }
}
