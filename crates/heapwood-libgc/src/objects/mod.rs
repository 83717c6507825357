//! Objects by their addresses, and their end. Invariant: what is said of an object is exact for each that the caller can know of,
//! whoever has made it.

pub(crate) mod aligned;
pub(crate) mod alloc;
pub(crate) mod chains;
pub(crate) mod checks;
pub(crate) mod held;
pub(crate) mod interior;
pub(crate) mod kinds;
pub(crate) mod lookup;
pub(crate) mod strings;

use crate::exports::types::{Const, Ptr};
use crate::objects::alloc::malloc;
use crate::process::{made, mutator};
use crate::report;
use core::ffi::c_int;
use core::ptr::{NonNull, null_mut};
use heapwood_heap::Address;

/// `GC_base`: the first byte of the object that an address points to or into; null if there is none.
pub(crate) fn base(address: Ptr) -> Ptr {
    lookup::object(address as usize).map_or(null_mut(), |object| object.base as Ptr)
}

/// `GC_size`: the bytes that an object may use.
pub(crate) fn size(object: Const) -> usize {
    lookup::object(object as usize).map_or(0, |object| object.bytes)
}

/// `GC_is_heap_ptr`: whether an address lies in memory that the heap has for objects.
pub(crate) fn is_heap_ptr(address: Const) -> c_int {
    let is_ours = made().is_some_and(|heap| {
        let (space, at) = (heap.space(), Address::new(address as usize));
        space.contains(at) && (space.find_span(at).is_some() || lookup::object(address as usize).is_some())
    });
    is_ours.into()
}

/// `GC_free`. An object with a finalizer is left to the collector; what is no object is ignored, as null is.
///
/// # Safety
/// 1. Nobody uses the object afterwards.
pub(crate) unsafe fn free(object: Ptr) {
    let Some(at) = NonNull::new(object.cast::<u8>()) else { return };
    let mutator = mutator();
    // SAFETY: contract 1. What is refused stays an object, which the collector frees.
    let _ = unsafe { mutator.free(at) };
}

/// `GC_realloc`. The object is of the same kind, and held if it was.
///
/// # Safety
/// 1. Nobody uses the old object afterwards, if the result is another.
pub(crate) unsafe fn realloc(object: Ptr, n: usize) -> Ptr {
    if object.is_null() {
        return malloc(n);
    }
    if n == 0 {
        // SAFETY: contract 1.
        unsafe { free(object) };
        return null_mut();
    }
    let Some(old) = lookup::object(object as usize) else {
        report::abort(format_args!("GC_realloc: {object:p} is no object: it was freed, or never one"))
    };
    let wanted = interior::padded(n);
    // A large part that would lie idle is worth a copy.
    if wanted <= old.bytes && wanted >= old.bytes / 2 {
        if old.has_pointers() {
            // What is behind the object is no pointer of it any more.
            // SAFETY: the bytes are the object's, which has no others to be kept (contract 1).
            unsafe { object.cast::<u8>().add(n).write_bytes(0, old.bytes - n) };
        }
        return object;
    }
    let new = match old.is_held {
        true => held::allocate(n, old.kind),
        false => kinds::allocate(n, old.kind),
    };
    if !new.is_null() {
        // SAFETY: both are objects of so many bytes; contract 1.
        unsafe {
            core::ptr::copy_nonoverlapping(object.cast::<u8>(), new.cast(), n.min(old.bytes));
            free(object);
        }
    }
    new
}
