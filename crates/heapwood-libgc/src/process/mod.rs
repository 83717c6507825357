//! The heap of the process, and the calling thread's mutator. The first call that needs the heap makes it; a thread that was not
//! registered and allocates is registered then, where libgc would end the process. Invariant: the heap, once made, stays for good, at
//! one address.

pub(crate) mod announce;
pub(crate) mod environment;
pub(crate) mod registration;
pub(crate) mod slot;
pub(crate) mod start;
pub(crate) mod stress;

use core::ffi::c_int;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};
use heapwood_gc::{Heap, Mutator};

static HEAP: AtomicPtr<Heap> = AtomicPtr::new(null_mut());

unsafe extern "C-unwind" {
    /// The library's own, by its exported name: what it calls uses what is here.
    fn GC_init();
}

/// Makes the heap, if it was not made, and attaches the calling thread.
#[cold]
fn begin() {
    // SAFETY: it may be called at any time.
    unsafe { GC_init() };
}

/// The heap was made.
pub(crate) fn set(heap: &'static Heap) {
    HEAP.store(core::ptr::from_ref(heap).cast_mut(), Ordering::Release);
}

/// The heap, if it was made.
#[inline]
pub(crate) fn made() -> Option<&'static Heap> {
    // SAFETY: null, or the heap, which stays.
    unsafe { HEAP.load(Ordering::Acquire).as_ref() }
}

/// The heap.
#[inline]
pub(crate) fn heap() -> &'static Heap {
    made().unwrap_or_else(|| {
        begin();
        made().expect("GC_init makes the heap")
    })
}

/// The calling thread's mutator. Attaches the thread if it is not.
#[inline]
pub(crate) fn mutator() -> &'static Mutator {
    slot::mutator().unwrap_or_else(attached)
}

/// The calling thread's mutator, if it is attached.
pub(crate) fn attached_mutator() -> Option<&'static Mutator> {
    // SAFETY: it is this thread's.
    slot::mutator().or_else(|| Mutator::here(made()?).map(|mutator| unsafe { mutator.as_ref() }))
}

#[cold]
fn attached() -> &'static Mutator {
    attached_mutator().unwrap_or_else(|| {
        begin();
        attached_mutator().expect("GC_init attaches its thread")
    })
}

/// Whether there is a heap.
pub(crate) fn is_init_called() -> c_int {
    made().is_some().into()
}
