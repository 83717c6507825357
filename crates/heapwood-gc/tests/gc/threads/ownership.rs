//! What threads own and do not use: spans that are partly free are used before the heap grows, and what a leaving thread held is used
//! again at once.

use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_gc::{Attached, Config, Heap, Mutator, ObjectType};
use heapwood_gc_testing::*;
use heapwood_layout::TypeDescriptor;
use heapwood_pages::PAGE_SIZE;

/// No collection comes by itself.
const QUIET: Config = FULL.min_heap(1 << 30);

/// Thirty shapes in six size classes that fill their spans' pages without a rest.
fn thirty_shapes(heap: &Heap) -> Vec<ObjectType> {
    [2, 4, 8, 16, 32, 64]
        .into_iter()
        .flat_map(|words| (0..5).map(move |i| (words, 1 + i % (words - 1), i / (words - 1) % 2)))
        .map(|(words, first, second)| {
            // No two have the same size and mask. The first word is never a pointer.
            let mask = [1u64 << first | second as u64];
            heap.types().register(&TypeDescriptor::masked(words * WORD, &mask).unwrap()).unwrap()
        })
        .collect()
}

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

/// What a leaving thread held is the next one's: many that come and go with a few objects of thirty shapes each use hardly
/// more than their objects.
#[test]
fn what_a_leaving_thread_held_is_used_again_at_once() {
    let heap = heap(QUIET);
    let types = thirty_shapes(&heap);
    let mut in_use = 0;
    for thread in 0..200 {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mutator = attach(&heap);
                types.iter().for_each(|&ty| make(&mutator, ty, ty.size()));
            });
        });
        let stats = heap.inspect().stats();
        if thread == 0 {
            in_use = stats.in_use_bytes;
        }
        let made: usize = types.iter().map(|ty| ty.size() * (thread + 1)).sum();
        assert_eq!(stats.allocated_bytes, made as u64, "what was not used is not charged");
        // Each shape has one span that is not full, once it has spans of its own.
        let room = in_use + made + types.len() * PAGE_SIZE;
        assert!(stats.in_use_bytes <= room, "{} bytes in use after {thread} threads", stats.in_use_bytes);
        assert_eq!(stats.collections, 0);
    }
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
