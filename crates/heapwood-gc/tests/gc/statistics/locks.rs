//! How often threads that allocate one or two shapes touch what all share: bounded by what they allocate and by the number of
//! collections, since that follows the clock.

use heapwood_gc_testing::*;
use std::sync::Barrier;

/// How often each thread makes a list of 10,000 nodes.
const ROUNDS: usize = 600;
/// Read-modify-writes a MiB, and for each collection: at its stop, by those who sweep, and by each thread that starts anew after it.
const A_MIB: u64 = 2;
const A_COLLECTION: u64 = 16;
const A_THREAD: u64 = 24;

fn rmws(threads: u64) {
    let heap = heap(PRECISE.min_heap(64 << 20));
    let barrier = Barrier::new(threads as usize);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mutator = attach(&heap);
                let (node, mut roots) = (node_type(&heap), Slots::new(&heap, 1));
                mutator.blocking(|| barrier.wait()).unwrap();
                for _ in 0..ROUNDS {
                    roots.set(0, 0);
                    roots.extend_list(0, &mutator, node, 10_000, 0);
                }
            });
        }
    });
    let stats = heap.inspect().stats();
    let mib = stats.small_bytes >> 20;
    let most = A_MIB * mib + (A_COLLECTION + A_THREAD * threads) * stats.collections;
    assert!(
        stats.shared_rmws <= most,
        "{} of {most} in {mib} MiB and {} collections",
        stats.shared_rmws,
        stats.collections
    );
    // Else it bounds nothing.
    assert!(stats.collections > 2, "{}", stats.collections);
}

#[test]
#[ignore = "of the long suite: bounds that the clock moves"]
fn a_thread_rarely_touches_what_all_share() {
    rmws(1);
}

#[test]
#[ignore = "of the long suite: bounds that the clock moves"]
fn two_threads_rarely_touch_what_all_share() {
    rmws(2);
}

#[test]
#[ignore = "of the long suite: bounds that the clock moves"]
fn four_threads_rarely_touch_what_all_share() {
    rmws(4);
}
