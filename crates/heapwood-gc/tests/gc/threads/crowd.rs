//! Several threads on one heap that come and go, panic and remove roots while others collect.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heapwood_gc_testing::*;
use heapwood_layout::{TraceContext, TypeDescriptor};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn a_panic_inside_a_blocking_region_leaves_the_thread_running() {
    let heap = heap(PRECISE);
    let panics = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (heap, panics) = (&heap, &panics);
        for t in 0..2 {
            scope.spawn(move || {
                let mutator = attach(heap);
                let node = node_type(heap);
                let mut frame = Framed::<1>::new(&mutator);
                for round in 0..50 {
                    frame.set(0, new(&mutator, node));
                    put(frame.get(0), 2, round);
                    let result = catch_unwind(AssertUnwindSafe(|| {
                        mutator.blocking(|| std::panic::resume_unwind(Box::new(round)))
                    }));
                    let payload: Box<usize> = result.unwrap_err().downcast().unwrap();
                    assert_eq!(*payload, round);
                    panics.fetch_add(1, Ordering::Relaxed);
                    if round % 3 == t {
                        mutator.collect().unwrap();
                    }
                    mutator.safepoint();
                    assert_eq!(get(frame.get(0), 2), round);
                }
            });
        }
    });
    assert_eq!(panics.load(Ordering::Relaxed), 100);
    assert_eq!(heap.mutators(), 0);
}

/// Threads that come and go with a few objects each use each other's cells, and are charged for what they used: ten thousand
/// with 880 bytes each were charged 778 MiB, and collected twelve times.
#[test]
fn short_lived_threads_use_what_others_left() {
    let heap = heap(PRECISE);
    let (node, threads) = (node_type(&heap), 2000);
    for _ in 0..threads {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mutator = attach(&heap);
                (0..27).for_each(|_| {
                    new(&mutator, node);
                });
            });
        });
    }
    let stats = heap.inspect().stats();
    assert_eq!(stats.allocated_bytes, threads * 27 * 32);
    // PRECISE has a minimum of 1 MiB.
    assert_eq!(stats.collections, stats.allocated_bytes >> 20);
    assert!(stats.in_use_bytes <= 2 << 20, "{stats:?}");
}

static MARKING: AtomicBool = AtomicBool::new(false);
static REMOVED: AtomicBool = AtomicBool::new(false);
static REMOVED_WHILE_MARKING: AtomicBool = AtomicBool::new(false);

/// Gives another thread time to remove a root that has not been scanned.
unsafe extern "C" fn linger(_: *mut u8, _: usize, _: *mut TraceContext) {
    MARKING.store(true, Ordering::SeqCst);
    std::thread::sleep(core::time::Duration::from_millis(200));
    REMOVED_WHILE_MARKING.store(REMOVED.load(Ordering::SeqCst), Ordering::SeqCst);
}

/// A thread that is not attached does not stop: the memory of its root is its own again when the removal returns.
#[test]
fn a_root_of_many_slots_is_not_removed_before_it_was_scanned() {
    let heap = heap(PRECISE);
    let lingering = heap.types().register(&TypeDescriptor::traced(16, linger).unwrap()).unwrap();
    std::thread::scope(|scope| {
        let mutator = attach(&heap);
        let many = Slots::new(&heap, 100_000);
        let mut one = Slots::new(&heap, 1);
        one.set(0, new(&mutator, lingering));
        scope.spawn(|| {
            wait_for(&MARKING);
            drop(many);
            REMOVED.store(true, Ordering::SeqCst);
        });
        mutator.collect().unwrap();
    });
    assert!(REMOVED.load(Ordering::SeqCst) && !REMOVED_WHILE_MARKING.load(Ordering::SeqCst));
}
