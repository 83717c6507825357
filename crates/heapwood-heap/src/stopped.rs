//! A stopped space. Some things are right only while no mutator runs: to end a marking, to walk over all spans, to set marks.
//! They are methods of a token, which nobody has without a promise that the world stands still. Invariant: while it
//! exists nobody sweeps but its holder.

use crate::address::{Address, ObjectRef};
use crate::marks::MarkSide;
use crate::space::Space;
use crate::span::Span;
use crate::walker::Invalid;
use heapwood_pages::{PageCount, PageIndex};

/// A space that stands still as long as this exists ([`Space::stopped`]).
pub struct Stopped<'s> {
    space: &'s Space,
}

impl<'s> Stopped<'s> {
    pub(crate) fn new(space: &'s Space) -> Self {
        space.suspend_sweeping();
        Stopped { space }
    }

    /// Sweeps whatever has not been swept since the last marking, but for what mutators have taken home.
    pub fn finish_sweep(&self) {
        self.space.sweep_as_collector();
    }

    /// The side that takes marks.
    pub fn mark_side(&self) -> MarkSide {
        self.space.marks.mark_side()
    }

    /// Whether an object is marked in the cycle under way; not if it lies outside the heap.
    #[inline]
    pub fn is_marked(&self, object: ObjectRef) -> bool {
        self.space.contains(object.into()) && self.space.marks.is_marked(object.get())
    }

    /// Whether an object outlived the last marking that has ended; not if it lies outside the heap.
    #[inline]
    pub fn is_allocated(&self, object: ObjectRef) -> bool {
        self.space.contains(object.into()) && self.space.marks.is_allocated(object.get())
    }

    /// Ends a marking: marks become allocation bits, every span is unswept, and a new budget begins. Returns how
    /// many bytes had been handed out since the last.
    ///
    /// The mutators are flushed before the marking; what they own is lost otherwise.
    pub fn end_marking(&self, budget: usize) -> usize {
        self.space.end_marking(budget)
    }

    /// Calls `f` with each span and its first page, in order of address.
    pub fn for_each_span(&self, f: impl FnMut(PageIndex, &Span)) {
        self.space.for_each_span(f);
    }

    /// Calls `f` with each object that exists, and its size. Of a mutator that was not flushed some may be missing.
    pub fn for_each_object(&self, f: impl FnMut(ObjectRef, usize)) {
        self.space.for_each_object(f);
    }

    /// Checks everything that can be recomputed. All mutators must be flushed.
    ///
    /// # Errors
    /// The first thing found wrong.
    pub fn is_valid(&self) -> Result<(), Invalid> {
        self.space.is_valid()
    }

    /// Calls `f` with the pages of each unswept span in which the last marking found nothing alive: a sweep would free them.
    pub fn for_each_dead_span(&self, f: impl FnMut(PageIndex, PageCount)) {
        self.space.for_each_dead_span(f);
    }

    /// Forgets that an object outlived the last marking: injects a fault.
    #[doc(hidden)]
    pub fn forget_allocated(&self, object: ObjectRef) {
        if self.space.find_span(Address::from(object)).is_some() {
            // SAFETY: the cell lies in a span, and the heap is stopped.
            unsafe { self.space.marks.forget_allocated(object.get()) };
        }
    }
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.space.resume_sweeping();
    }
}
