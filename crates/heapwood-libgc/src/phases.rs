//! What the program does in collections: callbacks, and roots that only it knows. Invariant: its functions are called on a thread
//! of its own.

use crate::finalizers;
use crate::types::{Const, Ptr};
use core::ffi::c_int;
use heapwood_gc::Heap;

/// The heap was made.
pub(crate) fn begin(heap: &'static Heap) {
    finalizers::begin(heap);
}

/// `GC_push_all`: words that may be pointers, from `GC_push_other_roots`.
pub(crate) fn push_all(_low: Ptr, _high: Ptr) {}

/// `GC_push_conditional`.
pub(crate) fn push_conditional(low: Ptr, high: Ptr, _all: c_int) {
    push_all(low, high);
}

/// `GC_is_marked`.
pub(crate) fn is_marked(object: Const) -> c_int {
    crate::lookup::object(object as usize).is_some().into()
}

/// `GC_set_mark_bit`.
pub(crate) fn set_mark_bit(_object: Const) {}
