//! Threads that the program suspends: they stand still, wherever they were, while others collect, and go on whole. A collection never
//! waits for one.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heapwood_gc::{Client, Config};
use heapwood_gc_testing::*;
use std::hint::black_box;

const WAYS: [Config; 5] = [
    FULL.conservative_stacks(true),
    YOUNG.conservative_stacks(true).verify(true),
    BY_SIGNALS,
    BY_SIGNALS.verify(true),
    BY_SIGNALS.stress(true),
];

/// Says of a client's words whether they name this thread.
fn is(number: usize) -> impl Fn(&Client) -> bool {
    // SAFETY: the word is written once, before the test knows its thread.
    move |client| unsafe { client.get().cast::<usize>().read_volatile() } == number
}

const THREADS: usize = 3;

#[test]
fn they_stand_still_and_go_on() {
    for config in WAYS {
        let heap = heap(config);
        let rounds = if config.stress { 20 } else { 150 };
        let (steps, end, begun) = (AtomicUsize::new(0), AtomicBool::new(false), AtomicUsize::new(0));
        let turns = [const { AtomicUsize::new(0) }; THREADS];
        watched(&steps, || {
            std::thread::scope(|scope| {
                for (number, turn) in turns.iter().enumerate() {
                    let (heap, end, begun) = (&heap, &end, &begun);
                    scope.spawn(move || {
                        let m = attach(heap);
                        m.client_word().set(number + 1);
                        let node = node_type(heap);
                        let list = |seed, n| {
                            let mut head = black_box(0);
                            extend_list(&m, node, n, seed, |new| {
                                new.inspect(|&new| head = new);
                                head
                            });
                            black_box(head)
                        };
                        let kept = list(number, 200);
                        begun.fetch_add(1, Ordering::Relaxed);
                        while !end.load(Ordering::Relaxed) {
                            check_list(list(7, 20), 20, 7);
                            check_list(black_box(kept), 200, number);
                            m.blocking(std::thread::yield_now).unwrap();
                            // It may be suspended while it waits for another's collection.
                            if number == 1 {
                                m.collect().unwrap();
                            }
                            turn.fetch_add(1, Ordering::Relaxed);
                        }
                    });
                }
                let m = attach(&heap);
                let node = node_type(&heap);
                while begun.load(Ordering::Relaxed) < THREADS {
                    m.blocking(std::thread::yield_now).unwrap();
                }
                for round in 0..rounds {
                    let (number, outside) = (round % THREADS, round % 2 == 0);
                    let it = || is(number + 1);
                    let suspended = || heap.suspend(it()).unwrap();
                    assert!(if outside { m.blocking(suspended).unwrap() } else { suspended() });
                    assert_eq!(heap.is_suspended(it()), Ok(true));
                    let before = turns[number].load(Ordering::Relaxed);
                    m.collect().unwrap();
                    (0..100).for_each(|_| put(new(&m, node), 2, usize::MAX));
                    heap.memory_account().unwrap();
                    m.collect_young().unwrap();
                    assert_eq!(turns[number].load(Ordering::Relaxed), before, "it has gone on: {config:?}");
                    assert_eq!(heap.unsuspend(it()), Ok(true));
                    assert_eq!(heap.is_suspended(it()), Ok(false));
                    steps.fetch_add(1, Ordering::Relaxed);
                }
                for turn in &turns {
                    let before = turn.load(Ordering::Relaxed);
                    while turn.load(Ordering::Relaxed) == before {
                        m.blocking(std::thread::yield_now).unwrap();
                    }
                    steps.fetch_add(1, Ordering::Relaxed);
                }
                assert_eq!((heap.suspend(is(99)), heap.unsuspend(is(99))), (Ok(false), Ok(false)));
                end.store(true, Ordering::Relaxed);
            });
        });
        assert_swept_and_valid(&heap);
    }
}

/// A thread that suspends itself goes on when another lets it, one that is not attached.
#[test]
fn one_suspends_itself() {
    for config in WAYS {
        let heap = heap(config);
        let gone_on = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let m = attach(&heap);
                m.client_word().set(1);
                let node = node_type(&heap);
                let kept = black_box(new(&m, node));
                assert_eq!(heap.suspend(is(1)), Ok(true));
                gone_on.store(true, Ordering::Relaxed);
                assert!(m.find(black_box(kept)).is_some());
                m.collect().unwrap();
            });
            while heap.is_suspended(is(1)) != Ok(true) {
                std::thread::yield_now();
            }
            heap.collect().unwrap();
            assert!(!gone_on.load(Ordering::Relaxed));
            assert_eq!(heap.unsuspend(is(1)), Ok(true));
        });
        assert!(gone_on.load(Ordering::Relaxed));
    }
}
