//! Spans that are partly free are used before the heap grows; and a client is told when a thread leaves.

use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc::{Attached, Config, Mutator, ObjectType};
use heapwood_gc_testing::*;

/// No collection comes by itself.
const QUIET: Config = FULL.min_heap(1 << 30).concurrent(Concurrent::Off);

/// Fills `bytes` with objects of a type that nobody keeps.
fn make(mutator: &Mutator, ty: ObjectType, bytes: usize) {
    for _ in 0..bytes / ty.size() {
        new(mutator, ty);
    }
}

/// Fills `bytes` with objects of a type, keeps every second one, and collects.
fn half_dead(mutator: &Attached<'_>, ty: ObjectType, bytes: usize, kept: &mut Slots<'_>) {
    for i in 0..bytes / ty.size() {
        let at = new(mutator, ty);
        if i % 2 == 0 {
            kept.set(i / 2, at);
        }
    }
    mutator.collect().unwrap();
}

/// Partly free spans of a shape are found again in the same cycle, whatever other shapes have allocated meanwhile: the heap
/// once grew by 18.9 MiB here.
#[test]
fn half_dead_spans_are_used_before_the_heap_grows() {
    let heap = heap(QUIET);
    let mutator = attach(&heap);
    let (first, other) = (masked(&heap, 8, &[1]), masked(&heap, 16, &[1]));
    let mut kept = Slots::new(&heap, 320 << 10);
    half_dead(&mutator, first, 40 << 20, &mut kept);
    make(&mutator, other, 6 << 20);
    let before = heap.inspect().stats();
    make(&mutator, first, 18 << 20);
    let after = heap.inspect().stats();
    assert_eq!(after.collections, before.collections);
    let grown = after.in_use_bytes.saturating_sub(before.in_use_bytes);
    // A page cache's block may change meanwhile.
    assert!(grown <= 512 << 10, "18 MiB in free cells took {grown} bytes of pages");
}

#[test]
fn a_client_is_told_when_a_mutator_is_taken_from_its_thread() {
    static TOLD: AtomicUsize = AtomicUsize::new(0);
    fn told() {
        TOLD.fetch_add(1, Ordering::Relaxed);
    }
    let heap = heap(QUIET);
    std::thread::scope(|scope| {
        // It detaches, and another ends with its mutator.
        for detaches in [true, false] {
            let before = TOLD.load(Ordering::Relaxed);
            let heap = &heap;
            let thread = scope.spawn(move || {
                let mutator = attach(heap);
                mutator.at_leave(told);
                assert_eq!(TOLD.load(Ordering::Relaxed), before);
                match detaches {
                    true => {
                        drop(mutator);
                        assert_eq!(TOLD.load(Ordering::Relaxed), before + 1);
                    }
                    false => _ = mutator.into_raw(),
                }
            });
            thread.join().unwrap();
            assert_eq!(TOLD.load(Ordering::Relaxed), before + 1, "it detaches: {detaches}");
        }
    });
}
