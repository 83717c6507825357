//! Threads that are attached to several heaps: while a thread waits in one, to collect, to be stopped or to attach, it keeps
//! nobody waiting in another; a thread that blocks is blocked in all; and what it holds in each is found.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use heapwood_gc::{AllocError, Config, Heap, HeapBox, Misuse, Mutator};
use heapwood_gc_testing::*;
use std::sync::mpsc::channel;

/// Two threads, both attached to the same two heaps, each of which collects one, and both, and attaches anew in between. The heaps stop
/// threads by polls, one of them by signals, or both, by different ones.
#[test]
fn two_threads_may_collect_two_heaps() {
    let (polls, signals) = (PRECISE.verify(true), BY_SIGNALS.stop_signal(libc::SIGUSR2 as u32));
    for configs in [[PRECISE, PRECISE], [polls, polls], [polls, signals], [BY_SIGNALS, signals]] {
        two_threads_collect(configs);
    }
}

fn two_threads_collect(configs: [Config; 2]) {
    let (heaps, steps) = (configs.map(heap), AtomicUsize::new(0));
    watched(&steps, || {
        std::thread::scope(|scope| {
            for t in 0..2 {
                let (heaps, steps) = (&heaps, &steps);
                scope.spawn(move || (0..4).for_each(|part| collect_in_turn(heaps, t, part, steps)));
            }
        });
    });
    for heap in &heaps {
        assert_eq!(heap.mutators(), 0);
        assert!(heap.inspect().stats().collections >= 100);
        assert_swept_and_valid(heap);
    }
}

fn collect_in_turn(heaps: &[HeapBox; 2], t: usize, part: usize, steps: &AtomicUsize) {
    let mutators = [0, 1].map(|h| attach(&heaps[h]));
    let mut frames = [0, 1].map(|h| Framed::<1>::new(&mutators[h]));
    for round in 0..50 {
        for h in [t, 1 - t] {
            frames[h].set(0, 0);
            frames[h].extend_list(0, node_type(&heaps[h]), 20, round << 8 | t);
        }
        // The one that the other does not collect; every third time both collect the same.
        let mine = if round % 3 == 2 { part % 2 } else { t };
        mutators[mine].collect().unwrap();
        match round % 4 {
            0 => mutators[1 - t].blocking(|| ()).unwrap(),
            1 => mutators.iter().for_each(|m| m.safepoint()),
            _ => {}
        }
        frames.iter().for_each(|frame| check_list(frame.get(0), 20, round << 8 | t));
        steps.fetch_add(1, Ordering::Relaxed);
    }
}

/// A thread of many heaps that allocates in one of them keeps none of the others waiting: it looks at a few each time, and so at each
/// before long.
#[test]
fn a_thread_answers_for_all_of_many_heaps_where_it_allocates() {
    let heaps: Vec<_> = (0..40).map(|_| heap(FULL.address_space(16 << 20).min_heap(8 << 20))).collect();
    let steps = AtomicUsize::new(0);
    watched(&steps, || {
        std::thread::scope(|scope| {
            let (ask, asked) = channel::<usize>();
            let heaps = &heaps;
            scope.spawn(move || asked.iter().for_each(|k| heaps[k].collect().unwrap()));
            let mutators: Vec<_> = heaps.iter().map(|heap| attach(heap)).collect();
            let large = pointer_free(&heaps[20], 40 << 10);
            for k in 0..40 {
                // SAFETY: the word that machine code tests is a mutator's first.
                let poll = unsafe { &*core::ptr::from_ref::<Mutator>(&mutators[k]).cast::<AtomicU32>() };
                ask.send(k).unwrap();
                while poll.load(Ordering::Relaxed) == 0 {
                    std::thread::yield_now();
                }
                let mut looks = 0;
                while poll.load(Ordering::Relaxed) != 0 {
                    new(&mutators[20], large);
                    looks += 1;
                }
                assert!(looks <= 6, "it was looked at heap {k} at the {looks}th allocation");
                assert_eq!(heaps[k].inspect().stats().collections, 1);
                steps.fetch_add(1, Ordering::Relaxed);
            }
        });
    });
}

#[test]
fn a_thread_that_blocks_is_blocked_in_all_its_heaps() {
    let (one, other) = (heap(PRECISE), heap(PRECISE));
    let large = |heap: &Heap| pointer_free(heap, 100_000);
    let (here, there) = (attach(&one), attach(&other));
    let mut frame = Framed::<1>::new(&there);
    frame.set(0, new(&there, node_type(&other)));
    put(frame.get(0), 2, 5);
    let collect =
        |heap: &Heap| std::thread::scope(|s| s.spawn(|| attach(heap).collect().unwrap()).join().unwrap());
    here.blocking(|| {
        for (heap, mutator) in [(&one, &here), (&other, &there)] {
            // Nobody waits for this thread, which waits for them.
            collect(heap);
            assert_eq!(mutator.check(), Err(Misuse::InNative));
            assert_eq!(mutator.collect(), Err(Misuse::InNative));
            let refused = mutator.allocate(large(heap)).unwrap_err();
            assert_eq!(refused, AllocError::Misuse(Misuse::InNative));
            assert_eq!(mutator.blocking(|| 7), Ok(7), "regions nest");
        }
        // One that it attaches to inside the region it uses there.
        let third = heap(PRECISE);
        let guest = attach(&third);
        new(&guest, node_type(&third));
        guest.blocking(|| collect(&third)).unwrap();
        guest.collect().unwrap();
        collect(&other);
        assert_eq!(there.check(), Err(Misuse::InNative));
    })
    .unwrap();
    assert_eq!((here.check(), there.check()), (Ok(()), Ok(())));
    assert_eq!(get(frame.get(0), 2), 5);
    new(&here, node_type(&one));
}

/// A thread that is attached to no heap, or to another, collects one in which others run, and one in which nobody does.
#[test]
fn a_thread_without_a_mutator_collects() {
    let (one, other) = (heap(PRECISE), heap(PRECISE));
    let (steps, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut kept = Slots::new(&one, 1);
    kept.set(0, new(&attach(&one), node_type(&one)));
    one.collect().unwrap();
    assert_eq!((one.inspect().stats().live_objects, one.inspect().stats().collections), (1, 1));
    watched(&steps, || {
        std::thread::scope(|scope| {
            for t in 0..2 {
                let (one, other, steps, stop) = (&one, &other, &steps, &stop);
                scope.spawn(move || {
                    let mutator = attach([one, other][t]);
                    while !stop.load(Ordering::Relaxed) {
                        new(&mutator, node_type(mutator.heap()));
                        // The heap of the other thread, to which this one is not attached.
                        [other, one][t].collect().unwrap();
                        steps.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            for _ in 0..100 {
                one.collect().unwrap();
                other.collect().unwrap();
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
    let mutator = attach(&one);
    one.collect().unwrap();
    mutator.blocking(|| assert_eq!(one.collect(), Err(Misuse::InNative))).unwrap();
    assert_eq!(one.inspect().stats().live_objects, 1);
}

/// Where a thread waits, its stack is scanned by the collectors of all its heaps: an object that only a local variable of
/// it holds lives, in the heap it waits in and in the others.
#[test]
fn what_a_waiting_thread_holds_is_found_by_all_its_heaps() {
    let heaps = [(); 2].map(|()| heap(PRECISE.conservative_stacks(true)));
    for way in 0..3 {
        std::thread::scope(|scope| {
            let (holds, held) = channel();
            let (go_on, goes_on) = channel::<()>();
            let heaps = &heaps;
            scope.spawn(move || {
                let mutators = [0, 1].map(|h| attach(&heaps[h]));
                // Of one object nothing but these locals knows.
                let objects = [0, 1].map(|h| new(&mutators[h], node_type(&heaps[h])));
                objects.iter().for_each(|&object| put(object, 2, 77));
                let wait = || {
                    holds.send(()).unwrap();
                    let _ = goes_on.recv();
                };
                match way {
                    0 => mutators[0].blocking(wait).unwrap(),
                    1 => mutators[1].blocking(wait).unwrap(),
                    _ => {
                        holds.send(()).unwrap();
                        while goes_on.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
                            mutators.iter().for_each(|m| m.safepoint());
                        }
                    }
                }
                let objects = std::hint::black_box(objects);
                objects.iter().for_each(|&object| assert_eq!(get(object, 2), 77, "way {way}"));
            });
            held.recv().unwrap();
            for heap in heaps {
                let mutator = attach(heap);
                mutator.collect().unwrap();
                // What was lost would be handed out again.
                (0..10_000).for_each(|_| put(new(&mutator, node_type(heap)), 2, 1));
                mutator.collect().unwrap();
            }
            drop(go_on);
        });
    }
}

/// A signal of one heap may stop a thread in the barrier of another, and there holds no lock for which others wait in sections: they
/// would not stop, and the collection would not end.
#[test]
fn a_thread_that_is_stopped_in_the_barrier_of_another_heap_holds_up_nobody() {
    let polls = heap(PRECISE.conservative_stacks(true).verify(true));
    let signals = heap(BY_SIGNALS);
    let (done, steps) = (AtomicBool::new(false), AtomicUsize::new(0));
    watched(&steps, || {
        std::thread::scope(|scope| {
            let (polls, signals, done) = (&*polls, &*signals, &done);
            for stores in [true, false] {
                scope.spawn(move || {
                    let (mutator, _other) = (attach(polls), attach(signals));
                    let node = node_type(polls);
                    let mut frame = Framed::<1>::new(&mutator);
                    frame.set(0, new(&mutator, node));
                    while !done.load(Ordering::Relaxed) {
                        mutator.safepoint();
                        if stores {
                            link(&mutator, frame.get(0), 1, 0);
                        } else {
                            let object = NonNull::new(new(&mutator, node) as *mut u8).unwrap();
                            // SAFETY: nobody else knows of the object.
                            unsafe { mutator.free(object) }.unwrap();
                        }
                    }
                });
            }
            for _ in 0..if is_thorough() { 6000 } else { 800 } {
                signals.collect().unwrap();
                steps.fetch_add(1, Ordering::Relaxed);
            }
            done.store(true, Ordering::Relaxed);
        });
    });
}
