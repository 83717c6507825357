//! Calls during which the thread does not use the heap, and calls inside these that do. Invariant: the words of the stack from the
//! outer call on are scanned all the time.

use crate::types::{Callback, Ptr};

/// `GC_do_blocking`.
///
/// # Safety
/// 1. The function may be called with the argument.
pub(crate) unsafe fn do_blocking(function: Callback, argument: Ptr) -> Ptr {
    // SAFETY: contract 1. A signal stops the thread wherever it is.
    unsafe { function(argument) }
}

/// `GC_call_with_gc_active`.
///
/// # Safety
/// 1. The function may be called with the argument.
pub(crate) unsafe fn call_with_gc_active(function: Callback, argument: Ptr) -> Ptr {
    // SAFETY: contract 1.
    unsafe { function(argument) }
}
