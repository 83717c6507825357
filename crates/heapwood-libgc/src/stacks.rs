//! The bottom of a thread's stack: what the program asks of it, and where it moves it to. Invariant: `GC_stackbottom` is the first
//! thread's.

use crate::process::mutator;
use crate::report;
use crate::symbols::GC_stackbottom;
use crate::types::{Ptr, StackBase, StackFunction};
use core::ffi::c_int;
use core::ptr::from_ref;
use core::sync::atomic::Ordering::Relaxed;
use heapwood_os::threads::stack::StackBounds;

fn here() -> usize {
    match StackBounds::current() {
        Some(bounds) => bounds.high,
        None => report::abort(format_args!("the system does not say where a thread's stack ends")),
    }
}

/// A thread was attached: the first tells where its stack ends, unless the program has.
pub(crate) fn begin(is_first: bool) {
    if is_first && GC_stackbottom.load(Relaxed) == 0 {
        GC_stackbottom.store(here(), Relaxed);
    }
}

/// `GC_get_stack_base`: 0 if the system knows it.
///
/// # Safety
/// 1. `base` may be written.
pub(crate) unsafe fn stack_base(base: *mut StackBase) -> c_int {
    // SAFETY: contract 1.
    unsafe { base.write(StackBase { base: here() as Ptr }) };
    0
}

/// `GC_get_my_stackbottom`: a name of the thread, and the bottom of its stack.
///
/// # Safety
/// 1. `base` may be written.
pub(crate) unsafe fn my_bottom(base: *mut StackBase) -> Ptr {
    let mutator = mutator();
    // SAFETY: contract 1.
    unsafe { base.write(StackBase { base: here() as Ptr }) };
    from_ref(mutator).cast_mut().cast()
}

/// `GC_set_stackbottom`.
///
/// # Safety
/// 1. `base` can be read.
pub(crate) unsafe fn set_bottom(_thread: Ptr, base: *const StackBase) {
    // SAFETY: contract 1.
    let base = unsafe { base.read() }.base;
    GC_stackbottom.store(base as usize, Relaxed);
}

/// `GC_call_with_stack_base`.
///
/// # Safety
/// 1. The function may be called with the argument.
pub(crate) unsafe fn call_with_base(function: StackFunction, argument: Ptr) -> Ptr {
    let mut base = StackBase { base: here() as Ptr };
    // SAFETY: contract 1.
    unsafe { function(&mut base, argument) }
}
