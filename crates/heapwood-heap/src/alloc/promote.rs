//! Promotion wholesale: all that was made in a cycle counts as old, unseen. It ends a young collection that would take too
//! long, and costs a few stores a span. Nothing is lost by it: what is promoted refers to what is promoted with it, or is old;
//! what of it is dead is found by the next full collection. While a full marking is under way, which does not look at what was made
//! since it began, what is promoted is marked, too. Invariant: afterwards every object that exists has its bit.

use crate::alloc::owner::Owner;
use crate::alloc::runs::set_all_allocated;
use crate::layout::shape::ScanKind;
use crate::layout::shapes::Shapes;
use crate::reclaim::central::Central;
use crate::reclaim::sweeper::Sweeper;
use crate::spans::large_objects::LargeObjects;
use crate::spans::span_list::SpanList;
use core::cell::Cell;
use heapwood_pages::PageIndex;

/// Promotes all objects of a heap that stands still, whose mutators, all of which are given, have published how far they are. If
/// they are to be `marked` they are. Returns how many had no bit yet, and the bytes that they take up.
pub(crate) fn promote<'m>(
    sweeper: &Sweeper,
    shapes: &Shapes,
    owners: impl Iterator<Item = Owner<'m>>,
    marked: bool,
) -> (usize, usize) {
    let promotion = Promotion { sweeper, shapes, marked, objects: Cell::new(0), bytes: Cell::new(0) };
    promotion.listed(&mut sweeper.lock());
    for owner in owners {
        owner.for_each_list(|list, _| promotion.spans_of(list));
        owner.for_each_own_span(|page| promotion.span(page));
    }
    promotion.large_objects();
    (promotion.objects.get(), promotion.bytes.get())
}

struct Promotion<'h> {
    sweeper: &'h Sweeper,
    shapes: &'h Shapes,
    marked: bool,
    /// What had no bit.
    objects: Cell<usize>,
    bytes: Cell<usize>,
}

impl Promotion<'_> {
    /// The spans on shared lists that were allocated from.
    fn listed(&self, central: &mut Central) {
        let mut next = central.next_listed(1);
        while let Some(shape) = next {
            for list in self.sweeper.lists(central, shape).touched() {
                self.spans_of(list);
            }
            next = central.next_listed(shape.index() as u32 + 1);
        }
    }

    fn spans_of(&self, list: SpanList) {
        list.walk(self.sweeper.heap().spans()).for_each(|(page, _)| self.span(page));
    }

    /// The cells of a span that were handed out in this cycle.
    fn span(&self, page: PageIndex) {
        let (spans, marks) = (self.sweeper.heap().spans(), self.sweeper.heap().marks());
        let span = spans.own(page);
        if span.is_begun_in(marks.cycle())
            && let Some(class) = self.shapes.get(span.shape()).class()
        {
            let cells = span.start_of_window()..span.frontier();
            // SAFETY: the heap stands still, and the cells of the window are the span's.
            let set = unsafe { set_all_allocated(marks, class, cells, self.marked) };
            self.count(set, set * class.cell_size());
        }
    }

    fn count(&self, objects: usize, bytes: usize) {
        self.objects.set(self.objects.get() + objects);
        self.bytes.set(self.bytes.get() + bytes);
    }

    /// Those that no sweep has seen.
    fn large_objects(&self) {
        let (spans, marks) = (self.sweeper.heap().spans(), self.sweeper.heap().marks());
        for word in 0..LargeObjects::words_below(spans.end()) {
            for (page, _) in spans.large().unseen_in(word) {
                // SAFETY: the heap stands still, so nobody else frees or makes objects.
                let is_new = unsafe { marks.promote(spans.address_of(page), self.marked) };
                // What arenas hold is not what a collection is for.
                if is_new && !spans.entry(page).is(ScanKind::Arena) {
                    self.count(1, spans.at(page).pages().bytes());
                }
            }
        }
    }
}
