//! Statistics, as libgc names them, of the heap's own. Invariant: they are the heap's figures at the time of the call; what the
//! heap has no figure of is 0. Of what other threads have allocated since their last refill they know nothing yet.

use crate::exports::types::ProfStats;
use crate::exports::variables::{GC_gc_no, GC_parallel};
use crate::process::{attached_mutator, made};
use core::ffi::{c_int, c_ulong};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use heapwood_gc::Stats;
use heapwood_heap::SizeClass;

fn stats() -> Stats {
    if let Some(mutator) = attached_mutator() {
        mutator.settle();
    }
    made().map_or_else(Stats::default, |heap| heap.inspect().stats())
}

/// Bytes that had been allocated when the last collection ended.
static ALLOCATED_BEFORE: AtomicUsize = AtomicUsize::new(0);

/// Bytes that the program had freed when the last collection ended.
static FREED_BEFORE: AtomicUsize = AtomicUsize::new(0);

/// Bytes that the program has freed.
fn freed() -> usize {
    made().map_or(0, |heap| heap.space().stats().freed as usize)
}

/// A collection has ended. Returns the bytes that were allocated since the one before it did. The program runs on, so the threads of two
/// collections may come here in any order; and the total falls by what a thread had in hand and gives back as it leaves. The
/// greatest total that was told stays.
pub(crate) fn after_collection(stats: &Stats) -> usize {
    let allocated = stats.allocated_bytes as usize;
    FREED_BEFORE.fetch_max(freed(), Relaxed);
    allocated.saturating_sub(ALLOCATED_BEFORE.fetch_max(allocated, Relaxed))
}

fn since_gc(stats: &Stats) -> usize {
    (stats.allocated_bytes as usize).saturating_sub(ALLOCATED_BEFORE.load(Relaxed))
}

fn heap_bytes(stats: &Stats) -> usize {
    stats.committed_bytes
}

fn unmapped(stats: &Stats) -> usize {
    stats.committed_bytes.saturating_sub(stats.backed_bytes)
}

fn free(stats: &Stats) -> usize {
    stats.committed_bytes.saturating_sub(unmapped(stats)).saturating_sub(stats.live_bytes + since_gc(stats))
}

pub(crate) fn heap_size() -> usize {
    let stats = stats();
    heap_bytes(&stats).saturating_sub(unmapped(&stats))
}

pub(crate) fn free_bytes() -> usize {
    free(&stats())
}

pub(crate) fn unmapped_bytes() -> usize {
    unmapped(&stats())
}

pub(crate) fn bytes_since_gc() -> usize {
    since_gc(&stats())
}

pub(crate) fn freed_since_gc() -> usize {
    _ = stats();
    freed().saturating_sub(FREED_BEFORE.load(Relaxed))
}

pub(crate) fn total_bytes() -> usize {
    stats().allocated_bytes as usize
}

pub(crate) fn obtained_bytes() -> usize {
    stats().committed_bytes
}

pub(crate) fn memory_use() -> usize {
    stats().live_bytes
}

pub(crate) fn gc_no() -> usize {
    GC_gc_no.load(Relaxed)
}

/// Milliseconds of all collections.
pub(crate) fn total_time() -> c_ulong {
    stats().pause_total_ns / 1_000_000
}

/// `GC_get_heap_usage_safe`.
///
/// # Safety
/// 1. Each is null, or may be written.
pub(crate) unsafe fn heap_usage(
    heap: *mut usize,
    free_bytes: *mut usize,
    unmapped_bytes: *mut usize,
    since: *mut usize,
    total: *mut usize,
) {
    let stats = stats();
    let values = [
        (heap, heap_bytes(&stats) - unmapped(&stats)),
        (free_bytes, free(&stats)),
        (unmapped_bytes, unmapped(&stats)),
        (since, since_gc(&stats)),
        (total, stats.allocated_bytes as usize),
    ];
    for (place, value) in values {
        if !place.is_null() {
            // SAFETY: contract 1.
            unsafe { place.write(value) };
        }
    }
}

/// `GC_get_prof_stats`: as much as fits; the rest is filled. Returns the bytes that are of use.
///
/// # Safety
/// 1. So many bytes may be written.
pub(crate) unsafe fn prof_stats(to: *mut ProfStats, size: usize) -> usize {
    let stats = stats();
    let now = ProfStats {
        heap_bytes: heap_bytes(&stats),
        free_bytes: free(&stats),
        unmapped_bytes: unmapped(&stats),
        bytes_since_gc: since_gc(&stats),
        bytes_before_gc: stats.allocated_bytes as usize - since_gc(&stats),
        non_gc_bytes: crate::settings::non_gc_bytes(),
        gc_no: gc_no(),
        helpers: GC_parallel.load(Relaxed) as usize,
        reclaimed_since_gc: 0,
        reclaimed_before_gc: (stats.allocated_bytes as usize)
            .saturating_sub(stats.live_bytes + since_gc(&stats)),
        freed_since_gc: freed_since_gc(),
        obtained_bytes: stats.committed_bytes,
    };
    let bytes = size.min(size_of::<ProfStats>());
    // SAFETY: contract 1. Newer headers have more, which is filled with ones, as libgc does.
    unsafe {
        core::ptr::copy_nonoverlapping((&raw const now).cast::<u8>(), to.cast::<u8>(), bytes);
        to.cast::<u8>().add(bytes).write_bytes(0xff, size - bytes);
    }
    bytes
}

/// `GC_get_size_map_at`: the size of objects of so many granules.
pub(crate) fn size_map_at(granules: c_int) -> usize {
    usize::try_from(granules)
        .ok()
        .and_then(|n| SizeClass::of(n * 16))
        .map_or(usize::MAX, SizeClass::cell_size)
}
