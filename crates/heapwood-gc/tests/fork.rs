//! A process that forks in whatever its heaps are doing: each child, which has the thread that forked and no other, allocates,
//! collects, checks its heaps, starts threads that do the same, forks again, and ends. What it had kept is there; in the parent
//! nothing has changed. `HEAPWOOD_LONG=1` forks ten thousand children.

mod common;

use common::*;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heapwood_gc::options::Stop;
use heapwood_gc::{Config, Heap, Mutator};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How many children each test forks.
fn children() -> usize {
    let long = std::env::var_os("HEAPWOOD_LONG").is_some_and(|long| long == "1");
    if long { 2500 } else { 40 }
}

/// Forks a child that runs `f` and ends; whether all went well there.
fn forked(f: impl FnOnce()) -> bool {
    // SAFETY: what the child calls may be called there: that is what is tested.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "no process can be made");
    if child == 0 {
        // A child that hangs is ended, and found.
        // SAFETY: sets a timer, and ends the process without what the test harness does at its end.
        unsafe {
            libc::alarm(100);
            let went_well = catch_unwind(AssertUnwindSafe(f)).is_ok();
            libc::_exit(if went_well { 7 } else { 1 });
        }
    }
    let mut ended = 0;
    // SAFETY: waits for the child that was made above.
    assert_eq!(unsafe { libc::waitpid(child, &mut ended, 0) }, child);
    if ended != 7 << 8 {
        eprintln!("the child ended with {ended:#x}");
    }
    ended == 7 << 8
}

/// A list that is kept by root slots, so that any thread and any child can check it.
struct Kept<'h> {
    slots: Slots<'h>,
    nodes: usize,
}

impl<'h> Kept<'h> {
    fn new(heap: &'h Heap, nodes: usize) -> Self {
        let mutator = attach(heap);
        let (node, mut slots) = (node_type(heap), Slots::new(heap, 1));
        extend_list(&mutator, node, nodes, 0, |head| {
            if let Some(head) = head {
                slots.set(0, head);
            }
            slots.get(0)
        });
        Kept { slots, nodes }
    }

    fn check(&self) {
        check_list(self.slots.get(0), self.nodes, 0);
    }
}

/// Uses a heap as a program does: lists that live and die, large objects, collections.
fn use_heap(heap: &Heap, mutator: &Mutator, kept: &Kept<'_>) {
    let (node, data) = (node_type(heap), pointer_free(heap, 100));
    let large = masked(heap, 9000, &[0]);
    let mut frame = Framed::<2>::new(mutator);
    for round in 0..4 {
        frame.set(0, 0);
        extend_list(mutator, node, 300, round << 20, |head| {
            if let Some(head) = head {
                frame.set(0, head);
            }
            frame.get(0)
        });
        frame.set(1, new(mutator, large));
        new(mutator, data);
        mutator.collect().unwrap();
        check_list(frame.get(0), 300, round << 20);
    }
    kept.check();
}

/// What every child does. The thread is attached by `mutator` if it was before.
fn in_child(heap: &Heap, mutator: Option<&Mutator>, kept: &Kept<'_>) {
    kept.check();
    match mutator {
        Some(mutator) => use_heap(heap, mutator, kept),
        None => use_heap(heap, &attach(heap), kept),
    }
    assert_eq!(heap.mutators(), mutator.iter().count());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(|| use_heap(heap, &attach(heap), kept))).collect();
        let wait = || threads.into_iter().for_each(|thread| thread.join().unwrap());
        match mutator {
            Some(mutator) => mutator.blocking(wait).unwrap(),
            None => wait(),
        }
    });
    heap.collect().unwrap();
    assert_eq!(threads_called("heapwood-backgr"), 1, "the heap's own thread is started again");
    if let Some(threads) = heap.config().mark_threads {
        assert_eq!(threads_called("heapwood-marker"), threads - 1, "those that mark are");
    }
    assert!(heap.stats().barrier_violations == 0);
    heap.space().finish_sweep();
    assert_valid(heap);
}

/// How many threads of this process have a name that begins so.
fn threads_called(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok());
    names.filter(|comm| comm.starts_with(name)).count()
}

/// Threads that allocate, collect, block, attach and detach until they are to end.
fn busy(heap: &Heap, seed: usize, done: &AtomicBool) {
    let types = [masked(heap, 3, &[0]), masked(heap, 20, &[0, 9])];
    let (large, data) = (masked(heap, 5000 + seed * 4000, &[0]), pointer_free(heap, 64 + seed * 200));
    let mut round = seed;
    while !done.load(Ordering::Relaxed) {
        let mutator = attach(heap);
        let mut frame = Framed::<1>::new(&mutator);
        for _ in 0..200 {
            round += 1;
            let object = new(&mutator, types[round % 2]);
            put(object, 0, frame.get(0));
            frame.set(0, if round.is_multiple_of(97) { 0 } else { object });
            new(&mutator, data);
            match round % 64 {
                0 => _ = new(&mutator, large),
                1 => mutator.blocking(std::thread::yield_now).unwrap(),
                2 if seed == 1 => mutator.collect().unwrap(),
                _ => mutator.safepoint(),
            }
        }
    }
}

/// Forks while threads use the heap.
fn crowd(config: Config, threads: usize, forks: usize) {
    let heap = heap(config);
    let (kept, done, failed) = (Kept::new(&heap, 3000), AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let (heap, kept, done, failed) = (&*heap, &kept, &done, &failed);
        for seed in 0..threads {
            scope.spawn(move || busy(heap, seed, done));
        }
        // An unattached thread that collects, and one that gives memory back.
        scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                heap.collect().unwrap();
                heap.release_free_memory();
            }
        });
        let check = |well: bool| _ = failed.fetch_add(!well as usize, Ordering::Relaxed);
        for round in 0..forks {
            match round % 3 {
                0 => check(forked(|| in_child(heap, None, kept))),
                1 => {
                    let mutator = attach(heap);
                    new(&mutator, node_type(heap));
                    check(forked(|| in_child(heap, Some(&mutator), kept)));
                    mutator.collect().unwrap();
                }
                _ => {
                    let mutator = attach(heap);
                    let fork = || forked(|| in_child(heap, None, kept));
                    // In a region its mutator cannot be used, and its thread is attached: the child uses another thread.
                    let fork_in_region = || {
                        forked(|| {
                            std::thread::scope(|s| {
                                s.spawn(|| {
                                    kept.check();
                                    use_heap(heap, &attach(heap), kept)
                                })
                                .join()
                                .unwrap()
                            })
                        })
                    };
                    check(mutator.blocking(fork_in_region).unwrap());
                    drop(mutator);
                    check(fork());
                }
            }
            kept.check();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(failed.load(Ordering::Relaxed), 0, "children failed");
    heap.collect().unwrap();
    heap.space().finish_sweep();
    assert_valid(&heap);
    kept.check();
}

const SMALL: Config = FULL.conservative_stacks(true).min_heap(1 << 20);

#[test]
fn beside_threads_that_poll() {
    crowd(SMALL, 8, children());
}

#[test]
fn beside_threads_that_poll_with_young_collections() {
    crowd(PRECISE.conservative_stacks(true), 8, children());
}

#[test]
fn beside_threads_that_signals_stop() {
    crowd(SMALL.stop(Stop::Signals), 8, children());
}

#[test]
fn in_verify_mode() {
    for stop in [Stop::Polls, Stop::Signals] {
        crowd(SMALL.verify(true).stop(stop), 3, children() / 4);
    }
}

#[test]
fn while_workers_mark() {
    crowd(SMALL.mark_threads(3), 4, children() / 2);
}
