//! A mutator's spans at a stop, at the end of a cycle, and at a flush. At a stop the buffers publish their cursors as
//! frontiers and keep their spans. When a cycle ends, cached spans return to the central lists in batches; a span that
//! its buffer has allocated from stays if the share allows it, and its fresh range begins anew. A mutator that leaves,
//! is idle or exceeds its share returns everything. A mutator stopped by a signal keeps its runs as they are, and any
//! cell that waits for its object. Invariant: the cost of a stop depends on the number of active buffers, not on that
//! of shapes, nor on the heap's size. HotSpot retires its TLABs in the same way.

use super::owner::Owner;
use crate::alloc::alloc_buffer::AllocBuffer;
use crate::layout::shape::ScanKind;
use crate::layout::shape_id::ShapeId;
use crate::layout::size_class::SizeClass;
use crate::marks::PAGE_WORDS;
use crate::reclaim::central::{Central, SpansWithoutFree};
use crate::spans::span_list::SpanList;
use core::ops::Range;
use heapwood_pages::{PAGE_SIZE, PageCount, PageIndex};

impl Owner<'_> {
    /// Publishes the mutator's objects while it is stopped. A cell of a shared span that waits for its object is
    /// dropped; otherwise the next cycle would allocate it twice. Cells that the program had freed are freed again.
    pub fn publish(&self) {
        self.publish_arenas();
        self.make_freed_old();
        let spans = &self.heap().spans;
        self.cache.for_each_active(|id| {
            let buffer = self.buffer(id);
            match buffer.span() {
                Some(page) => spans.own(page).set_frontier(buffer.cursor()),
                None if self.keeps_runs => {}
                None => {
                    self.put_back_freed(id, buffer, true);
                    buffer.reset();
                }
            }
        });
    }

    /// Returns the cells that wait in a buffer without a span to the chain of freed cells, if they came from there: then they
    /// have the buffer's shape, or one of a shared span its allocation bit. Unless the heap is `stopped`, a marker beside the
    /// program may be scanning such a cell, to which a stray word has led it: then nothing is written there, and the sweep after
    /// the marking finds the cells.
    fn put_back_freed(&self, id: ShapeId, buffer: &AllocBuffer, stopped: bool) {
        let (heap, start, size) = (self.heap(), buffer.cursor(), buffer.cell_size());
        if buffer.room() == 0 {
            return;
        }
        let shape = heap.spans.at(heap.spans.first_page_of(start)).shape();
        if shape != id && !heap.marks.is_allocated(start) {
            return;
        }
        let run = start..buffer.limit();
        let is_marking = heap.marks.is_concurrent_marking();
        for cell in run.clone().step_by(size) {
            if is_marking && heap.marks.is_allocated(cell) {
                // It was marked when it was taken. The marking would scan a marked and freed cell, and this one has no
                // words yet.
                // SAFETY: the cell is one of a span, and a marking is under way. If a marker sets the bit again, the cell
                // waits for the next one.
                unsafe { heap.marks.unmark(cell) };
            }
        }
        let class = SizeClass::of(size).expect("a buffer's cells have a class");
        self.put_freed(&run, class);
        if is_marking && !stopped {
            return;
        }
        let mut chain = self.cache.cached(shape).freed.get();
        // SAFETY: the bits were set just now.
        unsafe { chain.push(start, (run.len() / size) as u32, self.full_cycle()) };
        self.cache.cached(shape).freed.set(chain);
        self.cache.refund(buffer.room());
        self.cache.activate(shape);
    }

    /// Settles the account before a cycle ends.
    pub(crate) fn end_cycle(&self, central: &mut Central<'_>) {
        self.announce(central);
        self.cache.end_credit();
        if central.growth().pages_wanted || self.heap().is_near_limit() {
            self.cache.pages.flush(&self.heap().pages);
        }
    }

    /// Begins a cycle: marked objects are the live ones. Returns the number of shapes and words of bits that it looks at.
    pub(crate) fn begin_cycle(&self, central: &mut Central<'_>) -> usize {
        let (is_after_young, mut visited) = (self.heap().marks.is_after_young(), 0);
        self.begin_cycle_of_arenas(self.keeps_runs);
        self.cache.retain_active(|id| {
            let (cached, buffer) = (self.cache.cached(id), self.buffer(id));
            visited += 1;
            let mut waiting = cached.spans.take();
            self.cache.note_uncached(usize::MAX);
            let SpansWithoutFree { used, full } = cached.take_without_free(&self.heap().spans);
            waiting.append(&self.heap().spans, used);
            if is_after_young {
                central.add_full(id, full);
            } else {
                waiting.append(&self.heap().spans, full);
            }
            central.add_unswept(id, waiting);
            match buffer.span() {
                Some(page) if self.keeps_runs || self.may_keep(buffer, page) => {
                    central.keep_own_span(id);
                    self.begin_fresh_range(buffer, page);
                    visited += self.heap().spans.at(page).pages().0 * PAGE_WORDS;
                    self.measure_buffer(id);
                    true
                }
                Some(page) => {
                    self.forget(buffer, page);
                    let mut idle = SpanList::EMPTY;
                    idle.push(&self.heap().spans, page);
                    central.add_unswept(id, idle);
                    is_after_young && self.has_freed(id)
                }
                None if self.keeps_runs => true,
                None => {
                    buffer.reset();
                    is_after_young && self.has_freed(id)
                }
            }
        });
        visited
    }

    /// Calls `f` with the words that cells in the buffers keep alive. The mutator's thread, stopped between two
    /// instructions, may be writing them. A cell of the buffer's own span does not exist yet, and its contents are
    /// roots. A cell of a shared span exists and waits in the buffer, so there the cursor is the root.
    pub fn for_each_cell_at_cursor(&self, mut f: impl FnMut(Range<usize>)) {
        self.for_each_arena_cell_at_cursor(&mut f);
        self.cache.for_each_active(|id| {
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
        let cycle = self.full_cycle();
        self.cache.cached(id).freed.get().len(cycle) != 0
            || self.cache.recently_freed().is_some_and(|recent| recent.may_have(id, cycle))
    }

    /// Whether the buffer keeps its span in the next cycle. Cells that died in kept spans stay unused, so these spans
    /// hold no more than the share, and one span.
    fn may_keep(&self, buffer: &AllocBuffer, page: PageIndex) -> bool {
        self.is_in_use(buffer.cursor(), page) && self.cache.open_bytes() <= self.cache.share()
    }

    /// Whether the buffer has allocated from its span in this cycle.
    fn is_in_use(&self, cursor: usize, page: PageIndex) -> bool {
        self.heap().spans.own(page).fresh_range_start() != cursor
    }

    /// Takes the span from the buffer.
    fn forget(&self, buffer: &AllocBuffer, page: PageIndex) {
        let span = self.heap().spans.own(page);
        span.set_held(false);
        self.cache.hold(span.shape(), 0);
        buffer.reset();
    }

    /// Lets the buffer go on in its span. Unmarked cells below the cursor are free, but only after the span is swept.
    fn begin_fresh_range(&self, buffer: &AllocBuffer, page: PageIndex) {
        let (heap, marks, cursor) = (self.heap(), &self.heap().marks, buffer.cursor());
        let span = heap.spans.own(page);
        let start = heap.spans.address_of(page);
        let end = start + span.pages().0 * PAGE_SIZE;
        if !marks.is_after_young() {
            // SAFETY: the marking has ended, and the span belongs to this mutator, which is stopped.
            unsafe { marks.clear_marks(start, end) };
        }
        heap.spans.young_pages().clear(page, span.pages());
        heap.freed.keep(start..end, |at| marks.allocated_word(at));
        self.sweeper().clobber_dead(span, cursor);
        span.begin_fresh_range(cursor);
        span.set_swept_in(marks.cycle());
        buffer.set_unused(heap.free_cells(span) * span.object_bytes(), heap.dead_bytes(span));
    }

    /// Whether [`flush`](Owner::flush) would return something.
    pub fn holds_something(&self) -> bool {
        !self.cache.is_empty()
    }

    /// Returns all spans and pages of the mutator. Unused cells stay free for the next mutator that needs the shape,
    /// and are no longer charged.
    pub fn flush(&self) {
        self.cache.end_credit();
        if self.cache.is_empty() {
            return;
        }
        // In a forked child the mutator's thread may have been in a call of the program's, for which they were closed.
        self.open_buffers();
        self.return_all_spans(&mut self.sweeper().lock());
        self.cache.pages.flush(&self.heap().pages);
    }

    /// Returns all spans, those of buffers included.
    pub(super) fn return_all_spans(&self, central: &mut Central<'_>) {
        self.chain_recently_freed();
        self.cache.retain_active(|id| {
            self.return_shape(central, id);
            false
        });
        central.return_swept(self.cache.swept_spans.take());
        self.sweeper().settle(central, self.cache.take_account());
        central.run_owners().remove(&self.cache.run_owner);
    }

    /// Returns the cached spans. The next refills start with small batches again.
    pub(super) fn return_cached_spans(&self, central: &mut Central<'_>) {
        central.return_swept(self.cache.swept_spans.take());
        self.cache.for_each_active(|id| {
            self.cache.cached(id).forget_refills();
            let given = central.sort_returned(self.take_waiting(id));
            central.return_spans(id, SpansWithoutFree::default(), given);
        });
        self.cache.note_uncached(usize::MAX);
    }

    /// Takes the cached spans of a shape from the mutator.
    fn take_waiting(&self, id: ShapeId) -> SpanList {
        let (spans, waiting) = (&self.heap().spans, self.cache.cached(id).spans.take());
        if id.is_shared() {
            waiting.walk(spans).for_each(|(page, _)| spans.own(page).set_held(false));
        }
        waiting
    }

    /// Returns all spans of a shape of a mutator that is stopped or leaves; other mutators may use the rest.
    fn return_shape(&self, central: &mut Central<'_>, id: ShapeId) {
        let (heap, spans, cached) = (self.heap(), &self.heap().spans, self.cache.cached(id));
        let (mut without_free, mut partial) = (cached.take_without_free(spans), SpanList::EMPTY);
        let buffer = self.buffer(id);
        if let Some(page) = buffer.span() {
            let span = spans.own(page);
            span.set_frontier(buffer.cursor());
            self.forget(buffer, page);
            let free = heap.free_cells(span);
            if free == 0 {
                without_free.used.push(spans, page);
            } else {
                self.cache.refund(free * span.object_bytes());
                partial.push(spans, page);
            }
        } else if buffer.room() != 0 && spans.at(spans.first_page_of(buffer.cursor())).shape() == id {
            self.put_back_freed(id, buffer, false);
        }
        buffer.reset();
        cached.forget_refills();
        partial.append(spans, self.take_waiting(id));
        self.cache.note_uncached(usize::MAX);
        central.return_spans(id, without_free, central.sort_returned(partial));
        central.add_freed(id, cached.freed.take());
    }

    /// Calls `f` with each list of the mutator's spans, and whether they may have free cells.
    pub(crate) fn for_each_list(&self, mut f: impl FnMut(SpanList, bool)) {
        self.cache.for_each_active(|id| {
            let cached = self.cache.cached(id);
            f(cached.spans.get(), true);
            f(cached.without_free(), false);
        });
        let swept = self.cache.swept_spans.get();
        f(swept.partial, true);
        f(swept.full, false);
    }

    /// Calls `f` with the first page of each span that it allocates from.
    pub(crate) fn for_each_own_span(&self, mut f: impl FnMut(PageIndex)) {
        self.cache.for_each_active(|id| self.buffer(id).span().into_iter().for_each(&mut f));
    }

    /// The number of cached pages.
    pub(crate) fn cached_pages(&self) -> PageCount {
        self.cache.pages.count()
    }
}
