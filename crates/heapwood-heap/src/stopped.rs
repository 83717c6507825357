//! A stopped space. Some operations are valid only while no mutator runs: ending a marking, walking over all spans,
//! setting marks. They are methods of a token that only a promise of a stopped world creates. Invariant: while it
//! exists, only its holder sweeps.

use crate::address::ObjectRef;
use crate::alloc::owner::Owner;
use crate::alloc::promote::{promote, set_bits_of_cells};
use crate::check::parts::SpaceParts;
use crate::check::snapshot;
use crate::check::walker::Walker;
use crate::error::ValidationError;
use crate::layout::shapes::Shapes;
use crate::marking_view::MarkingView;
use crate::marks::{Collection, MarkSide};
use crate::pages::page_heap::PageHeap;
use crate::reclaim::sweeper::Sweeper;
use crate::space::Space;
use crate::spans::span::Span;
use core::cell::Cell;
use heapwood_pages::PageCount;
use heapwood_pages::PageIndex;

/// Bytes that were allocated since the last marking.
#[derive(Clone, Copy, Debug)]
pub struct AllocatedInCycle {
    /// All, with those that arenas have left to the collector.
    pub bytes: usize,
    /// Those that arenas have left, which only a full marking frees.
    pub left_by_arenas: usize,
    /// How many mutators allocate: they had a central refill in this cycle or in the one before. At least one.
    pub mutators: usize,
}

/// A space that is stopped as long as this exists ([`Space::stopped`]).
pub struct Stopped<'s> {
    sweeper: &'s Sweeper,
    shapes: &'s Shapes,
    visited: Cell<usize>,
}

impl Space {
    /// A token for a stopped space. Waits until no thread sweeps, and suspends sweeping.
    ///
    /// # Safety
    /// 1. Until the token is dropped, no mutator of this space runs: each is stopped, or in a blocking region, or
    ///    belongs to the calling thread, which then allocates only marked objects.
    /// 2. There is no other such token of this space.
    pub unsafe fn stopped(&self) -> Stopped<'_> {
        self.sweeper.suspend();
        Stopped { sweeper: &self.sweeper, shapes: &self.shapes, visited: Cell::new(0) }
    }
}

impl Stopped<'_> {
    pub(crate) fn heap(&self) -> &PageHeap {
        &self.sweeper.heap
    }

    /// Sweeps all unswept spans, for checks that must see dead cells as free.
    pub fn finish_sweep(&self) {
        self.sweeper.finish_suspended();
    }

    /// The side that takes the marks of a collection. A young one marks on the side of old objects, which count as
    /// marked.
    pub fn mark_side(&self, kind: Collection) -> MarkSide {
        self.heap().marks.mark_side(kind)
    }

    /// What a marker reads of the space.
    pub fn marking_view(&self) -> MarkingView<'_> {
        MarkingView::new(&self.heap().marks, &self.heap().spans)
    }

    /// Begins a full marking concurrent with mutators; [`end_marking`](Stopped::end_marking) ends it. Every existing
    /// object has its allocation bit: a young collection, or a promotion, has just ended. The marking does not visit
    /// later objects; those that get the bit from now on must be marked, too.
    pub fn begin_marking(&self) {
        self.heap().marks.begin_marking();
    }

    /// Notes that large objects which no sweep has seen may have bits on both sides. Without a concurrent marking they
    /// would have them on one side only. A full marking concurrent with mutators is about to end.
    pub fn note_large_survivors(&self) {
        let spans = &self.heap().spans;
        spans.large().for_each_unseen(spans.end(), &self.visited, |page| spans.at(page).set_survived());
    }

    /// Words of tables, spans and shapes that this pause has looked at in promotions, in
    /// [`note_large_survivors`](Self::note_large_survivors) and in [`end_marking`](Self::end_marking): what a pause
    /// costs besides marking and roots.
    pub fn visited(&self) -> usize {
        self.visited.get()
    }

    fn visit(&self, more: usize) {
        self.visited.set(self.visited.get() + more);
    }

    /// Unmarks an object that the program [freed](Owner::free_later) during a concurrent full marking, which is about
    /// to end.
    pub fn forget_freed(&self, object: ObjectRef) {
        let freed = &self.heap().freed;
        // Of what is kept the bit stays.
        let was_freed = match self.sweeper.keeps_freed() {
            true => freed.is_freed(object.get()),
            false => freed.take(object.get()),
        };
        if was_freed {
            // SAFETY: it was an object, and the marking is under way.
            unsafe { self.heap().marks.unmark(object.get()) };
        }
    }

    /// Calls `f` with the addresses of held objects, some at a time: of all, or for a young collection of those that are not old.
    pub fn for_each_held(&self, kind: Collection, f: impl FnMut(&[usize])) {
        let (heap, end) = (self.heap(), self.heap().spans.end());
        let old = |at: usize| if kind == Collection::Young { heap.marks.allocated_word(at) } else { 0 };
        heap.held.for_each(end, &self.visited, old, f);
    }

    /// Whether an object is marked in the current cycle; false outside the heap.
    #[inline]
    pub fn is_marked(&self, object: ObjectRef) -> bool {
        self.heap().spans.contains(object.into()) && self.heap().marks.is_marked(object.get())
    }

    /// Whether an object outlived the last marking; false outside the heap.
    #[inline]
    pub fn is_allocated(&self, object: ObjectRef) -> bool {
        self.heap().spans.contains(object.into()) && self.heap().marks.is_allocated(object.get())
    }

    /// Ends a marking. After a full one, marks become allocation bits, and every span is unswept except those that
    /// mutators allocate from. After a young one, the spans allocated from since the previous collection are unswept. A
    /// new budget begins, after which the next collection is due. Returns the bytes allocated since the last marking.
    ///
    /// `owners` are all mutators of the space, [published](Owner::publish) before the marking and not used since.
    pub fn end_marking<'m>(
        &self,
        kind: Collection,
        owners: impl Iterator<Item = Owner<'m>> + Clone,
        budget: usize,
        goal: usize,
    ) -> usize {
        self.visit(self.sweeper.forget_dangling_marks());
        let mut central = self.sweeper.lock();
        owners.clone().for_each(|owner| owner.end_cycle(&mut central));
        let allocated = central.begin_cycle(kind, budget, goal);
        owners.for_each(|owner| self.visit(owner.begin_cycle(&mut central)));
        allocated
    }

    /// Promotes all objects made in this cycle, which ends a young collection. `owners` are all mutators of the space,
    /// [published](Owner::publish). Returns the number of objects that were not marked, and their bytes.
    pub fn promote<'m>(&self, owners: impl Iterator<Item = Owner<'m>>) -> (usize, usize) {
        promote(self.sweeper, self.shapes, owners, false, &self.visited)
    }

    /// The same during a full marking, which does not visit objects made since it began: it also marks them.
    pub fn promote_marked<'m>(&self, owners: impl Iterator<Item = Owner<'m>>) -> (usize, usize) {
        promote(self.sweeper, self.shapes, owners, true, &self.visited)
    }

    /// Sets the allocation bits of all objects in cells, before a full marking. `owners` are all mutators of the space,
    /// [published](Owner::publish).
    pub fn set_bits_of_cells<'m>(&self, owners: impl Iterator<Item = Owner<'m>>) {
        set_bits_of_cells(self.sweeper, self.shapes, owners, &self.visited);
    }

    /// What was allocated since the last marking. `owners` are all mutators of the space.
    pub fn allocated<'m>(&self, owners: impl Iterator<Item = Owner<'m>>) -> AllocatedInCycle {
        let mut central = self.sweeper.lock();
        owners.for_each(|owner| owner.announce(&mut central));
        let counts = central.budget.counts();
        let (bytes, left_by_arenas) = (counts.in_cycle, counts.left_in_cycle);
        AllocatedInCycle { bytes, left_by_arenas, mutators: central.budget.mutators() }
    }

    /// Calls `f` with each span and its first page, in order of address.
    pub fn for_each_span(&self, mut f: impl FnMut(PageIndex, &Span)) {
        self.heap().spans.iter().for_each(|(page, span)| f(page, span));
    }

    /// Checks everything that can be recomputed; `owners` are all mutators of the space.
    ///
    /// # Errors
    /// The first violation found.
    pub fn is_valid<'m>(&self, owners: impl Iterator<Item = Owner<'m>>) -> Result<(), ValidationError> {
        Walker::new(self.sweeper, self.shapes).run(owners)
    }

    /// Calls `f` with the pages of each unswept span in which the last marking found nothing alive: a sweep would free
    /// them.
    pub fn for_each_dead_span(&self, f: impl FnMut(PageIndex, PageCount)) {
        snapshot::for_each_dead_span(self.heap(), f);
    }

    /// Where the memory of the heap's pages is. `owners` are all mutators of the space, [published](Owner::publish).
    pub fn parts<'m>(&self, owners: impl Iterator<Item = Owner<'m>>) -> SpaceParts {
        SpaceParts::of(self.sweeper, owners)
    }

    /// Clears the allocation bit of an object: injects a fault.
    #[doc(hidden)]
    pub fn forget_allocated(&self, object: ObjectRef) {
        if self.heap().spans.find(object.into()).is_some() {
            // SAFETY: the cell lies in a span, and the heap is stopped.
            unsafe { self.heap().marks.forget_allocated(object.get()) };
        }
    }
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.sweeper.resume();
    }
}
