//! Collecting on demand, at once or beside the program, statistics, the version.

use crate::error::Error;
use crate::handle::HeapHandle;
use crate::options::copy_out;
use crate::status::Status;
use crate::threads::refuse;
use heapwood_gc::{CollectionTicket, Mutator, STATISTICS};

/// The header's `HW_VERSION`.
pub const VERSION: u32 = 0x000200;

/// The header's `hw_stats`: its size, and the statistics of the collector's list, in its order.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Statistics {
    size: usize,
    values: [u64; STATISTICS.len()],
}

/// Collects now.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread.
/// 2. Every object that is used later is reachable from a root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_collect(m: Option<&Mutator>) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    match m.collect() {
        Ok(()) => Status::OK,
        Err(misuse) => refuse(m, misuse.into()),
    }
}

/// Collects the young objects, if the heap has young collections now. Otherwise it collects everything.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread.
/// 2. Every object that is used later is reachable from a root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_collect_young(m: Option<&Mutator>) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    match m.collect_young() {
        Ok(()) => Status::OK,
        Err(misuse) => refuse(m, misuse.into()),
    }
}

/// Asks for a full collection, and returns at once.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread; `out` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_collect_start(m: Option<&Mutator>, out: *mut CollectionTicket) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    if out.is_null() {
        return refuse(m, Error::Null("out"));
    }
    match m.start_collection() {
        Ok(ticket) => {
            // SAFETY: contract 1.
            unsafe { out.write(ticket) };
            Status::OK
        }
        Err(misuse) => refuse(m, misuse.into()),
    }
}

/// Waits until that collection has ended.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread.
/// 2. Every object that is used later is reachable from a root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_collect_wait(m: Option<&Mutator>, ticket: CollectionTicket) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    match m.wait_for(ticket) {
        Ok(()) => Status::OK,
        Err(misuse) => refuse(m, misuse.into()),
    }
}

/// Whether that collection has ended.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread; `done` is NULL or may be written.
/// 2. Every object that is used later is reachable from a root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_collect_done(
    m: Option<&Mutator>,
    ticket: CollectionTicket,
    done: *mut bool,
) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    if done.is_null() {
        return refuse(m, Error::Null("done"));
    }
    match m.is_done(ticket) {
        Ok(is_done) => {
            // SAFETY: contract 1.
            unsafe { done.write(is_done) };
            Status::OK
        }
        Err(misuse) => refuse(m, misuse.into()),
    }
}

/// Returns the memory of all free pages to the system.
///
/// # Safety
/// 1. `heap` is NULL or exists.
/// 2. `released` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_release_free_memory(heap: Option<&HeapHandle>, released: *mut usize) -> Status {
    let Some(heap) = heap else { return Status::EINVAL };
    let bytes = heap.heap.memory().release_free();
    if !released.is_null() {
        // SAFETY: contract 2.
        unsafe { released.write(bytes) };
    }
    Status::OK
}

/// Changes the growth percentage.
///
/// # Safety
/// 1. `heap` is NULL or exists.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_percent_set(heap: Option<&HeapHandle>, percent: u32) -> Status {
    let Some(heap) = heap else { return Status::EINVAL };
    heap.heap.set_percent(percent).map_or(Status::EINVAL, |()| Status::OK)
}

/// Changes the limit; 0: none.
///
/// # Safety
/// 1. `heap` is NULL or exists.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_limit_set(heap: Option<&HeapHandle>, limit: usize) -> Status {
    let Some(heap) = heap else { return Status::EINVAL };
    heap.heap.set_limit((limit != 0).then_some(limit)).map_or(Status::EINVAL, |()| Status::OK)
}

/// Writes the statistics.
///
/// # Safety
/// 1. `heap` is NULL or exists.
/// 2. `stats` is NULL or may be written for as many bytes as its first field says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_stats_get(heap: Option<&HeapHandle>, stats: *mut Statistics) -> Status {
    let Some(heap) = heap else { return Status::EINVAL };
    if stats.is_null() {
        return Status::EINVAL;
    }
    // SAFETY: contract 2, which includes the first field.
    let size = unsafe { stats.cast::<usize>().read() };
    if !(size_of::<usize>()..=1 << 16).contains(&size) {
        return Status::EINVAL;
    }
    let figures = Statistics { size, values: heap.heap.inspect().stats().values() };
    // SAFETY: contract 2.
    unsafe { copy_out(&figures, stats, size) };
    Status::OK
}

/// The library's version.
#[unsafe(no_mangle)]
pub extern "C" fn hw_version() -> u32 {
    VERSION
}
