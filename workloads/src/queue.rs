//! Queue: objects of 64 bytes without pointers that wait in a queue as long as N / 40, and die in the order in which they
//! came. None dies young and none grows old: what survives its first collections dies a little later. It asks a heap with
//! generations not to pay for a guess that is always wrong.

use crate::workload::{Line, N, Threads, Workload};
use heapwood::{Gc, GcCell, Mutator, Slice, Trace};

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "queue",
    about: "A queue of objects of 64 bytes, 40 times as many as it holds: each dies middle-aged",
    n: N { unit: "number of allocations", usual: 40_000_000, most: 1 << 36 },
    threads: Threads::USUALLY_ONE,
    least_bytes: |n| (size_of::<Item>() as u128 + 8) * u128::from(length(n)),
    figures: &[],
    shared: None,
    run: |m, n, report| report(Line::checked("queue", ("allocations", n), run(m, n))),
};

/// Allocations for each place in the queue.
const ROUNDS: u64 = 40;

#[derive(Trace)]
struct Item([u64; 8]);

/// The length of the queue.
fn length(allocations: u64) -> u64 {
    (allocations / ROUNDS).max(1)
}

fn add(sum: u64, Item(words): &Item) -> u64 {
    sum.wrapping_mul(31).wrapping_add(words[0]).wrapping_add(words[7])
}

/// Puts so many items through the queue. Returns a checksum of them in order.
pub fn run(m: &Mutator, allocations: u64) -> u64 {
    let queue: Gc<Slice<GcCell<Option<Gc<Item>>>>> =
        m.alloc_slice(length(allocations) as usize, |_| GcCell::new(None));
    let (mut checksum, mut places) = (0, queue.iter().cycle());
    for number in 0..allocations {
        let place = places.next().expect("a queue has a place");
        if let Some(oldest) = place.get() {
            checksum = add(checksum, &oldest);
        }
        place.set(m, Some(m.alloc(Item(std::array::from_fn(|k| number + k as u64)))));
    }
    places.take(queue.len()).filter_map(GcCell::get).fold(checksum, |sum, oldest| add(sum, &oldest))
}
