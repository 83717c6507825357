//! Stacks that C registers, for fibers and coroutines, and the switches between them. A stack's name in C is its
//! address in the heap's table. Invariant: after a jump nothing here uses the mutator, because another thread may
//! return from it.

use crate::error::Error;
use crate::error_report::ErrorReport;
use crate::handle::HeapHandle;
use crate::roots::outside_of_callbacks;
use crate::status::Status;
use crate::threads::{refuse, tell};
use core::ffi::c_void;
use core::ptr::NonNull;
use heapwood_gc::{Mutator, StackRef};

/// The header's `hw_stack`.
#[repr(C)]
pub struct Stack([u8; 0]);

/// The stack that C names. NULL is the thread's own.
///
/// # Safety
/// 1. `stack` is NULL or came from [`hw_stack_range_add`], of a heap that exists as long as the result is used.
unsafe fn named(stack: *mut Stack) -> Option<StackRef> {
    // SAFETY: contract 1.
    NonNull::new(stack).map(|stack| unsafe { StackRef::from_address(stack.cast()) })
}

/// Registers the stack at `low..high`.
///
/// # Safety
/// 1. `heap` is NULL or exists; `out` and `why` are NULL or may be written.
/// 2. The stack stays readable until it is removed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_stack_range_add(
    heap: Option<&HeapHandle>,
    low: *mut c_void,
    high: *mut c_void,
    out: *mut *mut Stack,
    why: *mut ErrorReport,
) -> Status {
    let add = || {
        let heap = outside_of_callbacks(heap)?;
        if out.is_null() {
            return Err(Error::Null("out"));
        }
        // SAFETY: contract 2; and contract 1 for the writes.
        unsafe {
            let stack = heap.heap.roots().add_stack(low as usize..high as usize)?;
            out.write(stack.to_address().as_ptr().cast());
        }
        Ok(())
    };
    // SAFETY: contract 1.
    unsafe { tell(heap, add(), why) }
}

/// Removes a stack.
///
/// # Safety
/// 1. `heap` is NULL or exists; `why` is NULL or may be written.
/// 2. `stack` is NULL or came from [`hw_stack_range_add`] of this heap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_stack_range_remove(
    heap: Option<&HeapHandle>,
    stack: *mut Stack,
    why: *mut ErrorReport,
) -> Status {
    let remove = || {
        let heap = outside_of_callbacks(heap)?;
        // SAFETY: contract 2.
        unsafe {
            let stack = named(stack).ok_or(Error::Null("stack"))?;
            Ok(heap.heap.roots().remove_stack(stack)?)
        }
    };
    // SAFETY: contract 1.
    unsafe { tell(heap, remove(), why) }
}

/// Pushes the thread's registers on its stack and calls `jump(arg)`, which switches to another stack.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread; `to` is NULL or a stack of its heap.
/// 2. `jump` is NULL, or switches to that stack, and returns when a thread has switched back; it does not unwind.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_stack_switch(
    m: Option<&Mutator>,
    to: *mut Stack,
    jump: Option<unsafe extern "C" fn(*mut c_void)>,
    arg: *mut c_void,
) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    let Some(jump) = jump else { return refuse(m, Error::Null("jump")) };
    // SAFETY: contracts 1 and 2.
    match unsafe { m.stacks().switch(named(to), || jump(arg)) } {
        // Another thread's, perhaps, or detached: not looked at any more.
        Ok(()) => Status::OK,
        Err(refused) => refuse(m, refused.into()),
    }
}

/// Announces a switch to a stack. The words of the current stack from `sp` on are in use.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread; `to` is NULL or a stack of its heap.
/// 2. The thread switches to that stack before it announces anything else, and all saved registers lie at `sp` or
///    above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_stack_announce(m: Option<&Mutator>, to: *mut Stack, sp: *mut c_void) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    // SAFETY: contracts 1 and 2.
    match unsafe { m.stacks().announce(named(to), sp as usize) } {
        Ok(()) => Status::OK,
        Err(refused) => refuse(m, refused.into()),
    }
}
