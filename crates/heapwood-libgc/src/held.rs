//! Objects that the collector does not free: `GC_malloc_uncollectable` and its like. They are roots, and lead to others as their
//! kind says, until the program frees them. Invariant: each has a handle of the heap, by its address.

use crate::address_map::AddressMap;
use crate::lock::Locked;
use crate::process::{heap, mutator};
use crate::types::Ptr;
use crate::{alloc, kinds, report};
use core::ffi::c_int;
use core::ptr::NonNull;
use heapwood_gc::Handle;
use heapwood_heap::Address;

static HANDLES: Locked<AddressMap> = Locked::new(AddressMap::new());

/// A held object of a kind.
pub(crate) fn allocate(n: usize, kind: u32) -> Ptr {
    let object = kinds::allocate(n, kind);
    if object.is_null() || hold(object) { object } else { alloc::out_of_memory(n) }
}

/// Holds an object; false if there is no memory for that.
pub(crate) fn hold(object: Ptr) -> bool {
    let address = object as usize;
    // SAFETY: it is an object's address.
    let handle = match unsafe { mutator().heap().roots().new_handle(Address::new(address)) } {
        Ok(handle) => handle,
        Err(error) => {
            report::warn(format_args!("An uncollectable object could not be made: {error}"));
            return false;
        }
    };
    let slot = handle.slot().as_ptr() as usize;
    if HANDLES.with(|handles| handles.insert(address, slot)).is_ok() {
        return true;
    }
    heap().roots().free_handle(handle);
    false
}

/// Whether an object is held.
pub(crate) fn is_held(object: usize) -> bool {
    HANDLES.with(|handles| handles.get(object)).is_some()
}

/// An object is held no more.
pub(crate) fn release(object: usize) {
    if let Some(slot) = HANDLES.with(|handles| if handles.len() == 0 { None } else { handles.remove(object) })
        && let Some(slot) = NonNull::new(slot as *mut _)
    {
        // SAFETY: it is the slot of a handle that is held.
        heap().roots().free_handle(unsafe { Handle::from_slot(slot) });
    }
}

/// `GC_malloc_uncollectable`.
pub(crate) fn malloc_uncollectable(n: usize) -> Ptr {
    allocate(n, kinds::NORMAL)
}

/// `GC_malloc_atomic_uncollectable`.
pub(crate) fn malloc_atomic_uncollectable(n: usize) -> Ptr {
    allocate(n, kinds::ATOMIC)
}

/// `GC_generic_malloc_uncollectable`.
pub(crate) fn generic_malloc_uncollectable(n: usize, kind: c_int) -> Ptr {
    allocate(n, kinds::without_hold(kind))
}

/// `GC_generic_or_special_malloc`: a kind may be that of held objects.
pub(crate) fn generic_or_special_malloc(n: usize, kind: c_int) -> Ptr {
    if kinds::is_of_held(kind) { generic_malloc_uncollectable(n, kind) } else { kinds::generic_malloc(n, kind) }
}
