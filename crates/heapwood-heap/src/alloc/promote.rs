//! En-masse promotion: all objects made in a cycle become old without being marked. It ends a young collection that
//! would take too long, and costs a few stores a span. Promoted objects refer to promoted or old ones, so nothing is
//! lost; the next full collection finds the dead ones among them. A full marking under way does not visit objects made
//! since it began, so these are marked, too. Invariant: afterwards every existing object has its allocation bit.
//!
//! Where the next collection promotes in any case, since young ones rest, mutators do most of it: each promotes the
//! objects of a span that it has used up or gives back, whose bits are in its cache, and large objects as it makes them
//! (`Stopped::set_promotes_retired`). The pause then looks at the spans in hand alone.

use crate::alloc::owner::Owner;
use crate::alloc::runs::{set_all_allocated, set_all_allocated_beside};
use crate::layout::shape::ScanKind;
use crate::layout::shapes::Shapes;
use crate::marks::Marks;
use crate::reclaim::central::Central;
use crate::reclaim::sweeper::Sweeper;
use crate::spans::span::Span;
use crate::spans::span_list::SpanList;
use core::cell::Cell;
use heapwood_pages::PageIndex;

/// Promotes all objects of a stopped heap; also marks them if `marked`. `owners` are all mutators, which have published
/// their cursors. Returns the number of objects without a bit before, and their bytes; adds the number of shapes, spans
/// and words of bits that it looks at to `visited`.
pub(crate) fn promote<'m>(
    sweeper: &Sweeper,
    shapes: &Shapes,
    owners: impl Iterator<Item = Owner<'m>>,
    marked: bool,
    visited: &Cell<usize>,
) -> (usize, usize) {
    let promotion =
        Promotion { sweeper, shapes, marked, objects: Cell::new(0), bytes: Cell::new(0), visited };
    let is_mostly_done = sweeper.heap().marks().promotes_retired();
    let mut central = sweeper.lock();
    if !is_mostly_done {
        promotion.listed(&mut central);
    }
    for owner in owners {
        if !is_mostly_done {
            owner.for_each_list(|list, _| promotion.spans_of(list));
        }
        owner.for_each_own_span(|page| promotion.span(page));
        central.note_promoted(owner.cache().take_promoted());
    }
    promotion.large_objects();
    for (objects, bytes) in [central.take_promoted(), sweeper.take_promoted_large()] {
        promotion.count(objects, bytes);
    }
    (promotion.objects.get(), promotion.bytes.get())
}

impl Owner<'_> {
    /// Promotes the objects of a span that this mutator has used up, or gives back, if mutators do that now. Other
    /// threads may free some of them meanwhile.
    #[inline]
    pub(super) fn promote_retired(&self, page: PageIndex, span: &Span) {
        if self.heap().marks().promotes_retired() {
            self.promote_span(page, span);
        }
    }

    #[cold]
    fn promote_span(&self, page: PageIndex, span: &Span) {
        let (heap, marks) = (self.heap(), self.heap().marks());
        if span.has_no_fresh_cell() {
            return;
        }
        let class = self.shape(span.shape()).class().expect("buffers are of shapes with a size class");
        let cells = span.fresh_range_start()..span.frontier();
        // SAFETY: the cells of the fresh range are the span's, which is this mutator's, and no marking is under way.
        let set = unsafe { set_all_allocated_beside(marks, class, cells) };
        span.end_fresh_range();
        heap.spans().young_pages().clear(page, span.pages());
        self.cache().note_promoted(set, set * class.cell_size());
    }
}

struct Promotion<'h> {
    sweeper: &'h Sweeper,
    shapes: &'h Shapes,
    visited: &'h Cell<usize>,
    marked: bool,
    /// Objects that had no bit.
    objects: Cell<usize>,
    bytes: Cell<usize>,
}

impl Promotion<'_> {
    /// Promotes the spans on central lists that were allocated from.
    fn listed(&self, central: &mut Central) {
        let mut next = central.next_listed(1);
        while let Some(shape) = next {
            self.visit(1);
            for list in self.sweeper.lists(central, shape).touched() {
                self.spans_of(list);
            }
            next = central.next_listed(shape.index() as u32 + 1);
        }
    }

    fn spans_of(&self, list: SpanList) {
        list.walk(self.sweeper.heap().spans()).for_each(|(page, _)| self.span(page));
    }

    /// Promotes the cells of a span that were allocated in this cycle.
    fn span(&self, page: PageIndex) {
        let (spans, marks) = (self.sweeper.heap().spans(), self.sweeper.heap().marks());
        let span = spans.own(page);
        self.visit(1);
        if span.is_begun_in(marks.cycle())
            && let Some(class) = self.shapes.get(span.shape()).class()
        {
            let cells = span.fresh_range_start()..span.frontier();
            self.visit(cells.len().div_ceil(Marks::WORD_BYTES));
            // SAFETY: the heap is stopped, and the cells of the fresh range are the span's.
            let set = unsafe { set_all_allocated(marks, class, cells, self.marked) };
            self.count(set, set * class.cell_size());
        }
    }

    fn visit(&self, more: usize) {
        self.visited.set(self.visited.get() + more);
    }

    fn count(&self, objects: usize, bytes: usize) {
        self.objects.set(self.objects.get() + objects);
        self.bytes.set(self.bytes.get() + bytes);
    }

    /// Promotes the large objects that no sweep has seen.
    fn large_objects(&self) {
        let (spans, marks) = (self.sweeper.heap().spans(), self.sweeper.heap().marks());
        spans.large().for_each_unseen(spans.end(), self.visited, |page| {
            // SAFETY: the heap is stopped, so no other thread frees or makes objects.
            let is_new = unsafe { marks.promote(spans.address_of(page), self.marked) };
            // Memory of arenas is not for the collector to reclaim.
            if is_new && !spans.entry(page).is(ScanKind::Arena) {
                self.count(1, spans.at(page).pages().bytes());
            }
        });
    }
}
