//! What becomes of a mutator's spans when the world stops, when a cycle ends, and when it gives all back. At a stop they
//! learn how far they have been used, and stay where they are. When a cycle ends, spans that wait go back to the shared
//! lists, by the batch, and those that allocation buffers have allocated from stay: their windows begin anew. Only a mutator that leaves or is
//! idle, or has too much, gives everything back. A mutator whose thread was stopped by a signal keeps its runs as they are, used or
//! not, and a cell that waits for its object. Invariant: what a stop costs depends on how many allocation buffers are active,
//! not on how many shapes there are or how large the heap is.

use super::owner::Owner;
use crate::alloc::alloc_buffer::AllocBuffer;
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
            let buffer = self.buffer(id);
            match buffer.span() {
                Some(page) => spans.own(page).set_frontier(buffer.cursor()),
                None if self.keeps_runs() => {}
                None => {
                    self.put_back_freed(buffer);
                    buffer.reset();
                }
            }
        });
    }

    /// A cell that waits for its object in an allocation buffer without a span goes back to the chain that it came from, if it did: its bit
    /// tells.
    fn put_back_freed(&self, buffer: &AllocBuffer) {
        let (heap, cell) = (self.heap(), buffer.cursor());
        if buffer.room() == 0 || !heap.marks().is_allocated(cell) || !heap.freed().set(cell) {
            return;
        }
        if heap.marks().is_marking() {
            // It was marked when it was taken. What is marked and freed the marking goes through, and this has no words.
            // SAFETY: the cell is one of a span, a marking is under way, and the heap is stopped.
            unsafe { heap.marks().unmark(cell) };
        }
        let id = heap.spans().at(heap.spans().first_page_of(cell)).shape();
        let mut chain = self.cache().cached(id).freed.get();
        // SAFETY: the bit was set just now.
        unsafe { chain.push(cell, self.full_cycle()) };
        self.cache().cached(id).freed.set(chain);
        self.cache().refund(buffer.room());
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
            let (cached, buffer) = (self.cache().cached(id), self.buffer(id));
            let mut waiting = cached.spans.take();
            self.cache().note_uncached(usize::MAX);
            waiting.append(self.heap().spans(), cached.used.take());
            self.sweeper().add_unswept(central, id, waiting);
            match buffer.span() {
                Some(page) if self.keeps_runs() || self.is_in_use(buffer.cursor(), page) => {
                    self.sweeper().keep_own_spans(central, id);
                    self.begin_window(buffer, page);
                    self.look_at(id);
                    true
                }
                Some(page) => {
                    self.forget(buffer, page);
                    let mut idle = SpanList::EMPTY;
                    idle.push(self.heap().spans(), page);
                    self.sweeper().add_unswept(central, id, idle);
                    is_after_young && self.has_freed(id)
                }
                None if self.keeps_runs() => true,
                None => {
                    buffer.reset();
                    is_after_young && self.has_freed(id)
                }
            }
        });
    }

    /// Calls `f` with the words that the cells in its allocation buffers keep alive, which its thread, stopped between two instructions, may be
    /// writing. A cell of the allocation buffer's own span does not exist yet, and what is written in it counts. One without a span exists,
    /// and waits in the allocation buffer: of that the cursor is the word.
    pub fn for_each_cell_in_hand(&self, mut f: impl FnMut(Range<usize>)) {
        self.for_each_arena_cell_in_hand(&mut f);
        self.cache().for_each_active(|id| {
            let buffer = self.buffer(id);
            if buffer.room() == 0 {
                return;
            }
            match buffer.span() {
                None => {
                    let word = buffer.cursor_address();
                    f(word..word + size_of::<usize>());
                }
                Some(_) if self.small_shape(id).kind() == ScanKind::NoPointers => {}
                Some(_) => f(buffer.cursor()..buffer.cursor() + buffer.cell_size()),
            }
        });
    }

    /// Whether it has cells of a shape that the program freed.
    fn has_freed(&self, id: ShapeId) -> bool {
        self.cache().cached(id).freed.get().len(self.full_cycle()) != 0
    }

    /// Whether the allocation buffer has allocated from its span in this cycle.
    fn is_in_use(&self, cursor: usize, page: PageIndex) -> bool {
        self.heap().spans().own(page).start_of_window() != cursor
    }

    /// The allocation buffer has a span no more.
    fn forget(&self, buffer: &AllocBuffer, page: PageIndex) {
        let span = self.heap().spans().own(page);
        span.set_held(false);
        self.cache().hold(span.shape(), 0);
        buffer.reset();
    }

    /// The allocation buffer goes on in its span: what lies below the cursor and is not marked is free, but not before the span is swept.
    fn begin_window(&self, buffer: &AllocBuffer, page: PageIndex) {
        let (heap, marks, cursor) = (self.heap(), self.heap().marks(), buffer.cursor());
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
        buffer.set_unused(heap.free_cells(span) * span.object_bytes(), heap.dead_bytes(span));
    }

    /// Whether [`flush`](Owner::flush) would give something back.
    pub fn holds_something(&self) -> bool {
        !self.cache().is_empty()
    }

    /// Takes all spans and pages away from the mutator. Cells that it has not used stay free, and the thread that needs some of
    /// their shape next gets them; they are no longer charged.
    pub fn flush(&self) {
        self.cache().end_credit();
        if self.cache().is_empty() {
            return;
        }
        self.return_all_spans(&mut self.sweeper().lock());
        self.cache().pages().flush(self.heap().pages());
    }

    /// Gives back all spans, those that allocation buffers have, too.
    pub(super) fn return_all_spans(&self, central: &mut Central) {
        self.cache().retain_active(|id| {
            self.give_back(central, id);
            false
        });
        self.sweeper().return_swept(central, self.cache().swept_spans().take());
        self.sweeper().settle(central, self.cache().take_account());
    }

    /// Gives back the spans that wait. The next visits bring few again.
    pub(super) fn return_cached_spans(&self, central: &mut Central) {
        self.sweeper().return_swept(central, self.cache().swept_spans().take());
        self.cache().for_each_active(|id| {
            self.cache().cached(id).forget_refills();
            let given = self.sweeper().returned_spans(self.take_waiting(id));
            self.sweeper().return_spans(central, id, SpanList::EMPTY, given);
        });
        self.cache().note_uncached(usize::MAX);
    }

    /// The spans of a shape that wait: they are the mutator's no more.
    fn take_waiting(&self, id: ShapeId) -> SpanList {
        let (spans, waiting) = (self.heap().spans(), self.cache().cached(id).spans.take());
        if id.is_shared() {
            waiting.walk(spans).for_each(|(page, _)| spans.own(page).set_held(false));
        }
        waiting
    }

    /// Takes the spans of a shape away from a mutator that is stopped, or leaves: what it has not used is for others.
    fn give_back(&self, central: &mut Central, id: ShapeId) {
        let (heap, spans, cached) = (self.heap(), self.heap().spans(), self.cache().cached(id));
        let (mut used, mut partial) = (cached.used.take(), SpanList::EMPTY);
        let buffer = self.buffer(id);
        if let Some(page) = buffer.span() {
            let span = spans.own(page);
            span.set_frontier(buffer.cursor());
            self.forget(buffer, page);
            let free = heap.free_cells(span);
            if free == 0 {
                used.push(spans, page);
            } else {
                self.cache().refund(free * span.object_bytes());
                partial.push(spans, page);
            }
        }
        buffer.reset();
        cached.forget_refills();
        partial.append(spans, self.take_waiting(id));
        self.cache().note_uncached(usize::MAX);
        self.sweeper().return_spans(central, id, used, self.sweeper().returned_spans(partial));
        self.sweeper().add_freed(central, id, cached.freed.take());
    }

    /// Calls `f` with each list of spans that the mutator has, and whether they may have free cells.
    pub(crate) fn for_each_list(&self, mut f: impl FnMut(SpanList, bool)) {
        self.cache().for_each_active(|id| {
            let cached = self.cache().cached(id);
            f(cached.spans.get(), true);
            f(cached.used.get(), false);
        });
        let swept = self.cache().swept_spans().get();
        f(swept.partial, true);
        f(swept.full, false);
    }

    /// Calls `f` with the first page of each span that it allocates from.
    pub(crate) fn for_each_own_span(&self, mut f: impl FnMut(PageIndex)) {
        self.cache().for_each_active(|id| self.buffer(id).span().into_iter().for_each(&mut f));
    }

    /// Bytes of the spans that it allocates from.
    pub(crate) fn open_span_bytes(&self) -> usize {
        let (spans, mut bytes) = (self.heap().spans(), 0);
        self.for_each_own_span(|page| bytes += spans.at(page).pages().bytes());
        bytes
    }

    /// How many pages it has cached.
    pub(crate) fn pages_aside(&self) -> PageCount {
        self.cache().pages().count()
    }
}
