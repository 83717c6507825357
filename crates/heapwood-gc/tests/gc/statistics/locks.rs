//! How often threads that allocate one or two shapes touch what all share: bounded by what they allocate, in shares of the
//! memory that each may cache, and by the number of collections, since that follows the clock (where young ones are slow by it,
//! the heap grows whole before a full one comes).

use heapwood_gc_testing::*;
use std::sync::Barrier;

/// How often each thread makes a list of 10,000 nodes.
const ROUNDS: usize = 600;
const HEAP: usize = 64 << 20;
/// All threads together may cache this part of the heap, and one refill brings so many bytes at most.
const CACHED_PART: u64 = 20;
const MOST_A_REFILL: u64 = 2 << 20;
/// Read-modify-writes for each share that a thread uses up: a refill, and two acquisitions of the page allocator's lock.
const A_SHARE: u64 = 6;
/// For each step by which the heap grows, of 4 MiB.
const A_STEP: u64 = 12;
const STEPS: u64 = HEAP as u64 / (4 << 20);
/// And for each collection: at its stop, by those who sweep, and by each thread that starts anew after it.
const A_COLLECTION: u64 = 16;
const A_THREAD: u64 = 24;

fn rmws(threads: u64) {
    let heap = heap(PRECISE.min_heap(HEAP));
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
    let shares = stats.small_bytes / (HEAP as u64 / CACHED_PART / threads).min(MOST_A_REFILL);
    let most = A_SHARE * shares + A_STEP * STEPS + (A_COLLECTION + A_THREAD * threads) * stats.collections;
    assert!(
        stats.shared_rmws <= most,
        "{} of {most} for {shares} shares and {} collections",
        stats.shared_rmws,
        stats.collections
    );
    // Else it bounds nothing.
    assert!(stats.collections > 2, "{}", stats.collections);
}

#[test]
fn a_thread_rarely_touches_what_all_share() {
    rmws(1);
}

#[test]
fn two_threads_rarely_touch_what_all_share() {
    rmws(2);
}

#[test]
fn four_threads_rarely_touch_what_all_share() {
    rmws(4);
}

/// A collection comes while a thread has cached pages, as those of other threads do. The spans that it leaves to sweep are
/// taken many at a time all the same: once they came one or two at a time, since the pages filled the thread's share.
#[test]
fn cached_pages_leave_room_for_spans() {
    let heap = heap(FULL.min_heap(HEAP));
    let mutator = attach(&heap);
    let (node, mut roots) = (node_type(&heap), Slots::new(&heap, 1));
    let mut allocate = |mib: usize| {
        (0..mib).for_each(|_| roots.extend_list(0, &mutator, node, (1 << 20) / 32, 0));
        roots.set(0, 0);
    };
    for round in 0..16 {
        // New pages, of which the thread has cached more or fewer when the collection comes.
        allocate(20 + round);
        let collect =
            || std::thread::scope(|scope| scope.spawn(|| attach(&heap).collect().unwrap()).join().unwrap());
        mutator.blocking(collect).unwrap();
        let before = heap.inspect().stats();
        allocate(16);
        let after = heap.inspect().stats();
        assert_eq!(after.collections, before.collections, "no collection comes by itself");
        let locks = (after.shared_rmws - before.shared_rmws) / 2;
        assert!(locks <= 64, "round {round}: {locks} acquisitions for 16 MiB");
    }
}
