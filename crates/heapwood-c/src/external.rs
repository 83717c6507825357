//! Memory outside the heap that its objects own, and reserves. Invariant: a call that fails changes nothing.

use crate::alloc::notes;
use crate::status::Status;
use crate::threads::refuse;
use heapwood_gc::Mutator;

/// Counts more or fewer bytes outside the heap.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread.
/// 2. If `bytes` is positive: every object that is used later is reachable from a root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_external(m: Option<&Mutator>, bytes: isize) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    match m.external(bytes) {
        Ok(()) => Status::OK,
        Err(error) => refuse(m, error.into()),
    }
}

/// Keeps memory for the next allocations of this thread.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread; every object that is used later is reachable from a root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_reserve(m: Option<&Mutator>, bytes: usize) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    // An object takes up to twice its bytes where a word behind it is filled.
    let bytes = if notes(m) { bytes.saturating_mul(2) } else { bytes };
    match m.reserve_bytes(bytes) {
        Ok(()) => Status::OK,
        Err(error) => refuse(m, error.into()),
    }
}
