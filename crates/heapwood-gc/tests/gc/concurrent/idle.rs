//! Idle heaps. Here they are idle at once (`collect_as_if_idle`); `policy/idle.rs` says when they are, and `threads/idle.rs` has the
//! heap's own thread, with the system's clock.

use super::requests::{NODES, QUIET, grown, live};
use super::{count, stats};
use heapwood_gc::settings::options::{Concurrent, Generational};
use heapwood_gc::{Config, Heap, HeapBox, Mutator};
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
    for config in [
        QUIET.concurrent(Concurrent::Off),
        QUIET.max_pause(Config::DEFAULT.max_pause),
        BY_SIGNALS.min_heap(1 << 30),
    ] {
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
