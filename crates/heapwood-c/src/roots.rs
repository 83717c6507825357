//! Roots that C registers: slots, ranges, libraries, handles. Frames need no function: the header links them inline.

use crate::error::Error;
use crate::error_report::ErrorReport;
use crate::handle::HeapHandle;
use crate::status::Status;
use crate::threads::{refuse, tell};
use core::ffi::c_void;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::AtomicUsize;
use heapwood_gc::{Frame, Handle, Mutator, RootFunction, RootToken};
use heapwood_heap::Address;
use heapwood_layout::{TraceContext, WORD};

const _: () = assert!(core::mem::offset_of!(Frame, prev) == 0 && core::mem::offset_of!(Frame, count) == 8);
const _: () = assert!(core::mem::offset_of!(Frame, slots) == 16 && size_of::<Frame>() == 24);

/// Reports a root to C: its number, or 0 and the reason.
///
/// # Safety
/// 1. `heap` is NULL or exists; `why` is NULL or may be written.
unsafe fn root_or_zero(
    heap: Option<&HeapHandle>,
    result: Result<RootToken, Error>,
    why: *mut ErrorReport,
) -> u64 {
    let root = result.as_ref().map_or(0, |token| token.to_bits());
    // SAFETY: contract 1.
    unsafe { tell(heap, result.map(|_| ()), why) };
    root
}

/// The heap, if the calling thread may change its roots now.
pub(crate) fn outside_of_callbacks(heap: Option<&HeapHandle>) -> Result<&HeapHandle, Error> {
    let heap = heap.ok_or(Error::Null("heap"))?;
    heap.heap.check_callback()?;
    Ok(heap)
}

/// The same for the handles of a mutator's heap, quick where the mutator may be used.
fn may_change_handles(m: &Mutator) -> Result<(), Error> {
    match m.check() {
        Ok(()) => Ok(()),
        Err(_) => Ok(m.heap().check_callback()?),
    }
}

/// Registers `n` slots. 0 is an error.
///
/// # Safety
/// 1. `heap` is NULL or exists; `why` is NULL or may be written.
/// 2. The slots stay readable, and hold null, addresses outside the heap or addresses of objects whenever a
///    collection may run, until the root is removed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_root_slots(
    heap: Option<&HeapHandle>,
    slots: *const usize,
    n: usize,
    why: *mut ErrorReport,
) -> u64 {
    let register = || {
        let heap = outside_of_callbacks(heap)?;
        if slots.is_null() {
            return Err(Error::Null("slots"));
        }
        if !(slots as usize).is_multiple_of(WORD) {
            return Err(Error::NoSlot(slots as usize));
        }
        if n > isize::MAX as usize / WORD {
            return Err(Error::SlotCount(n));
        }
        // SAFETY: contract 2.
        Ok(unsafe { heap.heap.roots().add_slots(slots, n) }?)
    };
    // SAFETY: contract 1.
    unsafe { root_or_zero(heap, register(), why) }
}

/// Registers the aligned words of `lo..hi`. 0 is an error.
///
/// # Safety
/// 1. `heap` is NULL or exists; `why` is NULL or may be written.
/// 2. The range stays readable until the root is removed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_root_range(
    heap: Option<&HeapHandle>,
    lo: usize,
    hi: usize,
    why: *mut ErrorReport,
) -> u64 {
    let register = || {
        let heap = outside_of_callbacks(heap)?;
        if lo == 0 {
            return Err(Error::Null("lo"));
        }
        let (Some(start), true) = (lo.checked_next_multiple_of(WORD), lo <= hi) else {
            return Err(Error::Range(lo, hi));
        };
        // SAFETY: contract 2, for the aligned words of the range.
        Ok(unsafe { heap.heap.roots().add_range(start, (hi & !(WORD - 1)).max(start)) }?)
    };
    // SAFETY: contract 1.
    unsafe { root_or_zero(heap, register(), why) }
}

/// Registers the data of the library that contains an address. 0 is an error.
///
/// # Safety
/// 1. `heap` is NULL or exists; `why` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_roots_add_dso(
    heap: Option<&HeapHandle>,
    address: usize,
    why: *mut ErrorReport,
) -> u64 {
    let register = || {
        let heap = outside_of_callbacks(heap)?;
        if address == 0 {
            return Err(Error::Null("address"));
        }
        Ok(heap.heap.roots().add_library(address)?)
    };
    // SAFETY: contract 1.
    unsafe { root_or_zero(heap, register(), why) }
}

/// The header's `hw_root_fn`.
pub type RootFn = unsafe extern "C" fn(*mut c_void, *mut TraceContext);

/// Registers a function that names roots. 0 is an error.
///
/// # Safety
/// 1. `heap` is NULL or exists; `why` is NULL or may be written.
/// 2. Until the root is removed, any thread may call `f` with `arg`, and it keeps the header's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_root_function(
    heap: Option<&HeapHandle>,
    f: Option<RootFn>,
    arg: *mut c_void,
    why: *mut ErrorReport,
) -> u64 {
    let register = || {
        let heap = outside_of_callbacks(heap)?;
        let function = f.ok_or(Error::Null("fn"))?;
        // SAFETY: contract 2.
        Ok(unsafe { heap.heap.roots().add_function(RootFunction { function, argument: arg }) }?)
    };
    // SAFETY: contract 1.
    unsafe { root_or_zero(heap, register(), why) }
}

/// Removes a root.
///
/// # Safety
/// 1. `heap` is NULL or exists; `why` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_root_remove(
    heap: Option<&HeapHandle>,
    root: u64,
    why: *mut ErrorReport,
) -> Status {
    let remove = || {
        let heap = outside_of_callbacks(heap)?;
        heap.heap.roots().remove(RootToken::from_bits(root)).then_some(()).ok_or(Error::NoRoot(root))
    };
    // SAFETY: contract 1.
    unsafe { tell(heap, remove(), why) }
}

/// Makes a handle.
///
/// # Safety
/// 1. `m` is attached, and belongs to the calling thread.
/// 2. `object` is null, outside the heap, or the address of an object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_handle_new(m: &Mutator, object: usize) -> *mut AtomicUsize {
    if let Err(misuse) = may_change_handles(m) {
        refuse(m, misuse);
        return null_mut();
    }
    if !may_be_held(m, object) {
        refuse(m, Error::NoObject(object));
        return null_mut();
    }
    // SAFETY: contract 2.
    match unsafe { m.heap().roots().new_handle(Address::new(object)) } {
        Ok(handle) => handle.slot().as_ptr(),
        Err(e) => {
            refuse(m, e.into());
            null_mut()
        }
    }
}

/// Stores into a handle.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread.
/// 2. `object` is the address of an object, if it is that of a cell.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_handle_set(
    m: Option<&Mutator>,
    handle: *mut AtomicUsize,
    object: usize,
) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    if handle.is_null() {
        return refuse(m, Error::Null("handle"));
    }
    if let Err(misuse) = may_change_handles(m) {
        return refuse(m, misuse);
    }
    let Some(handle) = m.heap().roots().held_handle(handle as usize) else {
        return refuse(m, Error::NoHandle(handle as usize));
    };
    if !may_be_held(m, object) {
        return refuse(m, Error::NoObject(object));
    }
    // SAFETY: it is held, and contract 2.
    unsafe { m.heap().roots().set_handle(handle, Address::new(object)) };
    Status::OK
}

/// Whether a handle may hold this: null, or an address where an object may begin.
fn may_be_held(m: &Mutator, object: usize) -> bool {
    object == 0 || object.is_multiple_of(WORD) && m.heap().objects().may_begin(object)
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
    if let Err(misuse) = may_change_handles(m) {
        return refuse(m, misuse);
    }
    // SAFETY: free_handle checks the handle before anything is done with it.
    if m.heap().roots().free_handle(unsafe { Handle::from_slot(slot) }) {
        return Status::OK;
    }
    refuse(m, Error::NoHandle(handle as usize))
}
