//! Lines about collections, in the shape of libgc's that scripts read (`GC_PRINT_STATS`), and the heap's statistics (`GC_dump`).
//! Invariant: the figures are the heap's.

use crate::collections::stats;
use crate::process::made;
use crate::report::log::log;
use core::ffi::{c_char, c_int};
use core::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use heapwood_gc::Stats;

/// 1: lines for each collection; 2: more of them.
static PRINTS: AtomicI32 = AtomicI32::new(0);
/// What the last collection has reported.
static PAUSES_BEFORE: AtomicU64 = AtomicU64::new(0);
static LIVE_BEFORE: AtomicUsize = AtomicUsize::new(0);

/// Each collection writes a line, or more.
pub(crate) fn print_stats(verbose: bool) {
    PRINTS.store(1 + c_int::from(verbose), Relaxed);
}

/// A collection begins.
pub(crate) fn before_collection() {
    if PRINTS.load(Relaxed) != 0 {
        log(format_args!("Initiating full world-stop collection!\n"));
    }
}

/// A collection has ended: the lines of libgc that scripts read. `allocated` bytes came since the last.
pub(crate) fn after_collection(stats: &Stats, allocated: usize) {
    // As in `stats::after_collection`: a later one may have come here first.
    let pause = PAUSES_BEFORE.fetch_max(stats.pause_total_ns, Relaxed);
    let live = LIVE_BEFORE.swap(stats.live_bytes, Relaxed);
    if PRINTS.load(Relaxed) == 0 {
        return;
    }
    let (number, ns) = (stats::gc_no(), stats.pause_total_ns.saturating_sub(pause));
    let (heap, unmapped) = (stats.backed_bytes, stats.committed_bytes.saturating_sub(stats.backed_bytes));
    let freed = (live + allocated).saturating_sub(stats.live_bytes);
    let average = stats.pause_total_ns / stats.collections.max(1) / 1_000_000;
    log(format_args!(
        "\n--> Marking for collection #{number} after {allocated} allocated bytes\n\
         GC #{number} freed {freed} bytes, heap {} KiB (+ {} KiB unmapped + 0 KiB internal)\n\
         World-stopped marking took {} ms {} ns ({average} ms in average)\n\
         In-use heap: {}% ({} KiB pointers + 0 KiB other)\n\
         Complete collection took {} ms {} ns\n",
        heap >> 10,
        unmapped >> 10,
        ns / 1_000_000,
        ns % 1_000_000,
        stats.live_bytes * 100 / heap.max(1),
        stats.live_bytes >> 10,
        ns / 1_000_000,
        ns % 1_000_000,
    ));
    if PRINTS.load(Relaxed) > 1 {
        log(format_args!(
            "{} finalization entries; {} finalization-ready objects\n",
            stats.finalizers, stats.finalizers_queued
        ));
    }
}

/// `GC_dump`.
pub(crate) fn dump() {
    dump_named(core::ptr::null());
}

/// `GC_dump_named`.
pub(crate) fn dump_named(_name: *const c_char) {
    let Some(heap) = made() else { return };
    log(format_args!("***Heapwood\n"));
    let stats = heap.inspect().stats();
    for (of, value) in heapwood_gc::STATISTICS.iter().zip(stats.values()) {
        log(format_args!("{} {value}\n", of.name));
    }
}
