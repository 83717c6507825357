//! Sweeping: a span's free cells are those without an allocation bit, so sweeping writes no cell. It counts the
//! bits to tell full spans from empty ones and clears the other side for the next marking. It is lazy: a span is
//! swept when its shape needs memory; the rest before the heap grows, and before the next marking.

use crate::central::{Central, SpanList};
use crate::shape_id::ShapeId;
use crate::space::{CLOBBER, Space};
use crate::span::NO_SPAN;
use core::sync::atomic::Ordering;
use heapwood_pages::{PAGE_SIZE, PageCount, PageIndex};

/// What sweeping a span found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Swept {
    /// No cell outlived the cycle.
    Empty,
    /// Some did.
    Partial,
    /// All did.
    Full,
}

/// Empty spans on their way back to the page allocator: neighbours in one piece, and many in one visit.
struct Empty {
    runs: [(PageIndex, PageCount); 64],
    len: usize,
}

impl Empty {
    fn new() -> Self {
        Empty { runs: [(PageIndex(0), PageCount(0)); 64], len: 0 }
    }

    fn push(&mut self, space: &Space, first: PageIndex, count: PageCount) {
        if let Some(last) = self.runs[..self.len].last_mut()
            && last.0.0 + last.1.0 == first.0
        {
            last.1 = PageCount(last.1.0 + count.0);
            return;
        }
        if self.len == self.runs.len() {
            self.give(space);
        }
        self.runs[self.len] = (first, count);
        self.len += 1;
    }

    fn give(&mut self, space: &Space) {
        if let Err(e) = space.pages.free_batch(&self.runs[..self.len]) {
            heapwood_os::message::corrupt(format_args!("freeing pages of spans: {e}"));
        }
        self.len = 0;
    }
}

impl Space {
    /// Ends a marking: marks become allocation bits, every span is unswept, and a new budget begins. Returns how
    /// many bytes had been handed out since the last.
    ///
    /// No mutator may own a span.
    pub fn end_marking(&self, budget: usize) -> usize {
        let mut central = self.central.lock();
        self.marks.flip();
        self.cycle.store(self.cycle().wrapping_add(1).max(1), Ordering::Relaxed);
        self.pages.new_cycle();
        for index in 1..self.shape_count() {
            let lists = central.lists(ShapeId(index));
            debug_assert!(lists.unswept.is_empty());
            lists.unswept = core::mem::replace(&mut lists.swept, SpanList::EMPTY);
            self.rare.new_cycle(ShapeId(index), !lists.unswept.is_empty());
        }
        central.unswept = true;
        central.budget = budget;
        core::mem::take(&mut central.allocated)
    }

    /// Sweeps whatever has not been swept since the last marking.
    pub fn finish_sweep(&self) {
        self.sweep_all(&mut self.central.lock());
    }

    pub(crate) fn sweep_all(&self, central: &mut Central) {
        if !core::mem::take(&mut central.unswept) {
            return;
        }
        let mut empty = Empty::new();
        for index in 1..self.shape_count() {
            while let Some(page) = self.pop_unswept(central, ShapeId(index)) {
                if self.sweep_span(page).0 != Swept::Empty {
                    self.push_swept(central, page);
                    continue;
                }
                let pages = self.span(page).pages();
                self.table.clear_span(page, pages);
                self.end_sparse(page, pages);
                empty.push(self, page, pages);
            }
        }
        empty.give(self);
    }

    /// Sweeps a span that this thread has taken from an unswept list; also returns how many of its cells live.
    pub(crate) fn sweep_span(&self, page: PageIndex) -> (Swept, usize) {
        let span = self.span(page);
        let start = self.address_of(page);
        // A large object has one bit, however long its span is.
        let end = if span.cell_size == 0 { start + PAGE_SIZE } else { start + span.pages().0 * PAGE_SIZE };
        let live = self.marks.count_allocated(start, end);
        // SAFETY: the span was taken from a list by this thread, and no marking is under way.
        unsafe { self.marks.clear_marks(start, end) };
        if self.clobber {
            self.clobber_free_cells(page);
        }
        span.swept_in.store(self.cycle(), Ordering::Relaxed);
        span.set_frontier(span.cells_start);
        // SAFETY: the span is on no list any more, so this thread owns it.
        unsafe { (*self.span_ptr(page)).fresh = 0 };
        let swept = match live {
            0 => Swept::Empty,
            n if n == span.cells() => Swept::Full,
            _ => Swept::Partial,
        };
        (swept, live)
    }

    fn clobber_free_cells(&self, page: PageIndex) {
        let span = self.span(page);
        let bytes = span.object_bytes();
        for cell in (span.cells_start..span.cells_end).step_by(bytes) {
            if !self.marks.is_allocated(cell) {
                // SAFETY: the cell is free and the span is owned by this thread.
                unsafe { (cell as *mut u8).write_bytes(CLOBBER, bytes) };
            }
        }
    }

    pub(crate) fn pop_unswept(&self, central: &mut Central, shape: ShapeId) -> Option<PageIndex> {
        let list = &mut central.lists(shape).unswept;
        if list.is_empty() {
            return None;
        }
        let page = PageIndex(list.head as usize);
        list.head = self.span(page).next;
        Some(page)
    }

    /// Takes up to `most` unswept spans of a shape; returns the first, the others being linked behind it.
    pub(crate) fn take_unswept(&self, central: &mut Central, shape: ShapeId, most: u32) -> u32 {
        let list = &mut central.lists(shape).unswept;
        let first = list.head;
        let mut last = NO_SPAN;
        for _ in 0..most {
            if list.is_empty() {
                break;
            }
            last = list.head;
            list.head = self.span(PageIndex(last as usize)).next;
        }
        if last != NO_SPAN {
            // SAFETY: the span was on a list, and is this thread's from here on.
            unsafe { (*self.span_ptr(PageIndex(last as usize))).next = NO_SPAN };
        }
        first
    }

    /// Puts spans that were taken home back, before the others.
    pub(crate) fn return_unswept(&self, central: &mut Central, shape: ShapeId, first: u32) {
        if first == NO_SPAN {
            return;
        }
        let mut last = first;
        loop {
            match self.span(PageIndex(last as usize)).next {
                NO_SPAN => break,
                next => last = next,
            }
        }
        let list = &mut central.lists(shape).unswept;
        if list.is_empty() {
            list.tail = last;
        }
        // SAFETY: the last span is this thread's until the lock is let go.
        unsafe { (*self.span_ptr(PageIndex(last as usize))).next = list.head };
        list.head = first;
        central.unswept = true;
    }

    pub(crate) fn push_swept(&self, central: &mut Central, page: PageIndex) {
        // SAFETY: the central lock is held and the span is on no list, so this thread owns it.
        unsafe { (*self.span_ptr(page)).next = NO_SPAN };
        let shape = self.span(page).shape;
        let list = &mut central.lists(shape).swept;
        let number = page.0 as u32;
        if list.is_empty() {
            list.head = number;
        } else {
            // SAFETY: the tail is on this list, which the lock protects.
            unsafe { (*self.span_ptr(PageIndex(list.tail as usize))).next = number };
        }
        list.tail = number;
    }
}
