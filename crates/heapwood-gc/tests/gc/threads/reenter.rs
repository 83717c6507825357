//! Blocking regions that a thread re-enters its heap from: nested, with the words around the region and in it as roots, while
//! others collect; and what is refused.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heapwood_gc::{Config, Misuse, Mutator, ObjectType};
use heapwood_gc_testing::*;
use std::hint::black_box;

const WAYS: [Config; 4] = [
    FULL.conservative_stacks(true),
    YOUNG.conservative_stacks(true).verify(true),
    BY_SIGNALS,
    BY_SIGNALS.verify(true),
];

/// Makes lists on each floor, and goes down: a region, and the heap again inside it.
#[inline(never)]
fn go_down(m: &Mutator, node: ObjectType, floors: usize) {
    let list = |seed| {
        let mut head = black_box(0);
        extend_list(m, node, 30, seed, |new| {
            new.inspect(|&new| head = new);
            head
        });
        black_box(head)
    };
    let around = list(floors);
    m.blocking(|| {
        assert_eq!(m.check(), Err(Misuse::InNative));
        std::thread::yield_now();
        m.reenter(|| {
            assert_eq!(m.check(), Ok(()));
            let inside = list(100 + floors);
            m.collect().unwrap();
            if floors > 0 {
                go_down(m, node, floors - 1);
            }
            m.reenter(|| m.collect_young().unwrap()).unwrap();
            (0..50).for_each(|_| put(new(m, node), 2, usize::MAX));
            check_list(black_box(inside), 30, 100 + floors);
            check_list(black_box(around), 30, floors);
        })
        .unwrap();
        assert_eq!(m.check(), Err(Misuse::InNative));
        assert!(m.collect().is_err());
        std::thread::yield_now();
        // Once more, after others may have collected.
        m.reenter(|| check_list(black_box(around), 30, floors)).unwrap();
    })
    .unwrap();
    (0..50).for_each(|_| put(new(m, node), 2, usize::MAX));
    check_list(black_box(around), 30, floors);
}

#[test]
fn a_region_is_left_for_a_while_again_and_again() {
    for config in WAYS {
        let heap = heap(config);
        let (steps, end) = (AtomicUsize::new(0), AtomicBool::new(false));
        watched(&steps, || {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !end.load(Ordering::Relaxed) {
                        heap.collect().unwrap();
                    }
                });
                let threads = [0, 1].map(|_| {
                    scope.spawn(|| {
                        let m = attach(&heap);
                        let node = node_type(&heap);
                        for _ in 0..30 {
                            go_down(&m, node, 4);
                            steps.fetch_add(1, Ordering::Relaxed);
                        }
                    })
                });
                let results = threads.map(|thread| thread.join());
                end.store(true, Ordering::Relaxed);
                results.into_iter().for_each(|result| result.unwrap());
            });
        });
        assert_swept_and_valid(&heap);
    }
}

/// Collections go on without a thread that has gone back into its region, and wait for one that has re-entered.
#[test]
fn a_region_goes_on_after_a_panic_inside() {
    for config in WAYS {
        let heap = heap(config);
        let m = attach(&heap);
        m.blocking(|| {
            let thrown = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                m.reenter(|| std::panic::resume_unwind(Box::new(7))).unwrap()
            }));
            assert!(thrown.is_err());
            assert_eq!(m.check(), Err(Misuse::InNative));
            // Somebody else can collect.
            std::thread::scope(|scope| scope.spawn(|| heap.collect().unwrap()).join().unwrap());
        })
        .unwrap();
        assert_eq!(m.check(), Ok(()));
        m.collect().unwrap();
    }
}

#[test]
fn both_heaps_of_a_thread_are_entered_again_or_none() {
    let heaps = [0, 1, 2].map(|_| heap(FULL));
    let [a, b] = [0, 1].map(|i| attach(&heaps[i]));
    a.blocking(|| {
        // By either.
        for m in [&a, &b] {
            m.reenter(|| {
                a.collect().unwrap();
                b.collect().unwrap();
            })
            .unwrap();
        }
        // A heap that came meanwhile is in use.
        let c = attach(&heaps[2]);
        assert_eq!(a.reenter(|| ()), Err(Misuse::InNative));
        c.blocking(|| {
            assert_eq!(a.reenter(|| ()), Err(Misuse::InNative));
            c.reenter(|| c.collect().unwrap()).unwrap();
        })
        .unwrap();
        c.collect().unwrap();
        drop(c);
        a.reenter(|| a.collect().unwrap()).unwrap();
    })
    .unwrap();
    assert_eq!((a.check(), b.check()), (Ok(()), Ok(())));
    // Another thread's region is not this one's.
    std::thread::scope(|scope| {
        let mutator = &raw const *a as usize;
        let refused = scope.spawn(move || {
            // SAFETY: it is attached.
            unsafe { &*(mutator as *const Mutator) }.reenter(|| ())
        });
        assert_eq!(a.blocking(|| refused.join().unwrap()), Ok(Err(Misuse::OtherThread)));
    });
}
