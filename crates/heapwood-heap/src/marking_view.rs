//! What a marker reads of a space beside the objects: the mark side and the allocation bits. It gives fewer rights than
//! [`Stopped`](crate::Stopped): it is valid beside mutators, too, as long as a full marking is under way.
//! Invariant: the sides do not swap while it exists.

use crate::address::ObjectRef;
use crate::granule::GRANULE_LOG;
use crate::marks::{Collection, MarkSide, Marks, observing};
use crate::spans::lookup::Spans;
use heapwood_os::threads::watched::AtomicU64;

/// The bits of a space, for a marker of a full marking.
#[derive(Clone, Copy)]
pub struct MarkingView<'s> {
    marks: &'s Marks,
    spans: &'s Spans,
    allocated: *const AtomicU64,
    base: usize,
}

impl<'s> MarkingView<'s> {
    pub(crate) fn new(marks: &'s Marks, spans: &'s Spans) -> Self {
        MarkingView { marks, spans, allocated: marks.allocation_words(), base: spans.base() }
    }

    /// The side that takes the marks of a full marking.
    pub fn mark_side(self) -> MarkSide {
        self.marks.mark_side(Collection::Full)
    }

    /// Whether an object outlived the last marking; false outside the heap.
    pub fn is_allocated(self, object: ObjectRef) -> bool {
        self.spans.contains(object.into()) && self.marks.is_allocated(object.get())
    }

    /// The same without a test of the address. After it the thread sees what was written before the bit was set: of a cell
    /// that the program has freed since the marking began, the freed bit.
    ///
    /// # Safety
    /// 1. It lies between the base and the committed end.
    #[inline(always)]
    pub unsafe fn is_allocated_in_heap(self, object: usize) -> bool {
        // SAFETY: contract 1.
        unsafe { self.is_allocated_at(object - self.base) }
    }

    /// The same for an object so many bytes from the heap's base.
    ///
    /// # Safety
    /// 1. It lies below the committed end.
    #[inline(always)]
    pub unsafe fn is_allocated_at(self, offset: usize) -> bool {
        // SAFETY: the bits below the committed end are committed (contract 1).
        let word = unsafe { &*self.allocated.add(offset >> (GRANULE_LOG + 6)) }.load(observing());
        word >> ((offset >> GRANULE_LOG) % 64) & 1 == 1
    }

    /// Prefetches the line of the allocation bit of an address so many bytes from the heap's base.
    #[inline(always)]
    pub fn prefetch(self, offset: usize) {
        crate::prefetch::for_read(self.allocated.wrapping_add(offset >> (GRANULE_LOG + 6)).cast());
    }
}
