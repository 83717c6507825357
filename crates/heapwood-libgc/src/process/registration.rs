//! Threads that the program registers and unregisters itself. Invariant: a registered thread is attached to the heap.

use crate::exports::types::StackBase;
use crate::process::start;
use crate::process::{self, attached_mutator};
use crate::threads::expect_threads;
use core::ffi::c_int;
use core::ptr::NonNull;
use heapwood_gc::{Attached, StackGiven};

const SUCCESS: c_int = 0;
const DUPLICATE: c_int = 1;

/// `GC_allow_register_threads`, and `GC_start_mark_threads`.
pub(crate) fn allow() {
    process::mutator();
    expect_threads();
}

/// `GC_register_my_thread`: 1 if it is registered.
///
/// # Safety
/// 1. The words of the stack from here to the base, if that is another stack than the thread's own, stay readable.
pub(crate) unsafe fn register(base: *const StackBase) -> c_int {
    if attached_mutator().is_some() {
        return DUPLICATE;
    }
    expect_threads();
    let here = 0u8;
    let here = &raw const here as usize;
    let own = heapwood_os::threads::stack::StackBounds::current();
    let stack = match own {
        Some(own) if (own.low..own.high).contains(&here) => StackGiven::Own,
        // SAFETY: contract 1.
        _ if !base.is_null() => StackGiven::Bounds(here & !4095, unsafe { base.read() }.base as usize),
        _ => StackGiven::Own,
    };
    start::attach(stack);
    SUCCESS
}

/// `GC_unregister_my_thread`.
pub(crate) fn unregister() -> c_int {
    if let Some(mutator) = attached_mutator() {
        // SAFETY: it is the thread's, which uses it no more.
        drop(unsafe { Attached::from_raw(NonNull::from(mutator)) });
    }
    SUCCESS
}

/// `GC_thread_is_registered`.
pub(crate) fn is_registered() -> c_int {
    attached_mutator().is_some().into()
}
