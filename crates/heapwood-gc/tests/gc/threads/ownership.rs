//! What threads own and do not use: little, whether they are few or many, busy or idle, and however many shapes they
//! allocate; and what a leaving thread held is used again at once.

use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_gc::{Attached, Config, Heap, Mutator, ObjectType};
use heapwood_gc_testing::*;
use heapwood_heap::Sweeping;
use heapwood_layout::TypeDescriptor;
use heapwood_pages::PAGE_SIZE;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

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

/// What mutators may own without use: a twentieth of the heap, which is as large as it may become before its next collection, or
/// is still if that is more.
fn bound(threads: usize, heap: &Heap) -> usize {
    let stats = heap.inspect().stats();
    (threads * (256 << 10)).max(stats.in_use_bytes.max(stats.goal_bytes) / 20)
}

/// What they do own without use. All other threads are blocked.
fn unused(heap: &Heap) -> usize {
    // SAFETY: no other thread runs.
    unsafe { heap.inspect().owned_unused_bytes() }
}

/// Runs `threads` threads that each attach and call `f` with their number, and then wait in a blocking region until `look`
/// has been called in a thread that is not attached.
fn blocked(heap: &Heap, threads: usize, f: impl Fn(&Mutator, usize) + Sync, look: impl FnOnce()) {
    let (ready, done) = (Barrier::new(threads + 1), Barrier::new(threads + 1));
    std::thread::scope(|scope| {
        for number in 0..threads {
            let (f, ready, done) = (&f, &ready, &done);
            let small = std::thread::Builder::new().stack_size(128 << 10);
            small
                .spawn_scoped(scope, move || {
                    let mutator = attach(heap);
                    f(&mutator, number);
                    mutator
                        .blocking(|| {
                            ready.wait();
                            done.wait();
                        })
                        .unwrap();
                })
                .unwrap();
        }
        ready.wait();
        let looked = catch_unwind(AssertUnwindSafe(look));
        done.wait();
        looked.unwrap_or_else(|panic| resume_unwind(panic));
    });
}

/// Sixty-four of them held 31 MiB.
#[test]
fn idle_threads_with_a_few_objects_of_many_shapes_own_little() {
    for (threads, objects) in [(2, 30), (2, 3000), (16, 30), (64, 30), (64, 300)] {
        // A twentieth of this heap is less than one thread may hold. Two threads allocate too little for a collection.
        let heap = heap(FULL.min_heap(4 << 20));
        let types = thirty_shapes(&heap);
        let allocate = |mutator: &Mutator, _| {
            for i in 0..objects {
                new(mutator, types[i % types.len()]);
            }
        };
        blocked(&heap, threads, allocate, || {
            let (unused, mut bound) = (unused(&heap), bound(threads, &heap));
            if threads == 2 {
                assert_eq!(heap.inspect().stats().collections, 0);
            } else if heap.inspect().stats().collections != 0 {
                // A thread that had blocked keeps spans where all its objects have died.
                bound += threads * (0..objects).map(|i| types[i % types.len()].size()).sum::<usize>();
            }
            println!("{threads} threads, {objects} objects each: {unused} bytes unused of {bound} allowed");
            assert!(
                unused <= bound,
                "{threads} threads with {objects} objects each own {unused} bytes unused"
            );
        });
    }
}

/// A collection by another thread adds what died in the spans that a thread keeps: no more than its share again.
#[test]
fn a_collection_adds_no_more_than_a_share_to_what_a_blocked_thread_owns() {
    const SHARE: usize = 256 << 10;
    let heap = heap(FULL.min_heap(4 << 20));
    // Each has a span of its own, which is nearly full.
    let types: Vec<_> = (0..100).map(|i| masked(&heap, 64, &[i % 60, 60 + i / 60])).collect();
    let in_a_span = PAGE_SIZE / types[0].size();
    let allocate = |mutator: &Mutator, _| {
        types.iter().for_each(|&ty| make(mutator, ty, (2 * in_a_span - 1) * ty.size()));
    };
    blocked(&heap, 1, allocate, || {
        let before = unused(&heap);
        assert!(before <= SHARE + PAGE_SIZE, "{before} bytes unused");
        assert_eq!(heap.inspect().stats().collections, 0);
        attach(&heap).collect().unwrap();
        let after = unused(&heap);
        println!("{before} bytes unused before the collection, {after} behind it");
        assert!(after <= 2 * (SHARE + PAGE_SIZE), "{after} bytes unused after a collection");
    });
    heap.memory().finish_sweep();
    assert_valid(&heap);
}

/// A second after they block, what they hold has been taken from them.
#[test]
#[ignore = "of the long suite: within ten seconds"]
fn a_thousand_blocked_threads_hold_under_32_mib() {
    let heap = heap(QUIET);
    let types = thirty_shapes(&heap);
    let allocate = |mutator: &Mutator, _| {
        types.iter().for_each(|&ty| make(mutator, ty, ty.size()));
    };
    blocked(&heap, 1000, allocate, || {
        let begun = Instant::now();
        let mut held = unused(&heap);
        println!("{held} bytes unused at first");
        // Behaviour, not time: it need only come about.
        while held >= 32 << 20 && begun.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(50));
            held = unused(&heap);
        }
        assert!(held < 32 << 20, "a thousand blocked threads hold {held} bytes unused");
    });
}

/// Threads that build, drop and build again, in a heap of spans that are partly free; looked at while they are in the
/// middle of it.
#[test]
#[ignore = "of the long suite: a bound on bytes, where the clock decides when it is collected"]
fn busy_threads_of_many_shapes_own_little() {
    for threads in [1, 2, 8, 32] {
        let heap = heap(PRECISE.min_heap(4 << 20).percent(100));
        let types = thirty_shapes(&heap);
        let (rounds, each) = (12, 60_000 / threads);
        let (meeting, looked) = (Barrier::new(threads), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for number in 0..threads {
                let (heap, types, meeting, looked) = (&*heap, &types, &meeting, &looked);
                scope.spawn(move || {
                    let mutator = attach(heap);
                    let mut kept = Slots::new(heap, each / 4);
                    let mut rng = Rng::new(number as u64);
                    for round in 0..rounds {
                        for _ in 0..each {
                            let object = new(&mutator, types[rng.below(types.len())]);
                            kept.set(rng.below(each / 4), object);
                        }
                        mutator
                            .blocking(|| {
                                meeting.wait();
                                if number == 0 {
                                    // And a span, and what died in the spans of its shapes: thirty, and those of
                                    // six size classes that rare shapes share.
                                    let died = threads * (1 + types.len() + 6) * PAGE_SIZE;
                                    let (unused, bound) = (unused(heap), bound(threads, heap) + died);
                                    looked.lock().unwrap().push((round, unused, bound));
                                }
                                meeting.wait();
                            })
                            .unwrap();
                    }
                });
            }
        });
        let looked = looked.into_inner().unwrap();
        println!("{threads} threads: round, unused bytes, bound: {looked:?}");
        assert!(looked.iter().all(|&(_, unused, bound)| unused <= bound), "{threads} threads: {looked:?}");
    }
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

/// Every span that a collection leaves is swept once before the next, whoever comes first: threads that allocate, the heap's own
/// thread, or the thread that collects.
#[test]
fn each_span_is_swept_once_a_cycle() {
    for background in [false, true] {
        let heap = heap(QUIET.background_release(background));
        let types = thirty_shapes(&heap);
        let mutator = attach(&heap);
        let swept = || {
            let by = |who| heap.space().reclaim_clock().swept_by(who);
            by(Sweeping::Allocation) + by(Sweeping::Background) + by(Sweeping::Collector)
        };
        let mut before = 0;
        for cycle in 0..6 {
            mutator
                .blocking(|| {
                    std::thread::scope(|scope| {
                        for number in 0..3 {
                            let (heap, types) = (&*heap, &types);
                            scope.spawn(move || {
                                let mutator = attach(heap);
                                for (i, &ty) in types.iter().enumerate().skip(number) {
                                    make(&mutator, ty, (1 + i % 5) << 16);
                                }
                            });
                        }
                    });
                })
                .unwrap();
            // All that there is now is unswept when the marking ends.
            let mut spans = 0;
            // SAFETY: no other thread uses the heap, and the token is dropped at once.
            unsafe { heap.inspect().stopped() }.for_each_span(|_, _| spans += 1);
            mutator.collect().unwrap();
            heap.memory().finish_sweep();
            let begun = Instant::now();
            // What the heap's own thread has in hand is told in a moment.
            while swept() - before < spans && begun.elapsed() < Duration::from_secs(60) {
                std::thread::yield_now();
            }
            let so_far = swept() - before;
            println!("background {background}, cycle {cycle}: {so_far} swept, {spans} spans");
            before += so_far;
            assert_eq!(so_far, spans, "spans of cycle {cycle}");
        }
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
