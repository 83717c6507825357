//! Calls during which the thread does not use the heap, and calls inside these that do. Invariant: the words of the stack from the
//! outer call on are scanned all the time.

use crate::exports::types::{Callback, Ptr};
use crate::process::mutator;

/// `GC_do_blocking`: no collection waits for the thread meanwhile, nor interrupts its system calls.
///
/// # Safety
/// 1. The function may be called with the argument.
pub(crate) unsafe fn do_blocking(function: Callback, argument: Ptr) -> Ptr {
    // SAFETY: contract 1.
    let call = || unsafe { function(argument) };
    // On a stack that nobody knows a signal stops it where it is.
    mutator().blocking(call).unwrap_or_else(|_| call())
}

/// `GC_call_with_gc_active`.
///
/// # Safety
/// 1. The function may be called with the argument.
pub(crate) unsafe fn call_with_gc_active(function: Callback, argument: Ptr) -> Ptr {
    // SAFETY: contract 1.
    let call = || unsafe { function(argument) };
    match mutator().reenter(call) {
        Ok(result) => result,
        Err(why) => crate::report::abort(format_args!(
            "GC_call_with_gc_active: the thread cannot go on with the heap: {why}"
        )),
    }
}
