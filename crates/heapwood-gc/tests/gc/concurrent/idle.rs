//! Idle heaps. Here they are idle at once (`collect_as_if_idle`); `policy/idle.rs` says when they are, and `threads/idle.rs` has the
//! heap's own thread, with the system's clock.

use super::requests::{NODES, QUIET, grown, live};
use super::{BESIDE, count, stats};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use heapwood_gc::settings::options::{Concurrent, Generational};
use heapwood_gc::{Heap, HeapBox, Mutator};
use heapwood_gc_testing::*;

const ALL: [Generational; 3] = [Generational::Always, Generational::Auto, Generational::Off];

/// The heap is collected, or a marking has begun, while this thread is blocked. Whoever has just collected may have the lock still.
fn idle(heap: &Heap, mutator: &Mutator) {
    mutator.blocking(|| within_a_minute("the heap is collected", || heap.collect_as_if_idle())).unwrap();
}

/// Waits, blocked, until so many markings have ended.
fn await_markings(heap: &HeapBox, mutator: &Mutator, wanted: u64) {
    mutator
        .blocking(|| within_a_minute("the marking ends", || stats(heap).concurrent_markings >= wanted))
        .unwrap();
    assert_eq!(stats(heap).concurrent_markings, wanted);
}

/// Full collections so far: those in one stop, and the ends of markings beside the program.
fn full(heap: &HeapBox) -> (u64, u64) {
    let stats = stats(heap);
    let all = stats.collections - stats.young_collections;
    (all - stats.concurrent_markings, stats.concurrent_markings)
}

#[test]
fn an_idle_heap_is_marked_beside_the_program() {
    for (generational, verify) in
        ALL.into_iter().flat_map(|generational| [(generational, false), (generational, true)])
    {
        let heap = heap(QUIET.generational(generational).verify(verify));
        let mutator = attach(&heap);
        let mut roots = grown(&heap, &mutator);
        for number in 1..4 {
            idle(&heap, &mutator);
            await_markings(&heap, &mutator, number);
            assert_eq!((full(&heap), live(&heap)), ((0, number), NODES), "{generational:?}");
            assert_eq!(count(&heap, roots.get(0), 10), NODES);
        }
        roots.set(0, 0);
        idle(&heap, &mutator);
        await_markings(&heap, &mutator, 4);
        assert_eq!((full(&heap), live(&heap)), ((0, 4), 0));
        assert_eq!((stats(&heap).concurrent_degenerated, stats(&heap).barrier_violations), (0, 0));
        assert_valid(&heap);
    }
}

#[test]
fn a_heap_that_marks_in_stops_is_collected_in_one() {
    for config in
        [QUIET.concurrent(Concurrent::Off), QUIET.concurrent(Concurrent::Auto), BY_SIGNALS.min_heap(1 << 30)]
    {
        let heap = heap(config);
        let mutator = attach(&heap);
        let roots = grown(&heap, &mutator);
        idle(&heap, &mutator);
        // Little is alive.
        assert_eq!((full(&heap), stats(&heap).collections), ((1, 0), 1));
        assert!(config.conservative_stacks || live(&heap) == NODES);
        assert_eq!(count(&heap, roots.get(0), 10), NODES);
    }
}

/// A thread runs: nothing begins.
#[test]
fn a_heap_that_is_in_use_is_left_alone() {
    let heap = heap(QUIET);
    let mutator = attach(&heap);
    let roots = grown(&heap, &mutator);
    for number in 1..10 {
        std::thread::scope(|scope| scope.spawn(|| assert!(!heap.collect_as_if_idle())).join().unwrap());
        assert_eq!((full(&heap), stats(&heap).collections), ((number - 1, 0), number - 1));
        mutator.collect().unwrap();
        assert_eq!((full(&heap), live(&heap)), ((number, 0), NODES));
    }
    assert_eq!(count(&heap, roots.get(0), 10), NODES);
}

/// Threads build lists, block, and wake at any time; whenever all are blocked the heap is marked.
#[test]
fn a_heap_that_is_idle_now_and_then_loses_nothing() {
    const THREADS: usize = 3;
    let markings = if is_thorough() { 30 } else { 10 };
    for (generational, verify) in
        [(Generational::Always, false), (Generational::Off, false), (Generational::Always, true)]
    {
        let heap = heap(BESIDE.generational(generational).verify(verify));
        let node = node_type(&heap);
        let (begun, left) = (AtomicU64::new(0), AtomicUsize::new(THREADS));
        std::thread::scope(|scope| {
            for seed in 0..THREADS {
                let (heap, begun, left) = (&heap, &begun, &left);
                scope.spawn(move || {
                    let _left = Over(left);
                    let mutator = attach(heap);
                    let mut frame = Framed::<2>::new(&mutator);
                    while begun.load(Ordering::Relaxed) < markings {
                        frame.set(0, 0);
                        frame.extend_list(0, node, 300, seed);
                        mutator.blocking(std::thread::yield_now).unwrap();
                        // The second half moves to the other root.
                        let last = (1..150).fold(frame.get(0), |at, _| get(at, 0));
                        frame.set(1, get(last, 0));
                        link(&mutator, last, 0, 0);
                        mutator.blocking(std::thread::yield_now).unwrap();
                        check_list(frame.get(0), 150, seed + 150);
                        check_list(frame.get(1), 150, seed);
                    }
                });
            }
            while left.load(Ordering::Relaxed) > 0 && begun.load(Ordering::Relaxed) < markings {
                begun.fetch_add(u64::from(heap.collect_as_if_idle()), Ordering::Relaxed);
                std::thread::yield_now();
            }
        });
        assert!(begun.load(Ordering::Relaxed) >= markings, "a thread has ended early");
        assert_eq!(stats(&heap).barrier_violations, 0);
        let mutator = attach(&heap);
        mutator.collect().unwrap();
        assert_eq!(live(&heap), 0);
        assert_valid(&heap);
    }
}

/// Counts a thread out, also when it panics.
struct Over<'t>(&'t AtomicUsize);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
