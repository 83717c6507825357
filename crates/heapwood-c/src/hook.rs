//! The hook of a heap's collections, and the epoch. Invariant: the function is never called on a thread of the heap's own.

use crate::error::Error;
use crate::error_report::ErrorReport;
use crate::handle::HeapHandle;
use crate::status::Status;
use crate::threads::tell;
use core::ffi::c_void;
use heapwood_gc::{CollectionHook, CollectionKind, CollectionMoment};

/// The header's `hw_collection_fn`.
pub type CollectionFn = unsafe extern "C" fn(*mut c_void, CollectionMoment, CollectionKind);

/// Sets the function that is called in each pause, or removes it.
///
/// # Safety
/// 1. `heap` is NULL or exists; `why` is NULL or may be written.
/// 2. Until it is replaced, any thread may call `f` with `arg`, and it keeps the header's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_on_collection(
    heap: Option<&HeapHandle>,
    f: Option<CollectionFn>,
    arg: *mut c_void,
    why: *mut ErrorReport,
) -> Status {
    let set = || {
        let heap = heap.ok_or(Error::Null("heap"))?;
        // SAFETY: contract 2.
        unsafe { heap.heap.on_collection(f.map(|function| CollectionHook { function, argument: arg })) }?;
        Ok(())
    };
    // SAFETY: contract 1.
    unsafe { tell(heap, set(), why) }
}

/// How many full collections have ended.
///
/// # Safety
/// 1. `heap` is NULL or exists.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_full_collections(heap: Option<&HeapHandle>) -> u64 {
    heap.map_or(0, |heap| heap.heap.full_collections())
}
