//! Finalisers of data outside the heap: each tag is queued once, when its object is dead and not before, by collections of all
//! kinds, for threads that register, cancel and take at once.

mod ephemerons;
mod objects;
mod told;

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc::{Config, FinalizerQueue, Heap, Misuse, Mutator, Refusal};
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

/// Threads register, cancel and take at once, while the heap collects in all ways by itself.
#[test]
fn threads_register_and_take_at_once() {
    let beside = PRECISE.concurrent(Concurrent::Always).min_heap(4 << 20);
    for config in [beside, YOUNG, BY_SIGNALS, PRECISE.limit(16 << 20)] {
        let heap = heap(config);
        let each = if is_thorough() { 100_000 } else { 25_000 };
        let seen: Vec<AtomicUsize> = (0..3 * each).map(|_| AtomicUsize::new(0)).collect();
        let (cancelled, goes_on) = (AtomicUsize::new(0), AtomicBool::new(true));
        let count = || {
            while let Some(tag) = next(&heap) {
                assert_eq!(seen[tag].fetch_add(1, Ordering::Relaxed), 0, "{tag} twice");
            }
        };
        std::thread::scope(|scope| {
            // One that takes and is not attached.
            let taker = scope.spawn(|| {
                while goes_on.load(Ordering::Relaxed) {
                    count();
                    std::thread::yield_now();
                }
            });
            let workers = [0, 1, 2].map(|i| {
                let (heap, cancelled, seen, count) = (&heap, &cancelled, &seen, &count);
                scope.spawn(move || {
                    let mutator = attach(heap);
                    let node = node_type(heap);
                    let mut roots = Slots::new(heap, 16);
                    let mut tags = [usize::MAX; 16];
                    for k in 0..each {
                        let tag = i * each + k;
                        let slot = k % 16;
                        if tags[slot] != usize::MAX {
                            assert_eq!(seen[tags[slot]].load(Ordering::Relaxed), 0, "early");
                        }
                        roots.set(slot, new(&mutator, node));
                        let token = finalize(&mutator, roots.get(slot), tag);
                        tags[slot] = tag;
                        if k % 7 == 0 {
                            assert_eq!(heap.cancel_finalizer(token), Ok(tag));
                            tags[slot] = usize::MAX;
                            cancelled.fetch_add(1, Ordering::Relaxed);
                        }
                        if k % 1000 == 0 {
                            count();
                        }
                    }
                })
            });
            workers.into_iter().for_each(|worker| worker.join().unwrap());
            goes_on.store(false, Ordering::Relaxed);
            taker.join().unwrap();
        });
        attach(&heap).collect().unwrap();
        attach(&heap).collect().unwrap();
        if config.conservative_stacks {
            // A stale word may keep one.
            heap.finalize_all().unwrap();
        }
        count();
        let all = seen.iter().filter(|seen| seen.load(Ordering::Relaxed) == 1).count();
        assert_eq!((all + cancelled.load(Ordering::Relaxed), heap.finalizers()), (3 * each, (0, 0)));
        assert_valid(&heap);
    }
}

/// Buffers outside, freed by finalisers, make no process grow: of 500 MiB few are there at once.
#[test]
fn finalised_buffers_do_not_make_a_process_grow() {
    // Where collections take much of the CPU, as under ThreadSanitizer, a heap without a limit has up to 32 MiB of room beside the little
    // that is alive here (docs/design/policy.md, growth).
    let room = 34 << 20;
    for (config, at_most) in
        [(FULL, room), (YOUNG.min_heap(16 << 20), room), (PRECISE.limit(16 << 20), 16 << 20)]
    {
        const BUFFER: usize = 64 << 10;
        let heap = heap(config.concurrent(Concurrent::Off).background_release(false));
        heap.pace_by_bytes();
        let mutator = attach(&heap);
        let (node, mut roots) = (node_type(&heap), Slots::new(&heap, 8));
        let (mut bytes, mut most) = (0, 0);
        for i in 0..8000 {
            while next(&heap).is_some() {
                mutator.external(-(BUFFER as isize)).unwrap();
                bytes -= BUFFER;
            }
            mutator.external(BUFFER as isize).unwrap();
            bytes += BUFFER;
            most = most.max(bytes);
            roots.set(i % 8, new(&mutator, node));
            finalize(&mutator, roots.get(i % 8), i);
        }
        assert!(most <= at_most, "{most} bytes at once");
    }
}
