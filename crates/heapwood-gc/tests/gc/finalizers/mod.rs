//! Finalisers: what is refused, queues and how a program is told of them, forks and pauses. What comes when is in the oracles.

mod ephemerons;
mod objects;
mod told;

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc::{FinalizerQueue, Heap, Misuse, Mutator, Refusal};
use heapwood_gc_testing::*;
use heapwood_heap::ArenaKind;

fn finalize(mutator: &Mutator, object: usize, tag: usize) -> heapwood_gc::FinalizerToken {
    mutator.finalize_data(NonNull::new(object as *mut u8).unwrap(), OWN, tag).unwrap()
}

/// The heap's own queue.
const OWN: FinalizerQueue = FinalizerQueue::from_bits(0);

fn next(heap: &Heap) -> Option<usize> {
    heap.next_finalized_data(OWN).unwrap()
}

fn taken(heap: &Heap) -> Vec<usize> {
    let mut all: Vec<_> = core::iter::from_fn(|| next(heap)).collect();
    all.sort_unstable();
    all
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let heap = heap(FULL.concurrent(Concurrent::Off));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 1);
    roots.set(0, new(&mutator, node));
    let at = |address: usize| NonNull::new(address as *mut u8).unwrap();
    let outside = Box::new(7u64);
    for address in [roots.get(0) + 8, &raw const *outside as usize, 8] {
        let refused = mutator.finalize_data(at(address), OWN, 1);
        assert_eq!(refused, Err(Refusal::CannotFinalize { address }));
    }
    let arena = Arena::open(&mutator, ArenaKind::Escaping);
    let inside = arena.data(&mutator, 64, 8).unwrap();
    let refused = mutator.finalize_data(at(inside), OWN, 1).unwrap_err();
    assert!(
        matches!(refused, Refusal::CannotFinalizeInArena { address, .. } if address == inside),
        "{refused}"
    );
    arena.close(&mutator);
    let misuse = Refusal::from(Misuse::InNative);
    assert_eq!(mutator.blocking(|| mutator.finalize_data(at(roots.get(0)), OWN, 1)).unwrap(), Err(misuse));
    assert_eq!((heap.finalizers(), next(&heap)), ((0, 0), None));
    let none = heapwood_gc::FinalizerToken::from_bits(1 << 32 | 1);
    assert!(heap.cancel_finalizer(none).is_err(), "before the first");

    let [a, _] = [5, 6].map(|tag| finalize(&mutator, roots.get(0), tag));
    // SAFETY: it is refused.
    let refused = unsafe { mutator.free(at(roots.get(0))) }.unwrap_err();
    assert!(matches!(refused, Refusal::HasFinalizer { address } if address == roots.get(0)), "{refused}");
    assert_eq!(heap.cancel_finalizer(a), Ok(5));
    assert!(matches!(heap.cancel_finalizer(a), Err(Refusal::NoFinalizer { .. })));
    assert!(matches!(heap.cancel_finalizer(none), Err(Refusal::NoFinalizer { .. })));
    assert_eq!(heap.cancel_finalizer_of(at(roots.get(0))), Ok(Some(6)));
    assert_eq!(heap.cancel_finalizer_of(at(roots.get(0))), Ok(None));
    // Without finalisers it can be freed, and a new object in the cell has none of the old one's.
    let freed = roots.get(0);
    roots.set(0, 0);
    free(&mutator, freed);
    let c = finalize(&mutator, new(&mutator, node), 7);
    mutator.collect().unwrap();
    assert_eq!(heap.cancel_finalizer(c), Err(Refusal::FinalizerQueued));
    assert_eq!(heap.cancel_finalizer_of(at(freed)), Ok(None));
    assert_eq!(taken(&heap), [7]);
    assert!(matches!(heap.cancel_finalizer(c), Err(Refusal::NoFinalizer { .. })));
}

/// The table of a small heap has 65,536 entries; those that were cancelled or taken are used again.
#[test]
fn entries_are_used_again() {
    let heap = heap(YOUNG.address_space(64 << 20).concurrent(Concurrent::Off));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    for round in 0..10 {
        for tag in 0..40_000 {
            let token = finalize(&mutator, new(&mutator, node), tag);
            assert!(round % 2 == 0 || heap.cancel_finalizer(token) == Ok(tag));
        }
        mutator.collect_young().unwrap();
        assert!(heap.finalizers().0 == 0 && (round % 2 == 1 || taken(&heap).len() == 40_000));
    }
    let mut roots = Slots::new(&heap, 1);
    roots.set(0, new(&mutator, node));
    let object = NonNull::new(roots.get(0) as *mut u8).unwrap();
    let full = (0..).find_map(|tag| mutator.finalize_data(object, OWN, tag).err()).unwrap();
    assert_eq!((full, heap.finalizers()), (Refusal::ManyFinalizers { most: 65_535 }, (65_535, 0)));
    assert!(full.to_string().contains("65535 finalisers"), "{full}");
}

#[test]
fn all_is_queued_at_the_end() {
    let heap = heap(FULL);
    {
        let mutator = attach(&heap);
        let mut roots = Slots::new(&heap, 1);
        roots.set(0, new(&mutator, node_type(&heap)));
        (0..10).for_each(|tag| _ = finalize(&mutator, roots.get(0), tag));
        assert_eq!(mutator.blocking(|| heap.finalize_all()).unwrap(), Err(Misuse::InNative));
        assert_eq!(heap.finalizers(), (10, 0));
    }
    assert_eq!(heap.finalize_all(), Ok(10));
    assert_eq!((heap.finalizers(), heap.finalize_all()), ((0, 10), Ok(10)));
    assert_eq!(taken(&heap), (0..10).collect::<Vec<_>>());
    assert_eq!(heap.finalize_all(), Ok(0));
}

/// Verify mode says so when nobody takes what is queued; who takes some is left in peace.
#[test]
fn a_queue_that_nobody_drains_is_named() {
    const SAID: &str = "heapwood: verify: 10000 entries wait on finaliser queues, and none was ever taken";
    for drains in [false, true] {
        let ended = Child::new().called(drains).run(|| {
            let heap = heap(FULL.verify(true).concurrent(Concurrent::Off));
            let mutator = attach(&heap);
            let node = node_type(&heap);
            (0..10_000 + usize::from(drains))
                .for_each(|tag| _ = finalize(&mutator, new(&mutator, node), tag));
            mutator.collect().unwrap();
            if drains {
                next(&heap).unwrap();
            }
            (0..15).for_each(|_| mutator.collect().unwrap());
        });
        assert_eq!(ended.err.contains(SAID), !drains, "{ended}");
        ended.well();
    }
}
