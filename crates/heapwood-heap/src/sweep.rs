//! Sweeping: a span's free cells are those without an allocation bit, so sweeping writes no cell. It counts the
//! bits to tell full spans from empty ones and clears the other side for the next marking. It is lazy: a span is
//! swept when its shape needs memory; the rest before the heap grows, and before the next marking.

use crate::central::{Central, SpanList};
use crate::shape::ShapeId;
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

impl Space {
    /// Ends a marking: marks become allocation bits, every span is unswept, and a new budget begins. Returns how
    /// many bytes had been handed out since the last.
    ///
    /// No mutator may own a span.
    pub fn end_marking(&self, budget: usize) -> usize {
        let mut central = self.central.lock();
        self.marks.flip();
        central.cycle = central.cycle.wrapping_add(1).max(1);
        for index in 1..self.shape_count() {
            let lists = central.lists(ShapeId(index));
            debug_assert!(lists.unswept.is_empty());
            lists.unswept = core::mem::replace(&mut lists.swept, SpanList::EMPTY);
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
        // Neighbouring empty spans go back in one piece.
        let (mut first, mut count) = (PageIndex(0), PageCount(0));
        for index in 1..self.shape_count() {
            while let Some(page) = self.pop_unswept(central, ShapeId(index)) {
                if self.sweep_span(central, page).0 != Swept::Empty {
                    self.push_swept(central, page);
                    continue;
                }
                let pages = self.span(page).pages();
                self.table.clear_span(page, pages);
                if count.0 > 0 && first.0 + count.0 != page.0 {
                    self.give_pages(central, first, count);
                    count = PageCount(0);
                }
                if count.0 == 0 {
                    first = page;
                }
                count = PageCount(count.0 + pages.0);
            }
        }
        if count.0 > 0 {
            self.give_pages(central, first, count);
        }
    }

    /// Sweeps a span that was just taken from an unswept list; also returns how many of its cells live.
    pub(crate) fn sweep_span(&self, central: &Central, page: PageIndex) -> (Swept, usize) {
        let span = self.span(page);
        let start = self.address_of(page);
        let end = start + span.pages().0 * PAGE_SIZE;
        let live = self.marks.count_allocated(start, end);
        // SAFETY: the span was taken from a list under the central lock, and no marking is under way.
        unsafe { self.marks.clear_marks(start, end) };
        if self.clobber {
            self.clobber_free_cells(page);
        }
        span.swept_in.store(central.cycle, Ordering::Relaxed);
        span.set_frontier(span.cells_start);
        // SAFETY: the central lock is held and the span is on no list, so this thread owns it.
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
