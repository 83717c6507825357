//! The option `arena_faults`: who reads where an arena was that has been freed gets SIGSEGV, in production as in verify mode; without it
//! nothing is protected. Seen by forked children, which die, and by the mappings that the kernel lists;
//! each test is a process of its own, since all heaps of one share the number of mappings that they may protect.

use super::cells;
use heapwood_gc::{Config, Heap, Mutator};
use heapwood_gc_testing::*;
use heapwood_heap::{ArenaKind, MOST_IN_ARENA};
use heapwood_os_testing::faulty::Faulty;
use heapwood_pages::PAGE_SIZE;

const ON: Config = FULL.arena_faults(true);
const KINDS: [ArenaKind; 3] = [ArenaKind::Escaping, ArenaKind::Promised, ArenaKind::Borrowed];

/// The signal by which a child dies that reads there; 0 if it does not.
fn signal_of_reading(address: usize) -> i32 {
    let status = forked(|| {
        // SAFETY: whatever the test harness does at this signal, the child reads a word, and ends.
        unsafe {
            libc::signal(libc::SIGSEGV, libc::SIG_DFL);
            (address as *const usize).read_volatile();
        }
        0
    });
    if libc::WIFSIGNALED(status) { libc::WTERMSIG(status) } else { 0 }
}

/// The mappings of the heap's addresses that are in use: how many there are, and how many bytes of them nobody can read.
fn mappings(heap: &Heap) -> (usize, usize) {
    let base = heap.space().base().get();
    let end = base + heap.space().committed_end();
    let text = std::fs::read_to_string("/proc/self/maps").unwrap();
    let parts = text.lines().filter_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        let hex = |text| usize::from_str_radix(text, 16).unwrap();
        let (from, to) = (hex(from).max(base), hex(to).min(end));
        (from < to).then(|| if rest.starts_with("---") { to - from } else { 0 })
    });
    parts.fold((0, 0), |(count, bytes), part| (count + 1, bytes + part))
}

/// A value of an arena that is closed at once, of so many values.
fn closed(m: &Mutator, kind: ArenaKind, values: usize) -> usize {
    let arena = Arena::open(m, kind);
    let value = (0..values).map(|_| arena.value(m, cells(), &[0; 8])).last().unwrap();
    arena.close(m);
    value
}

#[test]
fn a_thread_that_reads_a_freed_arena_gets_sigsegv() {
    in_child(|| {
        for (config, signal) in
            [(ON, libc::SIGSEGV), (FULL, 0), (BY_SIGNALS.arena_faults(true), libc::SIGSEGV)]
        {
            let heap = heap(config);
            let m = attach(&heap);
            for kind in KINDS {
                for values in [1, 1000, 100_000] {
                    let open = Arena::open(&m, kind);
                    let value = open.value(&m, cells(), &[0; 8]);
                    assert_eq!(signal_of_reading(closed(&m, kind, values)), signal);
                    assert_eq!(signal_of_reading(value), 0, "an open one may be read");
                    open.empty(&m);
                    assert_eq!(signal_of_reading(value), signal, "its values were taken away");
                    open.close(&m);
                }
            }
        }
    });
}

/// The pages are the heap's again after a full collection that has met no pointer there, and can be written.
#[test]
fn protected_memory_is_used_again_and_stays_bounded() {
    in_child(|| {
        for config in [ON, ON.limit(16 << 20), BY_SIGNALS.arena_faults(true)] {
            let heap = heap(config);
            let m = attach(&heap);
            let (mut most, mut split) = (0, 0);
            for round in 0..10_000 {
                let arena = Arena::open(&m, KINDS[round % 3]);
                arena.zeros(&m, cells(), 1 + round % 500).unwrap();
                if round % 100 == 0 {
                    arena.data(&m, MOST_IN_ARENA, 8).unwrap();
                }
                arena.close(&m);
                most = most.max(heap.inspect().stats().in_use_bytes);
                split = split.max(if round % 500 == 499 { mappings(&heap).0 } else { 0 });
            }
            assert!(heap.inspect().stats().collections > 1, "what rests makes collections due");
            // A fortieth of what rests counts, and collections are due at 4 MiB at the latest.
            assert!(most < 200 << 20, "{most} bytes of addresses");
            assert!(
                heap.inspect().stats().backed_bytes < 16 << 20,
                "{} bytes",
                heap.inspect().stats().backed_bytes
            );
            assert!(split < 1000, "{split} mappings: neighbours that are protected should be one");
            m.collect().unwrap();
            m.collect().unwrap();
            assert_swept_and_valid(&heap);
        }
    });
}

#[test]
fn nothing_is_protected_without_the_option() {
    in_child(|| {
        for (config, protected) in [(FULL, false), (ON, true)] {
            let heap = heap(config);
            let m = attach(&heap);
            (0..100).for_each(|i| {
                closed(&m, KINDS[i % 3], 1000);
            });
            let (_, bytes) = mappings(&heap);
            assert_eq!(bytes > 100 << 13, protected, "{bytes} bytes");
            assert!(protected || bytes == 0, "{bytes} bytes");
        }
    });
}

/// Freed arenas that lie between open ones are mappings of their own. Their number is bounded; those beyond rest unprotected.
#[test]
fn the_kernels_records_do_not_run_out() {
    in_child(|| {
        let heap = heap(ON.min_heap(1 << 30));
        let m = attach(&heap);
        let mut open = Vec::new();
        for i in 0..40_000 {
            let arena = Arena::open(&m, ArenaKind::Escaping);
            arena.value(&m, cells(), &[0; 8]);
            open.push(arena);
            if i % 2 == 1 {
                open.swap_remove(i / 2).close(&m);
            }
        }
        let (count, bytes) = mappings(&heap);
        assert!(bytes > 8000 << 13, "{bytes} bytes are protected");
        assert!(count < 2 * (1 << 14) + 100, "{count} mappings");
        open.into_iter().for_each(|arena| arena.close(&m));
        m.collect().unwrap();
        m.collect().unwrap();
        assert_eq!(mappings(&heap).1, 0, "all rests no longer");
        // They can be protected again.
        assert_eq!(signal_of_reading(closed(&m, ArenaKind::Escaping, 1)), libc::SIGSEGV);
    });
}

/// Closes every other of so many arenas of a page each; returns the others.
fn close_every_other(m: &Mutator, n: usize) -> Vec<Arena> {
    let all = (0..n).map(|_| {
        let arena = Arena::open(m, ArenaKind::Escaping);
        arena.value(m, cells(), &[0; 8]);
        arena
    });
    let (closed, open): (Vec<_>, Vec<_>) = all.enumerate().partition(|(i, _)| i % 2 == 1);
    closed.into_iter().for_each(|(_, arena)| arena.close(m));
    open.into_iter().map(|(_, arena)| arena).collect()
}

/// The memory of a chunk that nobody could write to goes back once: the end of its quarantine is one request to the kernel.
#[test]
fn protected_memory_is_given_back_once() {
    const CHUNKS: usize = 100;
    let kernel: &Faulty = Box::leak(Box::default());
    let heap = Heap::create(kernel, ON.background_release(false)).unwrap();
    let m = attach(&heap);
    let requests = || {
        let before = kernel.requests();
        (0..2).for_each(|_| m.collect().unwrap());
        kernel.requests() - before
    };
    requests();
    let open: Vec<_> = (0..CHUNKS).map(|_| Arena::open(&m, ArenaKind::Escaping)).collect();
    let values: Vec<_> = open.iter().map(|arena| arena.value(&m, cells(), &[1; 8])).collect();
    open.into_iter().for_each(|arena| arena.close(&m));
    let made = requests();
    assert!((CHUNKS..CHUNKS + CHUNKS / 2).contains(&made), "{made} requests for {CHUNKS} chunks");
    // SAFETY: the memory is the heap's, and no other thread uses it.
    assert!(values.iter().all(|&value| unsafe { (value as *const usize).read() } == 0));
}

/// All heaps of a process have one bound, and those that have ended count no more.
#[test]
fn all_heaps_of_a_process_have_one_bound_on_what_is_protected() {
    in_child(|| {
        const MOST: usize = 16 << 10;
        let config = ON.min_heap(1 << 30);
        // Those of heaps that have ended do not count.
        for _ in 0..3 {
            let heap = heap(config);
            close_every_other(&attach(&heap), MOST);
            assert_eq!(mappings(&heap).1, MOST / 2 * PAGE_SIZE);
        }
        let heaps = [heap(config), heap(config)];
        let mutators = [attach(&heaps[0]), attach(&heaps[1])];
        for _ in 0..2 {
            let open = [0, 1].map(|i| close_every_other(&mutators[i], MOST + 8000));
            let protected = mappings(&heaps[0]).1 + mappings(&heaps[1]).1;
            assert_eq!(protected, MOST * PAGE_SIZE);
            for (m, arenas) in mutators.iter().zip(open) {
                arenas.into_iter().for_each(|arena| arena.close(m));
                (0..2).for_each(|_| m.collect().unwrap());
            }
            assert_eq!((mappings(&heaps[0]).1, mappings(&heaps[1]).1), (0, 0));
        }
    });
}
