//! What becomes of a mutator's spans when the world stops, when a cycle ends, and when it gives all back. At a stop they
//! learn how far they have been used, and stay where they are. When a cycle ends, spans that wait go back to the shared
//! lists, by the pack, and those that bumps have allocated from stay: their windows begin anew. Only a mutator that leaves or is
//! idle, or has too much, gives everything back. A mutator whose thread was stopped by a signal keeps its runs as they are, used or
//! not, and a cell that waits for its object. Invariant: what a stop costs depends on how many bumps are active,
//! not on how many shapes there are or how large the heap is.

use super::owner::Owner;
use crate::alloc::bump::Bump;
use crate::layout::shape::ScanKind;
use crate::layout::shape_id::ShapeId;
use crate::reclaim::central::Central;
use crate::spans::span_list::SpanList;
use core::ops::Range;
use heapwood_pages::{PAGE_SIZE, PageCount, PageIndex};

impl Owner<'_> {
    /// What the mutator has allocated can be found from now on, as long as it is stopped. A cell of a shared span that waits
    /// for its object is forgotten: the next cycle would hand it out twice. One that the program had freed is freed again.
    pub fn publish(&self) {
        self.publish_arenas();
        let spans = self.heap().spans();
        self.cache().for_each_active(|id| {
            let bump = self.bump(id);
            match bump.span() {
                Some(page) => spans.own(page).set_frontier(bump.cursor()),
                None if self.keeps_runs() => {}
                None => {
                    self.put_back_freed(bump);
                    bump.reset();
                }
            }
        });
    }

    /// A cell that waits for its object in a bump without a span goes back to the chain that it came from, if it did: its bit
    /// tells.
    fn put_back_freed(&self, bump: &Bump) {
        let (heap, cell) = (self.heap(), bump.cursor());
        if bump.room() == 0 || !heap.marks().is_allocated(cell) || !heap.freed().set(cell) {
            return;
        }
        if heap.marks().is_marking() {
            // It was marked when it was taken. What is marked and freed the marking goes through, and this has no words.
            // SAFETY: the cell is one of a span, a marking is under way, and the heap is stopped.
            unsafe { heap.marks().unmark(cell) };
        }
        let id = heap.spans().at(heap.spans().first_page_of(cell)).shape();
        let mut chain = self.cache().home(id).freed.get();
        // SAFETY: the bit was set just now.
        unsafe { chain.push(cell, self.full_cycle()) };
        self.cache().home(id).freed.set(chain);
        self.cache().refund(bump.room());
        self.cache().activate(id);
    }

    /// Says what it has taken, before a cycle ends.
    pub(crate) fn end_cycle(&self, central: &mut Central) {
        self.announce(central);
        self.cache().end_credit();
        if central.are_pages_wanted() || self.heap().is_near_limit() {
            self.cache().pages().flush(self.heap().pages());
        }
    }

    /// A cycle has begun: what was marked is what lives.
    pub(crate) fn begin_cycle(&self, central: &mut Central) {
        let is_after_young = self.heap().marks().is_after_young();
        self.begin_cycle_of_arenas(self.keeps_runs());
        self.cache().retain_active(|id| {
            let (home, bump) = (self.cache().home(id), self.bump(id));
            let mut waiting = home.spans.take();
            self.cache().left_home(usize::MAX);
            waiting.append(self.heap().spans(), home.used.take());
            self.sweeper().add_unswept(central, id, waiting);
            match bump.span() {
                Some(page) if self.keeps_runs() || self.is_in_use(bump.cursor(), page) => {
                    self.sweeper().keep_own_spans(central, id);
                    self.begin_window(bump, page);
                    self.look_at(id);
                    true
                }
                Some(page) => {
                    self.forget(bump, page);
                    let mut idle = SpanList::EMPTY;
                    idle.push(self.heap().spans(), page);
                    self.sweeper().add_unswept(central, id, idle);
                    is_after_young && self.has_freed(id)
                }
                None if self.keeps_runs() => true,
                None => {
                    bump.reset();
                    is_after_young && self.has_freed(id)
                }
            }
        });
    }

    /// Calls `f` with the words that the cells in its bumps keep alive, which its thread, stopped between two instructions, may be
    /// writing. A cell of the bump's own span does not exist yet, and what is written in it counts. One without a span exists,
    /// and waits in the bump: of that the cursor is the word.
    pub fn for_each_cell_in_hand(&self, mut f: impl FnMut(Range<usize>)) {
        self.for_each_arena_cell_in_hand(&mut f);
        self.cache().for_each_active(|id| {
            let bump = self.bump(id);
            if bump.room() == 0 {
                return;
            }
            match bump.span() {
                None => {
                    let word = bump.cursor_address();
                    f(word..word + size_of::<usize>());
                }
                Some(_) if self.small_shape(id).kind() == ScanKind::NoPointers => {}
                Some(_) => f(bump.cursor()..bump.cursor() + bump.cell_size()),
            }
        });
    }

    /// Whether it has cells of a shape that the program freed.
    fn has_freed(&self, id: ShapeId) -> bool {
        self.cache().home(id).freed.get().len(self.full_cycle()) != 0
    }

    /// Whether the bump has allocated from its span in this cycle.
    fn is_in_use(&self, cursor: usize, page: PageIndex) -> bool {
        self.heap().spans().own(page).start_of_window() != cursor
    }

    /// The bump has a span no more.
    fn forget(&self, bump: &Bump, page: PageIndex) {
        let span = self.heap().spans().own(page);
        span.set_held(false);
        self.cache().hold(span.shape(), 0);
        bump.reset();
    }

    /// The bump goes on in its span: what lies below the cursor and is not marked is free, but not before the span is swept.
    fn begin_window(&self, bump: &Bump, page: PageIndex) {
        let (heap, marks, cursor) = (self.heap(), self.heap().marks(), bump.cursor());
        let span = heap.spans().own(page);
        let start = heap.spans().address_of(page);
        let end = start + span.pages().0 * PAGE_SIZE;
        if !marks.is_after_young() {
            // SAFETY: the marking has ended, and the span is this mutator's, which is stopped.
            unsafe { marks.clear_marks(start, end) };
        }
        heap.spans().ages().clear(page, span.pages());
        heap.freed().keep(start..end, |at| marks.allocated_word(at));
        self.sweeper().clobber_dead(span, cursor);
        span.begin_window(cursor);
        span.set_swept_in(marks.cycle());
        bump.set_unused(heap.free_cells(span) * span.object_bytes(), heap.dead_bytes(span));
    }

    /// Whether [`flush`](Owner::flush) would give something back.
    pub fn holds_something(&self) -> bool {
        !self.cache().is_empty()
    }

    /// Takes all spans and pages away from the mutator. Cells that it has not used stay free, and whoever needs some of
    /// their shape next gets them; they are no longer charged.
    pub fn flush(&self) {
        self.cache().end_credit();
        if self.cache().is_empty() {
            return;
        }
        self.put_back_all(&mut self.sweeper().lock());
        self.cache().pages().flush(self.heap().pages());
    }

    /// Gives back all spans, those that bumps have, too.
    pub(super) fn put_back_all(&self, central: &mut Central) {
        self.cache().retain_active(|id| {
            self.give_back(central, id);
            false
        });
        self.sweeper().put_down(central, self.cache().swept_for_others().take());
        self.sweeper().settle(central, self.cache().take_account());
    }

    /// Gives back the spans that wait. The next visits bring few again.
    pub(super) fn put_back_waiting(&self, central: &mut Central) {
        self.sweeper().put_down(central, self.cache().swept_for_others().take());
        self.cache().for_each_active(|id| {
            self.cache().home(id).forget_visits();
            let given = self.sweeper().given_back(self.take_waiting(id));
            self.sweeper().hand_in(central, id, SpanList::EMPTY, given);
        });
        self.cache().left_home(usize::MAX);
    }

    /// The spans of a shape that wait: they are the mutator's no more.
    fn take_waiting(&self, id: ShapeId) -> SpanList {
        let (spans, waiting) = (self.heap().spans(), self.cache().home(id).spans.take());
        if id.is_shared() {
            waiting.walk(spans).for_each(|(page, _)| spans.own(page).set_held(false));
        }
        waiting
    }

    /// Takes the spans of a shape away from a mutator that is stopped, or leaves: what it has not used is for others.
    fn give_back(&self, central: &mut Central, id: ShapeId) {
        let (heap, spans, home) = (self.heap(), self.heap().spans(), self.cache().home(id));
        let (mut used, mut partial) = (home.used.take(), SpanList::EMPTY);
        let bump = self.bump(id);
        if let Some(page) = bump.span() {
            let span = spans.own(page);
            span.set_frontier(bump.cursor());
            self.forget(bump, page);
            let free = heap.free_cells(span);
            if free == 0 {
                used.push(spans, page);
            } else {
                self.cache().refund(free * span.object_bytes());
                partial.push(spans, page);
            }
        }
        bump.reset();
        home.forget_visits();
        partial.append(spans, self.take_waiting(id));
        self.cache().left_home(usize::MAX);
        self.sweeper().hand_in(central, id, used, self.sweeper().given_back(partial));
        self.sweeper().add_freed(central, id, home.freed.take());
    }

    /// Calls `f` with each list of spans that the mutator has, and whether they may have free cells.
    pub(crate) fn for_each_list(&self, mut f: impl FnMut(SpanList, bool)) {
        self.cache().for_each_active(|id| {
            let home = self.cache().home(id);
            f(home.spans.get(), true);
            f(home.used.get(), false);
        });
        let swept = self.cache().swept_for_others().get();
        f(swept.partial, true);
        f(swept.full, false);
    }

    /// Calls `f` with the first page of each span that it allocates from.
    pub(crate) fn for_each_own_span(&self, mut f: impl FnMut(PageIndex)) {
        self.cache().for_each_active(|id| self.bump(id).span().into_iter().for_each(&mut f));
    }

    /// Bytes of the spans that it allocates from.
    pub(crate) fn open_span_bytes(&self) -> usize {
        let (spans, mut bytes) = (self.heap().spans(), 0);
        self.for_each_own_span(|page| bytes += spans.at(page).pages().bytes());
        bytes
    }

    /// How many pages it has set aside.
    pub(crate) fn pages_aside(&self) -> PageCount {
        self.cache().pages().count()
    }
}
