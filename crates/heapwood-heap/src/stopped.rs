//! A stopped space. Some things are right only while no mutator runs: to end a marking, to walk over all spans, to set marks.
//! They are methods of a token, which nobody has without a promise that the world stands still. Invariant: while it
//! exists nobody sweeps but its holder.

use crate::address::ObjectRef;
use crate::alloc::owner::Owner;
use crate::alloc::promote::promote;
use crate::check::walker::Walker;
use crate::check::{owned, snapshot};
use crate::error::ValidationError;
use crate::layout::shapes::Shapes;
use crate::marks::{Collection, MarkSide};
use crate::pages::page_heap::PageHeap;
use crate::reclaim::sweeper::Sweeper;
use crate::spans::large_objects::LargeObjects;
use crate::spans::span::Span;
use heapwood_pages::PageCount;
use heapwood_pages::PageIndex;

/// A space that stands still as long as this exists ([`Space::stopped`](crate::Space::stopped)).
pub struct Stopped<'s> {
    sweeper: &'s Sweeper,
    shapes: &'s Shapes,
}

/// The spans that mutators allocate from: one for each shape that a mutator uses.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenSpans {
    /// The mutators that have some.
    pub mutators: usize,
    /// The bytes of all together.
    pub bytes: usize,
}

impl<'s> Stopped<'s> {
    /// Waits until nobody sweeps, and keeps it so.
    ///
    /// # Safety
    /// As [`Space::stopped`](crate::Space::stopped)'s.
    pub(crate) unsafe fn new(sweeper: &'s Sweeper, shapes: &'s Shapes) -> Self {
        sweeper.suspend();
        Stopped { sweeper, shapes }
    }

    fn heap(&self) -> &PageHeap {
        self.sweeper.heap()
    }

    /// Sweeps whatever has not been swept since the last marking: for checks, which want to see what is dead.
    pub fn finish_sweep(&self) {
        self.sweeper.finish_suspended();
    }

    /// The side that takes the marks of a collection. A young one marks beside what is old, which counts as marked.
    pub fn mark_side(&self, kind: Collection) -> MarkSide {
        self.heap().marks().mark_side(kind)
    }

    /// A full marking begins that goes on while mutators run; [`end_marking`](Stopped::end_marking) ends it. All that exists has
    /// its allocation bit: a young collection, or a promotion, has just ended. What does not have it is not looked at, and what
    /// gets it from now on is to be marked, too.
    pub fn begin_marking(&self) {
        self.heap().marks().begin_marking();
    }

    /// Large objects that no sweep has seen have what bits they have on both sides, and not on one alone as those that are made
    /// between two full markings: the sweep must know. A full marking that went on while mutators ran is about to end.
    pub fn note_large_survivors(&self) {
        let spans = self.heap().spans();
        for word in 0..LargeObjects::words_below(spans.end()) {
            let unseen = spans.large().unseen_in(word);
            unseen.for_each(|(page, _)| spans.at(page).set_survived());
        }
    }

    /// An object that the program [freed](Owner::free_later) during a concurrent marking, which is about to end, does not outlive
    /// it.
    pub fn forget_freed(&self, object: ObjectRef) {
        if self.heap().freed().take(object.get()) {
            // SAFETY: it was an object, and the marking is under way.
            unsafe { self.heap().marks().unmark(object.get()) };
        }
    }

    /// Whether an object is marked in the cycle under way; not if it lies outside the heap.
    #[inline]
    pub fn is_marked(&self, object: ObjectRef) -> bool {
        self.heap().spans().contains(object.into()) && self.heap().marks().is_marked(object.get())
    }

    /// Whether an object outlived the last marking that has ended; not if it lies outside the heap.
    #[inline]
    pub fn is_allocated(&self, object: ObjectRef) -> bool {
        self.heap().spans().contains(object.into()) && self.heap().marks().is_allocated(object.get())
    }

    /// Ends a marking. After a full one marks become allocation bits, and every span is unswept but those that mutators allocate
    /// from; after a young one those are that were allocated from since the one before. A new budget begins, after which the
    /// next is due. Returns how many bytes had been handed out since the last.
    ///
    /// `owners` are all mutators of the space, which were [published](Owner::publish) before the marking and not used since.
    pub fn end_marking<'m>(
        &self,
        kind: Collection,
        owners: impl Iterator<Item = Owner<'m>> + Clone,
        budget: usize,
        goal: usize,
    ) -> usize {
        self.sweeper.forget_dangling_marks();
        let mut central = self.sweeper.lock();
        owners.clone().for_each(|owner| owner.end_cycle(&mut central));
        let handed_out = self.sweeper.begin_cycle(&mut central, kind, budget, goal);
        owners.for_each(|owner| owner.begin_cycle(&mut central));
        handed_out
    }

    /// Everything that was made in this cycle counts as marked by a young collection, which it ends. `owners` are all mutators
    /// of the space, which were [published](Owner::publish). Returns how many objects were not marked, and their bytes.
    pub fn promote<'m>(&self, owners: impl Iterator<Item = Owner<'m>>) -> (usize, usize) {
        promote(self.sweeper, self.shapes, owners, false)
    }

    /// The same while a full marking is under way, which does not look at what was made since it began: it is marked, too.
    pub fn promote_marked<'m>(&self, owners: impl Iterator<Item = Owner<'m>>) -> (usize, usize) {
        promote(self.sweeper, self.shapes, owners, true)
    }

    /// How many bytes have been handed out since the last marking, or were left by arenas. `owners` are all mutators of the space.
    pub fn handed_out<'m>(&self, owners: impl Iterator<Item = Owner<'m>>) -> usize {
        let mut central = self.sweeper.lock();
        owners.for_each(|owner| owner.announce(&mut central));
        central.counts().in_cycle
    }

    /// How many of the bytes that were handed out since the last marking arenas have left to the collector: only a full marking
    /// frees those. As of [`handed_out`](Self::handed_out).
    pub fn left_by_arenas(&self) -> usize {
        self.sweeper.lock().counts().left_in_cycle
    }

    /// The spans that the `owners` allocate from.
    pub fn open_spans<'m>(&self, owners: impl Iterator<Item = Owner<'m>>) -> OpenSpans {
        let mut open = OpenSpans::default();
        for bytes in owners.map(|owner| owner.open_span_bytes()).filter(|&bytes| bytes != 0) {
            open.mutators += 1;
            open.bytes += bytes;
        }
        open
    }

    /// Calls `f` with each span and its first page, in order of address.
    pub fn for_each_span(&self, mut f: impl FnMut(PageIndex, &Span)) {
        self.heap().spans().iter().for_each(|(page, span)| f(page, span));
    }

    /// Calls `f` with each object that exists, and its size. Of a mutator that was not flushed some may be missing.
    pub fn for_each_object(&self, mut f: impl FnMut(ObjectRef, usize)) {
        for (_, span) in self.heap().spans().iter() {
            let exists = |cell: &ObjectRef| self.heap().exists(span, cell.get());
            span.iter().filter(exists).for_each(|object| f(object, span.object_bytes()));
        }
    }

    /// Checks everything that can be recomputed; `owners` are all mutators of the space.
    ///
    /// # Errors
    /// The first thing found wrong.
    pub fn is_valid<'m>(&self, owners: impl Iterator<Item = Owner<'m>>) -> Result<(), ValidationError> {
        Walker::new(self.sweeper, self.shapes).run(owners)
    }

    /// Calls `f` with the pages of each unswept span in which the last marking found nothing alive: a sweep would free them.
    pub fn for_each_dead_span(&self, f: impl FnMut(PageIndex, PageCount)) {
        snapshot::for_each_dead_span(self.heap(), f);
    }

    /// How many bytes mutators own and do not use: free cells of the spans they have taken, and pages they have cached. All
    /// mutators were [published](Owner::publish).
    pub fn owned_unused_bytes(&self) -> usize {
        owned::unused(self.sweeper)
    }

    /// Forgets that an object outlived the last marking: injects a fault.
    #[doc(hidden)]
    pub fn forget_allocated(&self, object: ObjectRef) {
        if self.heap().spans().find(object.into()).is_some() {
            // SAFETY: the cell lies in a span, and the heap is stopped.
            unsafe { self.heap().marks().forget_allocated(object.get()) };
        }
    }
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.sweeper.resume();
    }
}
