//! Full collections of a graph, timed, and the order of its objects in memory. Invariant: no stale word of the building
//! keeps an object, since it is called deep in the stack, below the frames of a collection, which does not scan them.

use crate::random::Random;
use heapwood::Mutator;
use heapwood_os::process::clock::monotonic_ns;
use std::hint::black_box;

const COLLECTIONS: usize = 3;

/// Nanoseconds of the fastest full collection, and of the median one.
pub(super) fn collect_in_full(m: &Mutator) -> (f64, f64) {
    let mut times = [(); COLLECTIONS].map(|()| {
        let start = monotonic_ns();
        m.collect();
        (monotonic_ns() - start) as f64
    });
    times.sort_by(f64::total_cmp);
    (times[0], times[COLLECTIONS / 2])
}

/// Calls `f` deep in the stack, so that its stale words lie below the frames of a collection, which does not scan them.
/// A stale pointer to the table that a graph is built from would keep the table alive, and every object of the graph.
#[inline(never)]
pub(super) fn far_down<R>(f: impl FnOnce() -> R) -> R {
    let room = black_box([0u8; 64 << 10]);
    let result = f();
    black_box(&room);
    result
}

/// The objects as they are linked.
pub(super) fn in_order(n: usize) -> Vec<u32> {
    (0..n as u32).collect()
}

/// The objects in a random permutation (Fisher and Yates, from the end).
pub(super) fn shuffled(n: usize) -> Vec<u32> {
    let mut random = Random::new();
    let mut order = in_order(n);
    for i in (1..n).rev() {
        order.swap(i, (random.next_u64() % (i as u64 + 1)) as usize);
    }
    order
}
