//! List: a singly linked list of N nodes, all of which survive, walked once at the end. Nothing dies, so every collection
//! is in vain, and a list cannot be marked by several threads or ahead of the memory. It asks a heap to grow at a fair
//! price, and to mark what has one edge to follow at a time.

use crate::workload::{Line, N, Threads, Workload};
use heapwood::{Gc, Mutator, Trace};

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "list",
    about: "A singly linked list of nodes of two words, all of which survive, walked once",
    n: N { unit: "number of nodes", usual: 20_000_000, most: 1 << 36 },
    threads: Threads::USUALLY_ONE,
    least_bytes: |n| size_of::<Node>() as u128 * u128::from(n),
    figures: &[],
    shared: None,
    run: |m, n, report| report(Line::checked("list", ("nodes", n), run(m, n))),
};

#[derive(Trace)]
struct Node {
    next: Option<Gc<Node>>,
    value: u64,
}

const _: () = assert!(size_of::<Node>() == 16);

/// Builds a list of so many nodes from its end. Returns a checksum of their values from the front.
pub fn run(m: &Mutator, nodes: u64) -> u64 {
    let first = (0..nodes).fold(None, |next, value| Some(m.alloc(Node { next, value })));
    let values = std::iter::successors(first, |node| node.next).map(|node| node.value);
    values.fold(0, |sum, value| sum.wrapping_mul(31).wrapping_add(value))
}
