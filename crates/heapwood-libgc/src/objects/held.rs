//! Objects that the collector does not free: `GC_malloc_uncollectable` and its like. They are roots, and lead to others as their
//! kind says, until the program frees them. Invariant: the heap holds each by its address.

use crate::exports::types::Ptr;
use crate::objects::alloc;
use crate::objects::kinds;
use crate::process::mutator;
use crate::report;
use core::ffi::c_int;
use core::ptr::NonNull;

/// A held object of a kind.
pub(crate) fn allocate(n: usize, kind: u32) -> Ptr {
    let object = kinds::allocate(n, kind);
    if object.is_null() || hold(object) { object } else { alloc::out_of_memory(n) }
}

/// Holds an object; false if there is no memory for that.
pub(crate) fn hold(object: Ptr) -> bool {
    let Some(at) = NonNull::new(object.cast()) else { return false };
    let held = mutator().hold(at);
    if let Err(error) = &held {
        report::warn(format_args!("{object:p} cannot be held: {error}"));
    }
    held.is_ok()
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
    if kinds::is_of_held(kind) { generic_malloc_uncollectable(n, kind) } else { generic_malloc(n, kind) }
}

/// `GC_generic_malloc`, and `GC_malloc_kind`.
pub(crate) fn generic_malloc(n: usize, kind: c_int) -> Ptr {
    let made = kinds::without_hold(kind);
    if kinds::is_of_held(kind) { allocate(n, made) } else { kinds::allocate(n, made) }
}
