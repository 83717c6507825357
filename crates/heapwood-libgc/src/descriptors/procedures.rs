//! Mark procedures, by which a program says what an object refers to. They run where the collector marks: on the collecting thread,
//! and on its helpers once the program has said that it has threads. Invariant: a procedure, once made, stays.

use crate::exports::types::{Entry, MarkProc};
use crate::report;
use core::ffi::{c_uint, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// As many procedures has libgc, and as many are its own.
const MOST: usize = 64;
const RESERVED: u32 = 8;

static PROCEDURES: [AtomicPtr<c_void>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];
static COUNT: AtomicU32 = AtomicU32::new(RESERVED);

/// `GC_new_proc`.
pub(crate) fn new_proc(function: MarkProc) -> c_uint {
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    match PROCEDURES.get(number as usize) {
        Some(place) => place.store(function.map_or(null_mut(), |f| f as *mut c_void), Ordering::Release),
        None => report::abort(format_args!(
            "the program has made more than {} mark procedures",
            MOST as u32 - RESERVED
        )),
    }
    number
}

/// Calls a procedure; returns the top of the stack.
///
/// # Safety
/// 1. The object is one for the procedure; behind the limit is what marks.
pub(crate) unsafe fn call(
    number: usize,
    start: usize,
    (top, limit): (*mut Entry, *mut Entry),
    argument: usize,
) -> *mut Entry {
    let procedure = PROCEDURES[number].load(Ordering::Acquire);
    // SAFETY: null, or what the program has given.
    match unsafe { core::mem::transmute::<*mut c_void, MarkProc>(procedure) } {
        // SAFETY: contract 1.
        Some(procedure) => unsafe { procedure(start as *mut usize, top, limit, argument) },
        None => top,
    }
}
