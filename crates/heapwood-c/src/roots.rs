//! Roots that C registers: slots, ranges, handles. Frames need no function: the header links them inline.

use crate::heap::HeapHandle;
use crate::refusal::Refusal;
use crate::status::Status;
use crate::threads::refuse;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::AtomicUsize;
use heapwood_gc::roots::Handle;
use heapwood_gc::{Frame, Mutator, RootToken};

const WORD: usize = size_of::<usize>();

const _: () = assert!(core::mem::offset_of!(Frame, prev) == 0 && core::mem::offset_of!(Frame, count) == 8);
const _: () = assert!(core::mem::offset_of!(Frame, slots) == 16 && size_of::<Frame>() == 24);

/// Registers `n` slots; 0 if refused.
///
/// # Safety
/// 1. `heap` is NULL or exists.
/// 2. The slots stay readable, and hold null, addresses outside the heap or addresses of objects whenever a
///    collection may run, until the root is removed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_root_slots(heap: Option<&HeapHandle>, slots: *const usize, n: usize) -> u64 {
    let Some(heap) = heap else { return 0 };
    if slots.is_null() || !(slots as usize).is_multiple_of(WORD) || n > isize::MAX as usize / WORD {
        return 0;
    }
    // SAFETY: contract 2.
    unsafe { heap.heap.add_root_slots(slots, n) }.map_or(0, RootToken::to_bits)
}

/// Registers the aligned words of `lo..hi`; 0 if refused.
///
/// # Safety
/// 1. `heap` is NULL or exists.
/// 2. The range stays readable until the root is removed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_root_range(heap: Option<&HeapHandle>, lo: usize, hi: usize) -> u64 {
    let Some(heap) = heap else { return 0 };
    let (Some(start), end) = (lo.checked_next_multiple_of(WORD), hi & !(WORD - 1)) else { return 0 };
    if lo == 0 || hi < lo {
        return 0;
    }
    // SAFETY: contract 2, for the aligned words of the range.
    unsafe { heap.heap.add_root_range(start, end.max(start)) }.map_or(0, RootToken::to_bits)
}

/// Removes a root.
///
/// # Safety
/// 1. `heap` is NULL or exists.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_root_remove(heap: Option<&HeapHandle>, root: u64) -> Status {
    match heap {
        Some(heap) if heap.heap.remove_root(RootToken::from_bits(root)) => Status::OK,
        _ => Status::EINVAL,
    }
}

/// Makes a handle.
///
/// # Safety
/// 1. `m` is attached, and belongs to the calling thread.
/// 2. `object` is null, outside the heap, or the address of an object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_handle_new(m: &Mutator, object: usize) -> *mut AtomicUsize {
    if !object.is_multiple_of(WORD) {
        refuse(m, Refusal::NoObject(object));
        return null_mut();
    }
    match m.heap().new_handle(object) {
        Ok(handle) => handle.slot().as_ptr(),
        Err(e) => {
            refuse(m, e.into());
            null_mut()
        }
    }
}

/// Frees a handle.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread.
/// 2. No other thread uses the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_handle_free(m: Option<&Mutator>, handle: *mut AtomicUsize) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    let Some(slot) = NonNull::new(handle) else { return Status::OK };
    // SAFETY: free_handle checks the handle before anything is done with it.
    if m.heap().free_handle(unsafe { Handle::from_slot(slot) }) {
        return Status::OK;
    }
    refuse(m, Refusal::NoHandle(handle as usize))
}
