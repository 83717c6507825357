//! Regions without collections: what is made in one lives until it ends, wherever its address is kept; what is due is owed; and what
//! would stop the thread there is refused.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use heapwood_gc::{AllocError, Config, Heap, MisuseError, Mutator};
use heapwood_gc_testing::*;
use heapwood_heap::Collection;
use std::sync::Barrier;

const MIB: usize = 1 << 20;

const WAYS: [Config; 5] = [
    FULL.conservative_stacks(false),
    FULL.conservative_stacks(false).verify(true),
    FULL.conservative_stacks(false).stress(true).verify(true),
    YOUNG.conservative_stacks(false).verify(true),
    YOUNG.conservative_stacks(false).stress(true),
];

/// Makes lists in a region, their heads in memory that nobody scans, and much garbage; and checks them before it ends.
pub(crate) fn visit(heap: &Heap, m: &Mutator, seed: usize) {
    let node = node_type(heap);
    m.begin_no_collection().unwrap();
    let heads: Box<[usize]> = (0..50)
        .map(|n| {
            let mut head = 0;
            extend_list(m, node, n, seed + n, |new| {
                new.inspect(|&new| head = new);
                head
            });
            head
        })
        .collect();
    (0..2 * MIB / 1024).for_each(|_| put(new(m, pointer_free(heap, 1024)), 0, usize::MAX));
    heads.iter().enumerate().for_each(|(n, &head)| check_list(head, n, seed + n));
    m.rest();
}

#[test]
fn what_is_made_in_a_region_lives_until_it_ends() {
    for config in WAYS {
        let heap = heap(config.min_heap(MIB));
        let m = attach(&heap);
        m.rest();
        let collections = || heap.inspect().stats().collections;
        for round in 0..5 {
            let before = collections();
            visit(&heap, &m, round);
            assert_eq!(collections(), before, "nothing is collected in a region, nor as it ends");
            assert!(m.collect_owed().unwrap(), "twice the budget was allocated");
            assert!(collections() > before && heap.debt() == 0);
            assert!(config.stress || !m.collect_owed().unwrap(), "it is owed once");
        }
        m.collect_resting(Collection::Full).unwrap();
        assert!(heap.inspect().stats().live_bytes < 64 << 10, "nothing is alive after a region");
        drop(m);
        assert_swept_and_valid(&heap);
    }
}

#[test]
fn what_would_stop_the_thread_is_refused() {
    let heap = heap(FULL.conservative_stacks(false).verify(true));
    let m = attach(&heap);
    let ty = pointer_free(&heap, 64);
    let inside = Err(MisuseError::NoCollection);
    assert_eq!(m.begin_no_collection(), inside, "it does not rest");
    assert_eq!(m.collect_owed(), Ok(false));
    assert_eq!(m.collect_resting(Collection::Full), inside);
    m.rest();
    assert!(matches!(m.allocate(ty), Err(AllocError::Misuse(MisuseError::InNative))));
    assert_eq!(m.collect(), Err(MisuseError::InNative));
    m.begin_no_collection().unwrap();
    let called = AtomicBool::new(false);
    assert_eq!(m.blocking(|| called.store(true, Ordering::Relaxed)), inside);
    assert_eq!(
        [m.collect(), m.collect_young(), m.begin_blocking(), m.collect_resting(Collection::Full)],
        [inside; 4]
    );
    assert_eq!(heap.collect(), inside);
    assert_eq!(m.walk(&mut |_, _, _| ()), inside);
    assert!(!called.load(Ordering::Relaxed));
    // A poll goes on, and so does an object of many pages, which others would not wait for elsewhere.
    m.safepoint_slow();
    m.allocate_zeroed(pointer_free(&heap, MIB)).unwrap();
    assert_eq!(m.begin_no_collection(), inside);
    m.rest();
    m.begin_no_collection().unwrap();
    m.rest();
    // It ends while it rests.
    drop(m);
    assert_swept_and_valid(&heap);
}

#[test]
#[should_panic(expected = "stops them by polls")]
fn signals_would_stop_a_thread_in_a_region() {
    let heap = heap(BY_SIGNALS);
    attach(&heap).rest();
}

/// A thread in a region of one heap waits for a collection of another, and blocks there; and a collector of the first waits for it.
#[test]
fn a_thread_that_waits_elsewhere_stays_in_its_region() {
    for config in WAYS {
        let [first, second] = [config, config].map(|config| heap(config.min_heap(MIB)));
        let (inside, collected) = (Barrier::new(2), AtomicU32::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let m = attach(&first);
                m.rest();
                for _ in 0..10 {
                    inside.wait();
                    m.collect_resting(Collection::Full).unwrap();
                    collected.fetch_add(1, Ordering::SeqCst);
                    inside.wait();
                }
            });
            let (m, other) = (attach(&first), attach(&second));
            m.rest();
            for round in 0..10 {
                m.begin_no_collection().unwrap();
                let hidden = hidden_object(&m, node_type(&first), round);
                inside.wait();
                while !m.is_wanted_outside() {
                    std::hint::spin_loop();
                }
                // The collector has asked; now this thread stops elsewhere.
                other.collect().unwrap();
                other.blocking(std::thread::yield_now).unwrap();
                other.blocking(|| attach(&heap(config)).collect().unwrap()).unwrap();
                other.reenter(|| other.collect_young().unwrap()).unwrap();
                (0..100).for_each(|_| put(new(&m, node_type(&first)), 2, 1));
                assert_eq!(
                    collected.load(Ordering::SeqCst) as usize,
                    round,
                    "a collection overlaps with a region"
                );
                assert!(is_alive(&first, !hidden), "{round}");
                m.rest();
                inside.wait();
            }
        });
        assert_swept_and_valid(&first);
        assert_swept_and_valid(&second);
    }
}

/// Threads visit, rest and collect one heap, as fast as they can.
#[test]
fn threads_visit_one_heap() {
    for config in WAYS {
        let heap = heap(config.min_heap(MIB));
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let heap = &heap;
                scope.spawn(move || {
                    let m = attach(heap);
                    m.rest();
                    for round in 0..6 {
                        visit(heap, &m, thread * 100 + round);
                        m.collect_owed().unwrap();
                        if round % 2 == 0 {
                            m.collect_resting([Collection::Full, Collection::Young][thread % 2]).unwrap();
                        }
                    }
                });
            }
        });
        assert_swept_and_valid(&heap);
    }
}
