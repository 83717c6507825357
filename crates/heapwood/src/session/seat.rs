//! A thread's part in the heap of a session. Outside of visits the mutator rests: it counts as stopped, so that others collect. In
//! a visit it neither stops nor collects. Invariant: the mutator is this thread's, and in no other hands.

use super::mutation::Mutation;
use crate::heap::Inner;
use crate::mutator::Mutator;
use core::ptr::NonNull;
use heapwood_gc::settings::options::Stop;
use heapwood_gc::{Config, Heap, HeapError, StackGiven};
use heapwood_heap::Collection;
use std::sync::Arc;

/// No stack of a session's thread is scanned, so it may be any.
const ANY_STACK: StackGiven = StackGiven::Bounds(0, usize::MAX - 7);

pub(super) struct Seat {
    raw: NonNull<heapwood_gc::Mutator>,
    inner: Arc<Inner>,
}

/// Makes a heap for sessions: it stops threads by polls, scans no stacks and looks for no roots in libraries.
pub(super) fn new_heap(config: Config) -> Result<Arc<Inner>, HeapError> {
    Inner::new(config.conservative_stacks(false).library_roots(false).stop(Stop::Polls))
}

impl Seat {
    /// Attaches the thread.
    pub(super) fn new(inner: &Arc<Inner>) -> Result<Self, HeapError> {
        let raw = heapwood_gc::Mutator::attach_on(&inner.heap, ANY_STACK)?;
        // SAFETY: `alloc` and `try_alloc` write the value before they commit, and nothing else here makes an object of a mask's shape, or
        // of a program's without a header.
        unsafe { raw.types().write_values_whole() };
        raw.client_word().set(Arc::as_ptr(inner) as usize);
        raw.rest();
        Ok(Seat { raw: raw.into_raw(), inner: inner.clone() })
    }

    pub(super) fn heap(&self) -> &Heap {
        &self.inner.heap
    }

    /// Whether the thread is still attached. A session in a thread-local value may outlive that.
    #[inline]
    fn is_here(&self) -> bool {
        heapwood_gc::Mutator::here(&self.inner.heap) == Some(self.raw)
    }

    #[inline]
    fn mutator(&self) -> &heapwood_gc::Mutator {
        assert!(self.is_here(), "the thread has ended, and has left the session's heap");
        // SAFETY: it is attached, and this thread's.
        unsafe { self.raw.as_ref() }
    }

    /// Enters the heap until the visit is dropped.
    #[inline]
    pub(super) fn enter(&self) -> Visit<'_> {
        let mutator = self.mutator();
        if let Err(misuse) = mutator.begin_no_collection() {
            panic!("{misuse}");
        }
        Visit { mutator }
    }

    /// Collects what is owed.
    #[inline]
    pub(super) fn collect_owed(&self) -> bool {
        self.mutator().collect_owed().unwrap_or_else(|misuse| panic!("{misuse}"))
    }

    pub(super) fn collect(&self, kind: Collection) {
        if let Err(misuse) = self.mutator().collect_resting(kind) {
            panic!("{misuse}");
        }
    }

    /// Enters the heap, unless the thread has left it.
    pub(super) fn enter_if_here(&self) -> Option<Visit<'_>> {
        self.is_here().then(|| self.enter())
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if self.is_here() {
            // SAFETY: it is attached, this thread's, and not used afterwards.
            drop(unsafe { heapwood_gc::Attached::from_raw(self.raw) });
        }
    }
}

/// The thread is in its heap: no collection begins or ends.
pub(super) struct Visit<'s> {
    mutator: &'s heapwood_gc::Mutator,
}

impl Visit<'_> {
    /// The mutator. What it makes is alive until the visit ends, and afterwards as long as a root leads to it.
    #[inline]
    pub(super) fn mutator(&self) -> &Mutator {
        // SAFETY: a Mutator is a transparent gc::Mutator.
        unsafe { &*core::ptr::from_ref(self.mutator).cast::<Mutator>() }
    }

    /// The mutation, for functions that take one of any lifetime.
    #[inline]
    pub(super) fn mutation(&self) -> &'static Mutation<'static> {
        // SAFETY: a Mutation is a transparent Mutator. It is used by a function that cannot keep it, since it takes any lifetime.
        unsafe { &*core::ptr::from_ref(self.mutator()).cast::<Mutation<'static>>() }
    }
}

impl Drop for Visit<'_> {
    #[inline]
    fn drop(&mut self) {
        self.mutator.rest();
    }
}
