//! Weak: N weak references to objects of two words. All are alive until every second one is dropped; then the heap is collected,
//! and each reference is read. The program's gaps are those of the making; the collection has a figure of its own. It asks a heap
//! what a weak reference costs to make, to keep, to clear and to read.

use crate::replacements::{Gaps, SAMPLE, figures, gaps_line};
use crate::stray::{most_stray, out_of_the_way};
use crate::workload::{Across, Figure, Line, N, Threads, Workload};
use heapwood::{Gc, GcCell, Mutator, Slice, Trace, Weak};
use heapwood_os::process::clock::monotonic_ns;

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "weak",
    about: "Weak references to small objects, of which every second dies, read after a collection",
    n: N { unit: "number of weak references", usual: 10_000_000, most: 1 << 31 },
    threads: Threads::ONE,
    // A weak reference is an object of four words.
    least_bytes: |n| (size_of::<Node>() as u128 + 32 + 2 * 8) * u128::from(n),
    figures: FIGURES,
    shared: None,
    run: |m, n, report| report(run(m, n)),
};

const OF_MAKING: [Figure; 2] = figures("million weak references made a second");

const FIGURES: &[Figure] = &[
    OF_MAKING[0],
    OF_MAKING[1],
    Figure { name: "collect_s", label: "collection, s", headline: false, across: Across::Largest },
];

/// Room for a pointer, here none, and a number.
#[derive(Trace)]
struct Node {
    pointer: Option<Gc<Node>>,
    number: u64,
}

const _: () = assert!(size_of::<Node>() == 16);

type Table<P> = Gc<Slice<GcCell<Option<P>>>>;

/// Makes the objects, all of which are kept, and a weak reference to each.
#[inline(never)]
fn fill(m: &Mutator, kept: Table<Gc<Node>>, weak: Table<Weak<Node>>) -> (u64, f64) {
    let mut gaps = Gaps::start();
    for (number, (kept, weak)) in (0..).zip(kept.iter().zip(weak.iter())) {
        let node = m.alloc(Node { pointer: None, number });
        kept.set(m, Some(node));
        weak.set(m, Some(m.weak(node)));
        if number % SAMPLE == SAMPLE - 1 {
            gaps.sample();
        }
    }
    gaps.end(weak.len() as u64)
}

/// Counts the kept objects that are read, and sums them up.
#[inline(never)]
fn read(m: &Mutator, weak: Table<Weak<Node>>) -> (u64, u64) {
    let (mut alive, mut stray, mut checksum) = (0, 0, 0u64);
    for (number, weak) in (0..).zip(weak.iter()) {
        match weak.get().and_then(|weak| weak.get(m)) {
            Some(node) if number % 2 == 0 => {
                alive += 1;
                checksum = checksum.wrapping_mul(31).wrapping_add(node.number);
            }
            Some(_) => stray += 1,
            None => {}
        }
    }
    assert!(
        stray <= most_stray(weak.len() as u64),
        "{stray} weak references of dropped objects were not cleared"
    );
    (alive, checksum)
}

/// Makes so many weak references, drops the objects of half of them, collects, and reads them.
fn run(m: &Mutator, n: u64) -> Line {
    let kept = m.alloc_slice(n as usize, |_| GcCell::new(None));
    let weak = m.alloc_slice(n as usize, |_| GcCell::new(None));
    let gaps = out_of_the_way(|| fill(m, kept, weak));
    kept.iter().skip(1).step_by(2).for_each(|dropped| dropped.set(m, None));
    let start = monotonic_ns();
    m.collect();
    let collect_s = (monotonic_ns() - start) as f64 / 1e9;
    let (alive, checksum) = read(m, weak);
    let mut line = gaps_line("weak", ("alive", alive), checksum, gaps);
    line.add_figure("collect_s", collect_s);
    // The objects are kept up to here.
    core::hint::black_box(kept);
    line
}
