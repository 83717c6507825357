//! Collecting on demand, the figures of a heap, the version.

use crate::handle::HeapHandle;
use crate::options::copy_out;
use crate::status::Status;
use crate::threads::refuse;
use heapwood_gc::Mutator;

/// The header's `HW_VERSION`.
pub const VERSION: u32 = 0x000200;

/// The header's `hw_stats`.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "the header describes the fields")]
pub struct Figures {
    pub size: usize,
    pub collections: u64,
    pub live_bytes: u64,
    pub live_objects: u64,
    pub goal_bytes: u64,
    pub allocated_bytes: u64,
    pub in_use_bytes: u64,
    pub committed_bytes: u64,
    pub collect_cpu_ns: u64,
    pub pause_p50_ns: u64,
    pub pause_p99_ns: u64,
    pub pause_max_ns: u64,
    pub pause_total_ns: u64,
    pub mark_overflows: u64,
    pub barrier_violations: u64,
    pub verified: u64,
    pub threads: u64,
    pub stop_p99_ns: u64,
    pub stop_max_ns: u64,
    pub stop_total_ns: u64,
    pub mark_p99_ns: u64,
    pub mark_max_ns: u64,
    pub mark_total_ns: u64,
    pub sweep_p99_ns: u64,
    pub sweep_max_ns: u64,
    pub sweep_total_ns: u64,
    pub hold_spans_max_ns: u64,
    pub hold_pages_max_ns: u64,
    pub hold_types_max_ns: u64,
    pub hold_threads_max_ns: u64,
    pub hold_roots_max_ns: u64,
    pub hold_handles_max_ns: u64,
}

/// Collects now.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread.
/// 2. Roots lead to all objects that are needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_collect(m: Option<&Mutator>) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    match m.collect() {
        Ok(()) => Status::OK,
        Err(misuse) => refuse(m, misuse.into()),
    }
}

/// Gives the memory of all free pages back to the system.
///
/// # Safety
/// 1. `heap` is NULL or exists.
/// 2. `released` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_release_free_memory(heap: Option<&HeapHandle>, released: *mut usize) -> Status {
    let Some(heap) = heap else { return Status::EINVAL };
    let bytes = heap.heap.release_free_memory();
    if !released.is_null() {
        // SAFETY: contract 2.
        unsafe { released.write(bytes) };
    }
    Status::OK
}

/// Fills in the figures.
///
/// # Safety
/// 1. `heap` is NULL or exists.
/// 2. `stats` is NULL or may be written for as many bytes as its first field says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_stats_get(heap: Option<&HeapHandle>, stats: *mut Figures) -> Status {
    let Some(heap) = heap else { return Status::EINVAL };
    if stats.is_null() {
        return Status::EINVAL;
    }
    // SAFETY: contract 2, of which the first field is part.
    let size = unsafe { stats.cast::<usize>().read() };
    if !(size_of::<usize>()..=1 << 16).contains(&size) {
        return Status::EINVAL;
    }
    let s = heap.heap.stats();
    let figures = Figures {
        size,
        collections: s.collections,
        live_bytes: s.live_bytes as u64,
        live_objects: s.live_objects as u64,
        goal_bytes: s.goal_bytes as u64,
        allocated_bytes: s.allocated_bytes,
        in_use_bytes: s.in_use_bytes as u64,
        committed_bytes: s.committed_bytes as u64,
        collect_cpu_ns: s.collect_cpu_ns,
        pause_p50_ns: s.pause_p50_ns,
        pause_p99_ns: s.pause_p99_ns,
        pause_max_ns: s.pause_max_ns,
        pause_total_ns: s.pause_total_ns,
        mark_overflows: s.mark_overflows,
        barrier_violations: s.barrier_violations,
        verified: s.verified,
        threads: heap.heap.mutators() as u64,
        stop_p99_ns: s.stop_p99_ns,
        stop_max_ns: s.stop_max_ns,
        stop_total_ns: s.stop_total_ns,
        mark_p99_ns: s.mark_p99_ns,
        mark_max_ns: s.mark_max_ns,
        mark_total_ns: s.mark_total_ns,
        sweep_p99_ns: s.sweep_p99_ns,
        sweep_max_ns: s.sweep_max_ns,
        sweep_total_ns: s.sweep_total_ns,
        hold_spans_max_ns: s.hold_spans_max_ns,
        hold_pages_max_ns: s.hold_pages_max_ns,
        hold_types_max_ns: s.hold_types_max_ns,
        hold_threads_max_ns: s.hold_threads_max_ns,
        hold_roots_max_ns: s.hold_roots_max_ns,
        hold_handles_max_ns: s.hold_handles_max_ns,
    };
    // SAFETY: contract 2.
    unsafe { copy_out(&figures, stats, size) };
    Status::OK
}

/// The library's version.
#[unsafe(no_mangle)]
pub extern "C" fn hw_version() -> u32 {
    VERSION
}
