//! Malloc: objects of seven kinds, each made, its address stored, and dropped at once, after the benchmarks of Go's
//! runtime of that name: 8, 16 and 32 bytes without pointers and with only pointers, and two large structs. Nothing
//! survives, so this measures allocation and the collections that it causes. Invariant: all that is left of an object
//! is an integer in memory that no collector scans. The store keeps the compiler from removing the allocation.

use crate::workload::{self, Across, Figure, N, Threads, Workload};
use heapwood::{Gc, Mutator, Trace};
use heapwood_os::process::clock::monotonic_ns;
use serde_json::json;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "malloc",
    about: "Objects of 8 to 768 bytes, with pointers and without, each dropped at once (Go's Malloc benchmarks)",
    // Bytes are counted in 64 bits.
    n: N { unit: "number of allocations of each kind, in thousands", usual: 30_000, most: 1 << 40 },
    threads: Threads::USUALLY_ONE,
    // One object of the largest kind.
    least_bytes: |_| size_of::<TwoLargeStructs>() as u128,
    figures: &FIGURES,
    shared: None,
    run: |m, n, report| run(m, n, |line| report(line.into())),
};

/// Allocations for each of N.
const UNIT: u64 = 1000;
/// Before the clock starts, 1/WARM_UP of the allocations are made.
const WARM_UP: u64 = 10;

/// N words without pointers.
type Words<const WORDS: usize> = [u64; WORDS];
/// N pointers, all null.
type Pointers<const WORDS: usize> = [Option<Gc<u64>>; WORDS];

/// A slice in Go: a pointer to the elements and two numbers.
#[derive(Trace)]
struct Header {
    elements: Option<Gc<u64>>,
    _len: usize,
    _capacity: usize,
}

/// An array of two structs of 16 slices each.
type TwoLargeStructs = [[Header; 16]; 2];

const _: () = assert!(size_of::<TwoLargeStructs>() == 768);

/// Types that can be allocated as zeros.
trait Zeros: Trace {
    const ZEROS: Self;
}

impl<const WORDS: usize> Zeros for Words<WORDS> {
    const ZEROS: Self = [0; WORDS];
}

impl<const WORDS: usize> Zeros for Pointers<WORDS> {
    const ZEROS: Self = [None; WORDS];
}

impl Zeros for TwoLargeStructs {
    const ZEROS: Self = [const { [const { Header { elements: None, _len: 0, _capacity: 0 } }; 16] }; 2];
}

/// A kind of object, and its figure.
struct Kind {
    name: &'static str,
    bytes: u64,
    /// 1/`part` of the allocations are made: large objects take longer.
    one_of: u64,
    allocate: fn(&Mutator, &Place, u64),
    figure: Figure,
}

impl Kind {
    const fn new<T: Zeros>(name: &'static str, figure: &'static str, label: &'static str) -> Kind {
        let bytes = size_of::<T>() as u64;
        let one_of = if bytes > 32 { 8 } else { 1 };
        let figure = Figure { name: figure, label, headline: false, across: Across::Largest };
        Kind { name, bytes, one_of, allocate: allocate::<T>, figure }
    }
}

/// Every kind, in the order they are measured in.
const KINDS: [Kind; 7] = [
    Kind::new::<Words<1>>("malloc8", "malloc8_ns", "8 bytes, ns an object"),
    Kind::new::<Words<2>>("malloc16", "malloc16_ns", "16 bytes, ns an object"),
    Kind::new::<Words<4>>("malloc32", "malloc32_ns", "32 bytes, ns an object"),
    Kind::new::<Pointers<1>>("typeinfo8", "typeinfo8_ns", "a pointer, ns an object"),
    Kind::new::<Pointers<2>>("typeinfo16", "typeinfo16_ns", "2 pointers, ns an object"),
    Kind::new::<Pointers<4>>("typeinfo32", "typeinfo32_ns", "4 pointers, ns an object"),
    Kind::new::<TwoLargeStructs>("largestruct", "largestruct_ns", "768 bytes, ns an object"),
];

const FIGURES: [Figure; KINDS.len()] = {
    let mut figures = [KINDS[0].figure; KINDS.len()];
    let mut k = 1;
    while k < KINDS.len() {
        figures[k] = KINDS[k].figure;
        k += 1;
    }
    figures
};

/// The address of a thread's last object, in the ordinary heap, on two cache lines of its own.
#[repr(align(128))]
struct Place(AtomicUsize);

/// The result of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// The kind's name.
    pub kind: &'static str,
    /// The figure for its time.
    pub figure: &'static str,
    /// The number of allocations after the clock started.
    pub allocations: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The time of one, with collections.
    pub ns: f64,
}

impl From<Line> for workload::Line {
    fn from(line: Line) -> Self {
        let Line { kind, figure, allocations, bytes, ns } = line;
        let check = format!("{kind} allocations {allocations} bytes {bytes}");
        let fields = json!({"kind": kind, "allocations": allocations, "bytes": bytes, figure: ns});
        workload::Line {
            text: format!("{check} ns_per_allocation {ns:.3}"),
            check,
            figures: vec![(figure, ns)],
            fields,
        }
    }
}

/// Makes objects and drops them. Each kind has its own function, as in Go's benchmarks.
#[inline(never)]
fn allocate<T: Zeros>(m: &Mutator, place: &Place, count: u64) {
    for _ in 0..count {
        let object = m.alloc(T::ZEROS);
        place.0.store(Gc::as_ptr(object) as usize, Relaxed);
    }
}

/// Allocates `n` thousand objects of each kind, reporting each kind when it is known.
pub fn run(m: &Mutator, n: u64, mut report: impl FnMut(Line)) {
    let place = Box::new(Place(AtomicUsize::new(0)));
    // For the compiler, other code may read it.
    let place: &Place = black_box(&place);
    for Kind { name, bytes, one_of, allocate, figure } in &KINDS {
        let allocations = n * UNIT / one_of;
        allocate(m, place, allocations / WARM_UP);
        let start = monotonic_ns();
        allocate(m, place, allocations);
        let ns = (monotonic_ns() - start) as f64 / allocations as f64;
        report(Line { kind: name, figure: figure.name, allocations, bytes: allocations * bytes, ns });
    }
}
