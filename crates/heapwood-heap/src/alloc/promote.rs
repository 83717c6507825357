//! En-masse promotion: all objects made in a cycle become old without being marked. It ends a young collection that
//! would take too long, and costs a few stores a span. Promoted objects refer to promoted or old ones, so nothing is
//! lost; the next full collection finds the dead ones among them. A full marking under way does not visit objects made
//! since it began, so these are marked, too. Invariant: afterwards every existing object has its allocation bit.

use crate::alloc::owner::Owner;
use crate::alloc::runs::set_all_allocated;
use crate::layout::shape::ScanKind;
use crate::layout::shapes::Shapes;
use crate::marks::Marks;
use crate::reclaim::central::Central;
use crate::reclaim::sweeper::Sweeper;
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
    promotion.cells(owners);
    promotion.large_objects();
    (promotion.objects.get(), promotion.bytes.get())
}

/// Sets the allocation bits of all objects in cells, before a full marking: each bit then tells whether an object begins there. Not
/// those of large objects. The sweep after that marking clears the old bits of each span, but of large objects only where one
/// has survived before.
pub(crate) fn set_bits_of_cells<'m>(
    sweeper: &Sweeper,
    shapes: &Shapes,
    owners: impl Iterator<Item = Owner<'m>>,
    visited: &Cell<usize>,
) {
    Promotion { sweeper, shapes, marked: false, objects: Cell::new(0), bytes: Cell::new(0), visited }
        .cells(owners);
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
    /// Promotes all objects in cells.
    fn cells<'m>(&self, owners: impl Iterator<Item = Owner<'m>>) {
        self.listed(&mut self.sweeper.lock());
        for owner in owners {
            owner.for_each_list(|list, _| self.spans_of(list));
            owner.for_each_own_span(|page| self.span(page));
        }
    }

    /// Promotes the spans on central lists that were allocated from.
    fn listed(&self, central: &mut Central<'_>) {
        let mut next = central.next_listed(1);
        while let Some(shape) = next {
            self.visit(1);
            for list in central.lists(shape).touched() {
                self.spans_of(list);
            }
            next = central.next_listed(shape.index() as u32 + 1);
        }
    }

    fn spans_of(&self, list: SpanList) {
        list.walk(&self.sweeper.heap.spans).for_each(|(page, _)| self.span(page));
    }

    /// Promotes the cells of a span that were allocated in this cycle.
    fn span(&self, page: PageIndex) {
        let (spans, marks) = (&self.sweeper.heap.spans, &self.sweeper.heap.marks);
        let span = spans.own(page);
        self.visit(1);
        if span.is_begun_in(marks.cycle())
            && let Some(class) = self.shapes.shape(span.shape()).class()
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
        let (spans, marks) = (&self.sweeper.heap.spans, &self.sweeper.heap.marks);
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
