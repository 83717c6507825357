//! The option `arena_faults`: who reads where an arena was that has been freed gets SIGSEGV, in production as in verify mode; without it
//! nothing is protected. Seen by forked children, which die, and by the mappings that the kernel lists;
//! each test is a process of its own, since all heaps of one share the number of mappings that they may protect.

use super::cells;
use heapwood_gc::{Config, Heap, Mutator};
use heapwood_gc_testing::*;
use heapwood_heap::ArenaKind;

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
