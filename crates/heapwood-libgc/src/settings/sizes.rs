//! The size of the heap, as a program sets it. Invariant: what is set before the heap is made counts as what is set later.

use crate::process::made;
use crate::report;
use core::ffi::c_int;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use heapwood_gc::Config;

/// Bytes below which no collection is due; 0 if the program has said nothing.
static INITIAL: AtomicUsize = AtomicUsize::new(0);
/// The most bytes; 0 for no limit.
static LIMIT: AtomicUsize = AtomicUsize::new(0);

/// `GC_expand_hp`: the heap may grow by so much before it is collected.
pub(crate) fn expand(bytes: usize) -> c_int {
    let now = made().map_or(0, |heap| heap.inspect().stats().in_use_bytes);
    let least = now.saturating_add(bytes).max(INITIAL.load(Relaxed));
    INITIAL.store(least, Relaxed);
    if let Some(heap) = made() {
        heap.set_min_heap(least);
    }
    1
}

/// What [`expand`] has asked for.
pub(crate) fn initial() -> Option<usize> {
    Some(INITIAL.load(Relaxed)).filter(|&bytes| bytes != 0)
}

/// `GC_set_max_heap_size`; 0 for no limit.
pub(crate) fn set_limit(bytes: usize) {
    LIMIT.store(bytes, Relaxed);
    if let Some(heap) = made()
        && let Err(error) = heap.set_limit(limit().map(|limit| limit.max(Config::MIN_LIMIT)))
    {
        report::warn(format_args!("GC_set_max_heap_size: {error}"));
    }
}

/// The limit, if there is one.
pub(crate) fn limit() -> Option<usize> {
    Some(LIMIT.load(Relaxed)).filter(|&bytes| bytes != 0)
}

/// `GC_incr_bytes_allocd`.
pub(crate) fn add_allocated(_: usize) {}

/// `GC_incr_bytes_freed`.
pub(crate) fn add_freed(_: usize) {}
