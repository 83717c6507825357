//! Many threads that do nothing are small, those that end leave nothing behind, and a heap whose program sleeps gives its memory back.
//! Each is measured in a process of its own; with HEAPWOOD_LONG=1 at full size.

use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_gc::settings::options::{Concurrent, Stop};
use heapwood_gc::{Config, Heap, Mutator};
use heapwood_gc_testing::*;
use heapwood_os::{Kernel, SYSTEM};
use std::os::unix::fs::FileExt;
use std::sync::mpsc::channel;
use std::sync::{Barrier, Mutex};
use std::time::Duration;

/// Types of thirty shapes: of three sizes, and ten places of pointers.
fn thirty_shapes(heap: &Heap) -> Vec<heapwood_gc::ObjectType> {
    (0..30).map(|i| masked(heap, [10, 20, 40][i % 3], &[i / 3])).collect()
}

/// Starts so many threads that make an object of each of thirty shapes and block; `f` runs while they are, and gets the
/// addresses of their mutators.
fn with_blocked_threads(heap: &Heap, threads: usize, f: impl FnOnce(&[usize])) {
    let types = thirty_shapes(heap);
    let (blocked, all) = (AtomicUsize::new(0), Barrier::new(threads + 1));
    let (end, ended) = channel::<()>();
    let (ended, mutators) = (Mutex::new(ended), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (heap, types, blocked, ended, mutators, all) =
                (&heap, &types, &blocked, &ended, &mutators, &all);
            let body = move || {
                let mutator = attach(heap);
                mutators.lock().unwrap().push(&raw const *mutator as usize);
                for &ty in types {
                    new(&mutator, ty);
                }
                all.wait();
                mutator
                    .blocking(|| {
                        blocked.fetch_add(1, Ordering::Relaxed);
                        let _ = ended.lock().unwrap().recv();
                    })
                    .unwrap();
                // It goes on where it was.
                for &ty in types {
                    new(&mutator, ty);
                }
            };
            std::thread::Builder::new().stack_size(64 << 10).spawn_scoped(scope, body).unwrap();
        }
        // Dropped with a panic, too, so that nobody waits for good.
        let _end = end;
        all.wait();
        within_a_minute("all block", || blocked.load(Ordering::Relaxed) == threads);
        f(&mutators.lock().unwrap());
    });
}

/// The memory behind a mutator: pages that were written to.
fn written(mutator: usize) -> usize {
    let page = SYSTEM.page_size();
    let pages = mutator / page..(mutator + size_of::<Mutator>()).div_ceil(page);
    let mut entries = vec![0u8; pages.len() * 8];
    let file = std::fs::File::open("/proc/self/pagemap").unwrap();
    file.read_exact_at(&mut entries, pages.start as u64 * 8).unwrap();
    // Present, or swapped.
    entries.chunks(8).filter(|entry| entry[7] & 0xC0 != 0).count() * page
}

/// The memory of a thousand mutators is what is left of a thousand threads a second after they block, and what their stacks may refer to.
#[test]
#[ignore = "of the long suite: it waits for seconds, and for what threads do meanwhile"]
fn a_thousand_blocked_threads_are_small() {
    blocked_threads_are_small(FULL, 256 << 10);
    blocked_threads_are_small(BY_SIGNALS, 20 * MIB);
}

fn blocked_threads_are_small(config: Config, left: usize) {
    let threads = 1000;
    let heap = heap(config.min_heap(1 << 30));
    with_blocked_threads(&heap, threads, |mutators| {
        let all = || mutators.iter().map(|&m| written(m)).sum::<usize>();
        let before = all();
        println!("{threads} mutators: {} KiB as they block", before >> 10);
        let took = within_a_minute("they are small", || all() < 32 * MIB);
        std::thread::sleep(Duration::from_millis(1000));
        println!("{} KiB after {took:?} and a second", all() >> 10);
        attach(&heap).collect().unwrap();
        within_a_minute("nothing else is left of them", || heap.inspect().stats().in_use_bytes < left);
        assert!(all() < 32 * MIB);
    });
}

/// Threads come and go, 64 at a time, and half of them do not detach.
#[test]
#[ignore = "of the long suite: memory that the kernel counts"]
fn threads_that_came_and_went_leave_nothing() {
    for config in [Config::DEFAULT, Config::DEFAULT.stop(Stop::Signals)] {
        Child::new().called(config.stop).run(|| many_threads_leave_nothing(config)).well();
    }
}

fn many_threads_leave_nothing(config: Config) {
    let (rounds, alive) = (if is_long() { 1600 } else { 60 }, 64);
    // With this percentage 64 threads let a heap grow by 14 MiB at most, whatever collecting costs: the goal cannot move.
    let goal = 16 * MIB;
    let heap = heap(config.huge_pages(false).min_heap(goal).percent(1));
    let types = thirty_shapes(&heap);
    let round = |n: usize, at_once: bool| {
        let all = Barrier::new(alive);
        std::thread::scope(|scope| {
            let start = |t: usize| {
                let (heap, types, all) = (&heap, &types, &all);
                let body = move || {
                    let mutator = attach(heap);
                    all.wait();
                    for i in 0..20 {
                        new(&mutator, types[(t + n + i) % types.len()]);
                    }
                    if at_once {
                        mutator.blocking(|| all.wait()).unwrap();
                    }
                    // Some end while others stop the world.
                    if t % 16 == 3 {
                        mutator.collect().unwrap();
                    }
                    match t % 4 {
                        0 => drop(mutator),
                        1 => mutator.blocking(|| ()).unwrap(),
                        _ => core::mem::forget(mutator),
                    }
                };
                std::thread::Builder::new().stack_size(64 << 10).spawn_scoped(scope, body).unwrap()
            };
            // A thread that is joined has ended; the scope waits for less.
            let threads: Vec<_> = (0..alive).map(start).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        assert_eq!(heap.mutators(), 0);
    };
    // No later round needs more memory at a time than one where all threads hold what they have allocated from.
    round(0, true);
    // Twice; the first makes what is used again.
    let size = [0, 1].map(|half| {
        (0..rounds / 2).for_each(|n| {
            round(half * rounds / 2 + n, false);
            assert_eq!(heap.inspect().stats().goal_bytes, goal);
        });
        attach(&heap).collect().unwrap();
        // What a word on this stack seems to refer to may stay.
        within_a_minute("nothing of them is in use", || heap.inspect().stats().in_use_bytes <= 64 << 10);
        heap.memory().release_free();
        (resident(), heap.inspect().stats().committed_bytes)
    });
    let [(early, before), (late, after)] = size;
    // A heap grows by 4 MiB at a time.
    assert!(after <= before + 4 * MIB, "{before} bytes committed, then {after}");
    assert!(!is_long() || late <= early + early / 50, "{early} bytes, then {late}");
}

/// A program makes 1 GiB of small objects, drops them, and sleeps in a blocking region. Where the heap may, it is marked beside it.
#[test]
#[ignore = "of the long suite: it waits for seconds, and for memory that the kernel counts"]
fn a_program_that_sleeps_gives_its_memory_back() {
    for concurrent in [Concurrent::Auto, Concurrent::Off] {
        in_child(|| sleep_after_a_gibibyte(Config::DEFAULT.concurrent(concurrent)));
    }
}

fn sleep_after_a_gibibyte(config: Config) {
    // One word on this stack would keep all of the list.
    let heap = heap(config.conservative_stacks(false));
    let mutator = attach(&heap);
    a_dropped_gibibyte(&heap, &mutator);
    assert!(resident() > 1024 * MIB);
    mutator
        .blocking(|| {
            let took = within_a_minute("the memory goes back", || resident() < 64 * MIB);
            let stats = heap.inspect().stats();
            println!("{} MiB after {took:?}, {} idle collections", resident() / MIB, stats.idle_collections);
            assert_eq!(stats.idle_collections, 1);
            // And then it sleeps, too: its thread is not woken any more.
            std::thread::sleep(Duration::from_secs(5));
            let switches = || wakeups("heapwood-backgr");
            let before = switches();
            std::thread::sleep(Duration::from_secs(15));
            assert_eq!(switches(), before, "it wakes though there is nothing to do");
        })
        .unwrap();
}

/// How often threads of this name went to sleep.
fn wakeups(name: &str) -> u64 {
    let line = |status: String| {
        let switches = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        switches.unwrap().trim().parse::<u64>().unwrap()
    };
    threads_called(name).into_iter().map(line).sum()
}
