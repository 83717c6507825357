//! Attaching: a thread becomes a mutator of a heap, until what it was given is dropped. Invariant: a thread is attached to a
//! heap at most once, and the heap lives as long as it is.

use crate::heap::{Heap, Inner};
use crate::mutator::Mutator;
use core::fmt;
use core::ops::Deref;
use heapwood_gc::HeapError;
use std::sync::Arc;

impl Heap {
    /// Attaches the calling thread, until what is returned is dropped.
    ///
    /// A thread may be attached to several heaps: while it waits in one, to collect or to be stopped, it counts as stopped in
    /// all that it was attached to on this stack; inside [`Mutator::blocking`] it uses none of them. Where it allocates in one it
    /// answers the collections of all; using one for long without allocating, it polls the others.
    ///
    /// # Errors
    /// No memory for the mutator, or the system does not say where the thread's stack ends.
    ///
    /// # Panics
    /// If the thread is attached to this heap already: pass the [`Mutator`] on instead.
    pub fn attach(&self) -> Result<Attached, HeapError> {
        Attached::new(self.inner.clone())
    }
}

/// The calling thread's attachment to a heap: a [`Mutator`] to borrow, until it is dropped.
pub struct Attached {
    /// Dropped first.
    raw: heapwood_gc::Attached<'static>,
    /// Keeps the heap alive.
    _inner: Arc<Inner>,
}

impl Attached {
    pub(crate) fn new(inner: Arc<Inner>) -> Result<Self, HeapError> {
        let raw = match heapwood_gc::Mutator::attach(&inner.heap, None) {
            Err(error @ HeapError::AttachedAlready) => panic!("{error}"),
            attached => attached?,
        };
        // SAFETY: given just now, to this thread; `inner` keeps the heap longer.
        let raw = unsafe { heapwood_gc::Attached::from_raw(raw.into_raw()) };
        // SAFETY: `alloc` and `try_alloc` write the value before they commit, and nothing else here makes an object
        // of a mask's shape, or of a program's without a header.
        unsafe { raw.write_values_whole() };
        raw.client_word().set(Arc::as_ptr(&inner) as usize);
        Ok(Attached { raw, _inner: inner })
    }
}

impl Deref for Attached {
    type Target = Mutator;
    #[inline(always)]
    fn deref(&self) -> &Mutator {
        let raw: *const heapwood_gc::Mutator = &raw const *self.raw;
        // SAFETY: a Mutator is a gc::Mutator in all but name.
        unsafe { &*raw.cast::<Mutator>() }
    }
}

impl fmt::Debug for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
