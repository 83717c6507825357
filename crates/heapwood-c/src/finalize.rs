//! Finalisers of data outside the heap. Invariant: no function of the program is called.

use crate::error::Error;
use crate::error_report::ErrorReport;
use crate::handle::HeapHandle;
use crate::status::Status;
use crate::threads::{refuse, tell};
use core::ffi::c_void;
use core::ptr::NonNull;
use heapwood_gc::{FinalizerToken, Mutator};

/// Registers data to be queued when an object is dead.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread; `out` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_finalize_data(
    m: Option<&Mutator>,
    object: *mut u8,
    data: *mut c_void,
    out: *mut u64,
) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    let Some(object) = NonNull::new(object) else { return refuse(m, Error::Null("object")) };
    match m.finalize_data(object, data as usize) {
        Ok(token) => {
            if !out.is_null() {
                // SAFETY: contract 1.
                unsafe { out.write(token.to_bits()) };
            }
            Status::OK
        }
        Err(error) => refuse(m, error.into()),
    }
}

/// Cancels a registration.
///
/// # Safety
/// 1. `heap` is NULL or exists; `data` and `why` are NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_finalize_cancel(
    heap: Option<&HeapHandle>,
    finalizer: u64,
    data: *mut *mut c_void,
    why: *mut ErrorReport,
) -> Status {
    let cancel = || {
        let heap = heap.ok_or(Error::Null("heap"))?;
        let tag = heap.heap.cancel_finalizer(FinalizerToken::from_bits(finalizer))?;
        if !data.is_null() {
            // SAFETY: contract 1.
            unsafe { data.write(tag as *mut c_void) };
        }
        Ok(())
    };
    // SAFETY: contract 1.
    unsafe { tell(heap, cancel(), why) }
}

/// Takes the data that has waited longest.
///
/// # Safety
/// 1. `heap` is NULL or exists; `data` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_finalize_next(heap: Option<&HeapHandle>, data: *mut *mut c_void) -> bool {
    let Some(heap) = heap else { return false };
    let Some(tag) = (!data.is_null()).then(|| heap.heap.next_finalized()).flatten() else { return false };
    // SAFETY: contract 1.
    unsafe { data.write(tag as *mut c_void) };
    true
}

/// Queues all data that is registered.
///
/// # Safety
/// 1. `heap` is NULL or exists; `why` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_finalize_all(heap: Option<&HeapHandle>, why: *mut ErrorReport) -> Status {
    let queue = || {
        heap.ok_or(Error::Null("heap"))?.heap.finalize_all()?;
        Ok(())
    };
    // SAFETY: contract 1.
    unsafe { tell(heap, queue(), why) }
}
