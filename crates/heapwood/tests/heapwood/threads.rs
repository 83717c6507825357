//! Threads: attaching and detaching, allocation and collection on many of them at once, blocking, and long loops
//! that poll.

use crate::common::*;
use heapwood::{Config, Gc, HeapError, Mutator, Slice};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// Builds, drops, changes and checks objects.
fn work(m: &Mutator, seed: u64, rounds: u64) {
    let kept = list(m, 200);
    let table: Gc<Slice<heapwood::GcCell<Option<Gc<Node>>>>> =
        m.alloc_slice(64, |_| heapwood::GcCell::new(None));
    for round in 0..rounds {
        let slot = &table[(seed.wrapping_mul(31) + round) as usize % 64];
        if let Some(old) = slot.get() {
            assert_eq!(old.value, seed);
        }
        slot.set(m, Some(node(m, seed, list(m, round % 50))));
        m.alloc_slice(round as usize % 200, |i| i as u8);
        if round % 97 == seed % 97 {
            m.collect();
        }
    }
    assert_list(kept, 200);
    for old in table.iter().filter_map(|slot| slot.get()) {
        assert_eq!(old.value, seed);
        let n = old.next.get().map_or(0, |first| first.value + 1);
        assert_list(old.next.get(), n);
    }
}

fn many(config: Config, threads: u64, rounds: u64) {
    let heap = heap(config);
    let together = Barrier::new(threads as usize);
    thread::scope(|s| {
        for seed in 0..threads {
            let (heap, together) = (heap.clone(), &together);
            s.spawn(move || {
                together.wait();
                for part in 0..3 {
                    let m = heap.attach().unwrap();
                    work(&m, seed * 10 + part, rounds / 3);
                }
            });
        }
    });
    let stats = heap.stats();
    assert!(stats.collections > 0 && stats.barrier_violations == 0, "{stats:?}");
}

#[test]
fn threads_allocate_and_collect_at_once() {
    many(SMALL, 8, 3000);
}

#[test]
fn threads_allocate_and_collect_in_verify_mode() {
    many(VERIFY, 4, 300);
}

#[test]
fn threads_allocate_and_collect_in_stress_mode() {
    many(STRESS, 3, 15);
}

#[test]
fn threads_attach_and_end() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let kept = list(&m, 1000);
    for round in 0..50 {
        let threads: Vec<_> = (0..4)
            .map(|i| {
                let heap = heap.clone();
                thread::spawn(move || {
                    let m = heap.attach().unwrap();
                    assert_list(list(&m, 100 + i), 100 + i);
                    if i == round % 4 {
                        m.collect();
                    }
                })
            })
            .collect();
        m.blocking(|| threads.into_iter().for_each(|t| t.join().unwrap()));
    }
    scrub();
    m.collect();
    assert_list(kept, 1000);
    assert!(heap.stats().live_objects < 3000, "threads that ended keep nothing alive");
}

#[test]
fn collections_do_not_wait_for_a_blocked_thread() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let kept = list(&m, 1000);
    let result = m.blocking(|| {
        let theirs = heap.clone();
        thread::spawn(move || {
            let m = theirs.attach().unwrap();
            (0..20).for_each(|_| m.collect());
            assert_list(list(&m, 50_000), 50_000);
        })
        .join()
        .unwrap();
        "done"
    });
    assert_eq!(result, "done");
    assert!(heap.stats().collections >= 20);
    assert_list(kept, 1000);
}

#[test]
fn a_panic_ends_a_blocking_region() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let kept = list(&m, 100);
    assert_eq!(panic_message(|| m.blocking(|| panic!("interrupted"))), "interrupted");
    m.collect();
    assert_list(kept, 100);
    m.blocking(|| {
        let theirs = heap.clone();
        thread::spawn(move || theirs.attach().unwrap().collect()).join().unwrap();
    });
    assert_eq!(heap.stats().collections, 2);
}

#[test]
fn a_loop_that_polls_lets_others_collect() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let kept = list(&m, 1000);
    let (done, turns) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|s| {
        s.spawn(|| {
            let m = heap.attach().unwrap();
            (0..50).for_each(|_| m.collect());
            done.store(true, Ordering::Relaxed);
        });
        while !done.load(Ordering::Relaxed) {
            turns.fetch_add(1, Ordering::Relaxed);
            m.safepoint();
        }
        m.blocking(|| ());
    });
    assert!(heap.stats().collections >= 50);
    assert_list(kept, 1000);
}

#[test]
fn a_thread_is_attached_to_a_heap_once_at_a_time() {
    let (one, other) = (heap(SMALL), heap(SMALL));
    let m = one.attach().unwrap();
    let refused = one.clone().attach().unwrap_err();
    assert_eq!(refused, HeapError::AttachedAlready);
    assert!(refused.to_string().contains("with_mutator"), "{refused}");
    assert_eq!(one.with_mutator(|m| *m.alloc(7u64)), Ok(7));
    // To another heap it can be, and to this one again later.
    let theirs = other.attach().unwrap();
    theirs.collect();
    m.collect();
    drop((m, theirs));
    one.attach().unwrap().collect();
    assert_eq!((one.stats().collections, other.stats().collections), (2, 1));
}

/// Calls `f` on a stack of its own.
#[cfg(target_arch = "x86_64")]
fn on_another_stack(f: &mut dyn FnMut()) {
    on_stack(&mut vec![0u128; 1 << 16], f);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_collection_on_an_unknown_stack_is_an_error() {
    let heap = heap(Config::default());
    let m = heap.attach().unwrap();
    let words = |f: &dyn Fn()| {
        let mut words = String::new();
        on_another_stack(&mut || {
            words = panic_message(f);
        });
        words
    };
    assert!(words(&|| m.collect()).contains("the thread runs on another stack"));
    assert!(words(&|| m.blocking(|| ())).contains("the thread runs on another stack"));
    // Polls and allocations that need no collection go on there, and on the thread's own stack all does.
    on_another_stack(&mut || {
        m.safepoint();
        assert_eq!(*m.alloc(7u64), 7);
    });
    m.collect();
    m.blocking(|| ());
}

#[test]
fn a_callback_attaches_its_thread_for_the_call() {
    let heap = heap(VERIFY);
    for _ in 0..3 {
        let length = heap.with_mutator(|m| {
            let kept = list(m, 100);
            // The same mutator, in a call inside the call.
            heap.with_mutator(|inner| assert!(std::ptr::eq(inner, m))).unwrap();
            m.collect();
            assert_list(kept, 100);
            heap.stats().threads
        });
        assert_eq!((length.unwrap(), heap.stats().threads), (1, 0));
    }
    let m = heap.attach().unwrap();
    heap.with_mutator(|same| assert!(std::ptr::eq(same, &*m))).unwrap();
    assert_eq!(heap.stats().threads, 1);
    let theirs = heap.clone();
    let thread = thread::spawn(move || theirs.with_mutator(|m| *m.alloc(7u64)).unwrap());
    assert_eq!(m.blocking(|| thread.join()).unwrap(), 7);
}

#[test]
fn a_callback_inside_a_blocking_region_uses_the_heap() {
    let heap = heap(VERIFY);
    let m = heap.attach().unwrap();
    let kept = m.root(m.alloc(list(&m, 100)));
    let sums: Vec<u64> = (0..3)
        .map(|n| {
            let (theirs, kept) = (heap.clone(), &kept);
            m.blocking(move || {
                let sum = theirs.with_mutator(|m| {
                    let new = list(m, 50);
                    m.collect();
                    assert_list(new, 50);
                    assert_list(*kept.get(m), 100);
                    // Regions nest, and so do callbacks.
                    m.blocking(|| theirs.with_mutator(|m| *m.alloc(n)).unwrap())
                });
                // The region goes on: another thread collects without this one.
                let collector = theirs.clone();
                thread::spawn(move || collector.attach().unwrap().collect()).join().unwrap();
                sum.unwrap()
            })
        })
        .collect();
    assert_eq!((sums, heap.stats().threads), (vec![0, 1, 2], 1));
    assert_list(*kept.get(&m), 100);
}

#[test]
fn a_mutator_stays_attached_while_a_callback_uses_it() {
    let heap = heap(VERIFY);
    let m = heap.attach().unwrap();
    heap.with_mutator(|used| {
        drop(m);
        let kept = list(used, 100);
        used.collect();
        assert_list(kept, 100);
        heap.with_mutator(|same| same.collect()).unwrap();
        assert_eq!(heap.stats().threads, 1);
    })
    .unwrap();
    assert_eq!(heap.stats().threads, 0);
    heap.attach().unwrap().collect();
}

#[test]
#[cfg(target_arch = "x86_64")]
fn announced_stacks_are_scanned() {
    for stop in [heapwood::Stop::Polls, heapwood::Stop::Signals] {
        let heap = heap(VERIFY.stop(stop));
        let m = heap.attach().unwrap();
        let mut memory = vec![0u128; 1 << 16];
        let range = memory.as_mut_ptr_range();
        // SAFETY: the memory is used until the end of the turn.
        let stack = unsafe { heap.add_stack(range.start.cast()..range.end.cast()) }.unwrap();
        let (own, ended) = (list(&m, 100), AtomicBool::new(false));
        // A block for the new thread has unused words in it, which the compiler may copy from the stack.
        scrub();
        let mut on_it = || {
            let theirs = list(&m, 200);
            for _ in 0..3 {
                m.collect();
                m.blocking(scrub);
            }
            assert_list(own, 100);
            assert_list(theirs, 200);
            // SAFETY: the thread returns to its own stack next.
            unsafe { m.announce_stack(None, (&raw const theirs).cast()) }.unwrap();
        };
        thread::scope(|scope| {
            let collector = scope.spawn(|| {
                let m = heap.attach().unwrap();
                while !ended.load(Ordering::Relaxed) {
                    m.collect();
                }
            });
            // The collector beats this thread to the next collection about a hundred times in each turn.
            for _ in 0..5 {
                // SAFETY: `on_it` announces the way back.
                unsafe { m.switch_stack(Some(&stack), || on_stack(&mut memory, &mut on_it)) }.unwrap();
                m.collect();
                assert_list(own, 100);
            }
            ended.store(true, Ordering::Relaxed);
            m.blocking(|| collector.join()).unwrap();
        });
        let other = crate::common::heap(VERIFY);
        let theirs = other.attach().unwrap();
        // SAFETY: it is refused, and nothing is jumped to.
        let refused = panic_message(|| unsafe { theirs.switch_stack(Some(&stack), || ()) }.unwrap());
        assert!(refused.contains("another heap"), "{refused}");
        // SAFETY: it stays where it is, and the memory outlives the heap's last collection.
        unsafe { m.announce_stack(Some(&stack), (&raw const refused).cast()) }.unwrap();
        let refused = panic_message(|| drop(stack));
        assert!(refused.contains("a thread is on the stack"), "{refused}");
    }
}
