//! The functions that trace functions call. They name slots, or ranges of words that may be pointers. A slot is read by
//! one load, since the program may store to it at the same time.

use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_gc::Tracer;
use heapwood_layout::TraceContext;
use heapwood_layout::WORD;

fn word(at: usize) -> usize {
    // SAFETY: callers pass aligned words that the contracts below make readable.
    unsafe { AtomicUsize::from_ptr(at as *mut usize) }.load(Ordering::Relaxed)
}

/// Marks the object that `slot` refers to.
///
/// # Safety
/// 1. `tracer` is the argument of the trace function that calls this, and it is still running.
/// 2. `slot` is an aligned word that holds null, an address outside the heap, or the address of an object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_visit(tracer: *mut TraceContext, slot: *const usize) {
    // SAFETY: contracts 1 and 2.
    unsafe { Tracer::from_context(tracer).visit(word(slot as usize)) };
}

/// Marks every object that an aligned word of `lo..hi` points to or into.
///
/// # Safety
/// 1. `tracer` is the argument of the trace function that calls this, and it is still running.
/// 2. The range is readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_visit_range(tracer: *mut TraceContext, lo: *const usize, hi: *const usize) {
    // SAFETY: contract 1.
    let mut tracer = unsafe { Tracer::from_context(tracer) };
    let end = hi as usize & !(WORD - 1);
    let mut at = (lo as usize).next_multiple_of(WORD);
    while at < end {
        tracer.visit_ambiguous(word(at));
        at += WORD;
    }
}
