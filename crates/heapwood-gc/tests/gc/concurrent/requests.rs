//! Full collections that a thread asks for and waits for later (`start_collection`, `wait_for`): by the marker beside the program,
//! and where there is none. What is counted is exact; how far a collection has come when somebody looks is not.

use super::{BESIDE, count, stats, tree};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};
use heapwood_gc::settings::options::{Concurrent, Generational};
use heapwood_gc::{Config, FinalizeOrder, HeapBox, Misuse, Mutator};
use heapwood_gc_testing::*;

/// No collection comes but those that are asked for.
pub(super) const QUIET: Config = BESIDE.min_heap(1 << 30);
/// There is no marker.
const ALONE: Config = QUIET.concurrent(Concurrent::Off);
const DEPTH: usize = 10;
pub(super) const NODES: usize = (2 << DEPTH) - 1;

pub(super) fn live(heap: &HeapBox) -> usize {
    stats(heap).live_objects
}

pub(super) fn start_and_wait(mutator: &Mutator) {
    mutator.wait_for(mutator.start_collection().unwrap()).unwrap();
}

/// Two trees, of which one is dropped.
pub(super) fn grown<'h>(heap: &'h HeapBox, mutator: &Mutator) -> Slots<'h> {
    let mut roots = Slots::new(heap, 2 * (DEPTH + 2));
    for at in [0, DEPTH + 2] {
        tree(mutator, &mut roots, at, DEPTH);
        (at + 1..at + DEPTH + 2).for_each(|i| roots.set(i, 0));
    }
    roots.set(DEPTH + 2, 0);
    roots
}

#[test]
fn what_was_dropped_before_a_start_is_gone_when_it_was_waited_for() {
    for generational in [Generational::Always, Generational::Auto, Generational::Off] {
        let heap = heap(QUIET.generational(generational));
        let mutator = attach(&heap);
        let mut roots = grown(&heap, &mutator);
        let ticket = mutator.start_collection().unwrap();
        mutator.wait_for(ticket).unwrap();
        assert!(mutator.is_done(ticket).unwrap());
        assert_eq!((live(&heap), stats(&heap).concurrent_markings), (NODES, 1));
        assert_eq!(count(&heap, roots.get(0), DEPTH), NODES);
        // Waiting for it again is nothing.
        mutator.wait_for(ticket).unwrap();
        assert_eq!(stats(&heap).concurrent_markings, 1);
        roots.set(0, 0);
        start_and_wait(&mutator);
        assert_eq!((live(&heap), stats(&heap).concurrent_markings), (0, 2));
        assert_eq!(stats(&heap).concurrent_degenerated, 0);
        assert_valid(&heap);
    }
}

/// A heap of which so little is alive that its own collections stop it is asked all the same.
#[test]
fn the_marker_does_it_however_little_is_alive() {
    let heap = heap(QUIET.concurrent(Concurrent::Auto));
    let mutator = attach(&heap);
    let roots = grown(&heap, &mutator);
    start_and_wait(&mutator);
    let cores = heapwood_os::process::cores::available();
    assert_eq!((live(&heap), stats(&heap).concurrent_markings), (NODES, u64::from(cores > 1)));
    assert_eq!(count(&heap, roots.get(0), DEPTH), NODES);
}

/// What is dropped during a marking it may keep: so the one after it is waited for.
#[test]
fn a_marking_that_goes_on_is_not_what_is_asked_for() {
    for config in [QUIET, ALONE] {
        let heap = heap(config);
        let mutator = attach(&heap);
        let mut roots = grown(&heap, &mutator);
        let marking = mutator.incremental_marking();
        assert!(marking.begin().unwrap());
        roots.set(0, 0);
        let ticket = mutator.start_collection().unwrap();
        if config.concurrent == Concurrent::Off {
            assert!(marking.finish().unwrap());
            assert_eq!(live(&heap), NODES, "what was dropped floats");
        }
        mutator.wait_for(ticket).unwrap();
        assert_eq!(live(&heap), 0);
        assert_eq!(stats(&heap).concurrent_markings, 1 + u64::from(config.concurrent == Concurrent::On));
    }
}

#[test]
fn whoever_waits_collects_where_nobody_else_does() {
    let alone = [
        ALONE,
        ALONE.generational(Generational::Always),
        ALONE.stress(true),
        QUIET.concurrent(Concurrent::Auto).background_release(false),
        BY_SIGNALS.min_heap(1 << 30),
    ];
    for config in alone {
        let heap = heap(config);
        let mutator = attach(&heap);
        let roots = grown(&heap, &mutator);
        let before = stats(&heap);
        start_and_wait(&mutator);
        let after = stats(&heap);
        assert_eq!((after.collections, after.concurrent_markings), (before.collections + 1, 0));
        // Words on a stack may keep something of the other tree.
        assert!(config.conservative_stacks || after.live_objects == NODES);
        assert_eq!(count(&heap, roots.get(0), DEPTH), NODES);
    }
}

/// A program that neither allocates nor waits, but asks now and then: somebody collects.
#[test]
fn whoever_asks_whether_it_is_done_hears_that_some_day() {
    let by_signals = BY_SIGNALS.min_heap(1 << 30);
    for config in [QUIET, ALONE, ALONE.generational(Generational::Always), by_signals] {
        let heap = heap(config);
        let mutator = attach(&heap);
        let roots = grown(&heap, &mutator);
        for number in 1..4 {
            let ticket = mutator.start_collection().unwrap();
            let asks = || mutator.is_done(ticket).unwrap();
            let beside = config.concurrent == Concurrent::On;
            if beside {
                // It is no pause: the marker's stops come when the thread blocks or polls.
                while !asks() {
                    mutator.blocking(std::thread::yield_now).unwrap();
                }
            } else {
                assert!(asks(), "nobody else would collect");
            }
            let stats = stats(&heap);
            assert_eq!(stats.collections - stats.young_collections, number);
            assert_eq!(stats.concurrent_markings, if beside { number } else { 0 });
            assert!(config.conservative_stacks || stats.live_objects == NODES);
            assert!(asks() && heap.inspect().stats().collections == stats.collections);
        }
        assert_eq!(count(&heap, roots.get(0), DEPTH), NODES);
    }
}

/// The child has no marker, and perhaps half of a marking, or a request that the parent's marker has taken.
#[test]
fn a_child_waits_for_what_its_parent_has_asked_for() {
    in_child(|| {
        for config in [QUIET, ALONE] {
            let heap = heap(config);
            let mutator = attach(&heap);
            let mut roots = grown(&heap, &mutator);
            for round in 0..30 {
                roots.set(1, new(&mutator, node_type(&heap)));
                roots.set(1, 0);
                let ticket = mutator.start_collection().unwrap();
                (0..round * 20).for_each(|_| std::hint::spin_loop());
                let waits = || {
                    mutator.wait_for(ticket).unwrap();
                    assert_eq!(live(&heap), NODES);
                    assert_eq!(count(&heap, roots.get(0), DEPTH), NODES);
                    start_and_wait(&mutator);
                    assert_eq!(live(&heap), NODES);
                    7
                };
                assert_eq!(forked(waits), 7 << 8);
                mutator.wait_for(ticket).unwrap();
                assert_eq!(live(&heap), NODES);
            }
        }
    });
}

#[test]
fn nobody_need_wait_and_the_heap_may_go() {
    for _ in 0..20 {
        let heap = heap(QUIET);
        let mutator = attach(&heap);
        let _roots = grown(&heap, &mutator);
        mutator.start_collection().unwrap();
    }
}

#[test]
fn misuse_is_refused() {
    for config in [QUIET, ALONE] {
        let [heap, other] = [config; 2].map(heap);
        let (mutator, others) = (attach(&heap), attach(&other));
        let ticket = mutator.start_collection().unwrap();
        assert_eq!(others.wait_for(ticket), Err(Misuse::NoTicket));
        assert_eq!(others.is_done(ticket), Err(Misuse::NoTicket));
        assert!(Misuse::NoTicket.to_string().contains("not one of this heap"));
        let inside = || {
            assert_eq!(mutator.start_collection(), Err(Misuse::InNative));
            assert_eq!(mutator.wait_for(ticket), Err(Misuse::InNative));
            assert_eq!(mutator.is_done(ticket), Err(Misuse::InNative));
        };
        mutator.blocking(inside).unwrap();
        mutator.wait_for(ticket).unwrap();
    }
}

/// Threads ask and wait while others allocate: each gets what it waits for.
#[test]
fn threads_ask_while_others_allocate() {
    const ROUNDS: usize = 25;
    for (concurrent, verify) in [(Concurrent::On, false), (Concurrent::On, true), (Concurrent::Off, false)] {
        let heap = heap(BESIDE.concurrent(concurrent).verify(verify));
        let left = AtomicU64::new(4);
        std::thread::scope(|scope| {
            for seed in 0..2 {
                let (heap, left) = (&heap, &left);
                scope.spawn(move || {
                    while left.load(Ordering::Relaxed) != 0 {
                        build_and_check(heap, seed, 4, usize::MAX);
                    }
                });
            }
            for number in 0..4 {
                let (heap, left) = (&heap, &left);
                scope.spawn(move || {
                    let mutator = attach(heap);
                    // The last of those who ask ends the others.
                    let _left = Over(|| _ = left.fetch_sub(1, Ordering::Relaxed));
                    let (own, queue) =
                        (masked(heap, 32 + 8 * number, &[0]), heap.new_finalizer_queue().unwrap());
                    let mut roots = Slots::new(heap, 1);
                    for round in 0..ROUNDS {
                        roots.set(0, new(&mutator, own));
                        put(roots.get(0), 2, round);
                        // A collection that began after the thread has asked finds it dead, and tells.
                        let dropped = NonNull::new(new(&mutator, own) as *mut u8).unwrap();
                        mutator.finalize(dropped, queue, FinalizeOrder::AtOnce, round).unwrap();
                        let ticket = mutator.start_collection().unwrap();
                        mutator.wait_for(ticket).unwrap();
                        assert!(mutator.is_done(ticket).unwrap());
                        let told = mutator.next_finalized(queue).unwrap().map(|entry| entry.tag);
                        assert_eq!(told, Some(round), "{concurrent:?} {verify} {number}");
                        assert!(lives(heap, roots.get(0)) && get(roots.get(0), 2) == round);
                    }
                });
            }
        });
        assert!(stats(&heap).collections >= ROUNDS as u64, "{:?}", stats(&heap));
        assert_eq!(stats(&heap).barrier_violations, 0);
        assert_valid(&heap);
    }
}
