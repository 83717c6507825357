//! The mutators of the calling thread, one for each heap it is attached to, and their end when the thread ends.
//!
//! This is the one place of the library with something of the process's own: a key for a thread-specific value, which
//! the C library calls a function for as a thread that has one exits. The value is the first of the thread's mutators,
//! linked through themselves; so nothing is allocated, and a thread that forgets to detach is detached. Invariant: a
//! mutator is in its thread's list from when it is attached until it is detached, and only its thread walks the list.

use crate::error::HeapError;
use crate::heap::Heap;
use crate::mutator::Mutator;
use core::ffi::c_void;
use core::ptr::NonNull;
use heapwood_os::ThreadValue;

// SAFETY: what is stored are attached mutators of the storing thread, which is what `thread_ends` takes.
static FIRST: ThreadValue = unsafe { ThreadValue::new(thread_ends) };

fn first() -> *const Mutator {
    FIRST.get().cast()
}

fn set_first(mutator: *const Mutator) -> Result<(), HeapError> {
    FIRST.set(mutator.cast_mut().cast()).map_err(|_| HeapError::ThreadKeys)
}

/// The calling thread's mutator of a heap, if it is attached.
pub(crate) fn mutator_of(heap: &Heap) -> Option<NonNull<Mutator>> {
    let mut at = first();
    // SAFETY: the list holds attached mutators of this thread, and nobody else changes it.
    while let Some(mutator) = unsafe { at.as_ref() } {
        if core::ptr::eq(mutator.heap(), heap) {
            return Some(NonNull::from(mutator));
        }
        at = mutator.next_of_thread.get();
    }
    None
}

/// The calling thread is being attached through this mutator.
pub(crate) fn add(mutator: &Mutator) -> Result<(), HeapError> {
    mutator.next_of_thread.set(first());
    set_first(mutator)
}

/// The calling thread is being detached.
pub(crate) fn remove(mutator: &Mutator) {
    let next = mutator.next_of_thread.get();
    if core::ptr::eq(first(), mutator) {
        // A value that has a place needs no memory.
        let _ = set_first(next);
        return;
    }
    let mut at = first();
    // SAFETY: as for `mutator_of`.
    while let Some(before) = unsafe { at.as_ref() } {
        if core::ptr::eq(before.next_of_thread.get(), mutator) {
            before.next_of_thread.set(next);
            return;
        }
        at = before.next_of_thread.get();
    }
}

/// Detaches a thread that exits: it no longer keeps anybody waiting.
unsafe extern "C" fn thread_ends(value: *mut c_void) {
    // The value is taken away before this is called; it is what `remove` works on.
    let _ = set_first(value.cast());
    while let Some(mutator) = NonNull::new(first().cast_mut()) {
        // SAFETY: it is attached, and its thread is the one that is ending. It uses the heap no more.
        unsafe { Mutator::detach(mutator) };
    }
}
