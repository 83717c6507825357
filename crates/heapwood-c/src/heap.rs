//! Creating and destroying heaps. Invariant: a heap is not destroyed while threads are attached, or data of finalisers is left.

use crate::error::Error;
use crate::error_report::ErrorReport;
use crate::handle::HeapHandle;
use crate::options::Options;
use crate::status::Status;
use crate::threads::tell;
use core::ptr::NonNull;
use heapwood_gc::HeapError;
use heapwood_os::MappedBox;

/// Makes a heap.
///
/// # Safety
/// 1. `options` is NULL or readable as its size field says; `out` and `why` are NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_heap_create(
    options: *const Options,
    out: *mut *mut HeapHandle,
    why: *mut ErrorReport,
) -> Status {
    let create = || {
        if out.is_null() {
            return Err(Error::Null("out"));
        }
        let options = if options.is_null() {
            Options::defaults(size_of::<Options>())
        } else {
            // SAFETY: contract 1.
            unsafe { Options::read(options)? }
        };
        let heap = HeapHandle::create(options.config()?)?;
        // SAFETY: contract 1.
        unsafe { out.write(heap.as_ptr()) };
        Ok(())
    };
    // SAFETY: contract 1.
    unsafe { ErrorReport::tell(create(), why) }
}

/// Destroys a heap, unless threads are attached, or finalisers are left.
///
/// # Safety
/// 1. `heap` is NULL or came from [`hw_heap_create`] and was not destroyed; no other thread uses it during the call.
///    `why` is NULL or may be written.
/// 2. After success neither the heap nor an object in it is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_heap_destroy(heap: *mut HeapHandle, why: *mut ErrorReport) -> Status {
    let destroy = || {
        let Some(heap) = NonNull::new(heap) else { return Ok(()) };
        // SAFETY: contract 1.
        let count = unsafe { heap.as_ref() }.heap.mutators();
        if count != 0 {
            return Err(HeapError::MutatorsAttached { count }.into());
        }
        // SAFETY: contract 1.
        let (registered, queued) = unsafe { heap.as_ref() }.heap.finalizers();
        if registered + queued != 0 {
            return Err(HeapError::Finalizers { count: registered + queued }.into());
        }
        // SAFETY: contracts 1 and 2.
        drop(unsafe { MappedBox::from_raw(heap) });
        Ok(())
    };
    let result = destroy();
    // SAFETY: contract 1; a heap that was refused exists.
    unsafe { tell(if result.is_err() { heap.as_ref() } else { None }, result, why) }
}
