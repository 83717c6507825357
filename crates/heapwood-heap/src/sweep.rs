//! Sweeping: a span's free cells are those without an allocation bit, so sweeping writes no cell. It counts the
//! bits to tell full spans from empty ones and clears the other side for the next marking. It is lazy: a mutator sweeps
//! the spans that it took home when it needs memory of their shape, and the rest is swept for everyone, a pack of spans
//! at a time and without the lock: by a thread that finds no free page, by the background thread of a heap that has
//! become too large, and before the next marking. Invariant: a span is swept by the one thread that took it off its list.

use crate::space::{CLOBBER, Space};
use crate::span_list::SpanList;
use core::sync::atomic::Ordering;
use heapwood_pages::{PAGE_SIZE, PageCount, PageIndex};

/// How many spans are swept between two visits to the shared lists: some microseconds.
const PACK: u32 = 64;

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
    /// Ends a marking. No mutator may own a span.
    pub(crate) fn end_marking(&self, budget: usize) -> usize {
        let mut central = self.central.lock();
        self.marks.flip();
        self.cycle.store(self.cycle().wrapping_add(1).max(1), Ordering::Relaxed);
        self.pages.new_cycle();
        central.begin_cycle();
        central.budget = budget;
        core::mem::take(&mut central.allocated)
    }

    /// Keeps threads other than mutators from sweeping. Whoever does now is waited for: a pack at most. The mutators must be
    /// stopped, or a mutator's sweep is waited for that waits for its turn to stop.
    pub(crate) fn suspend_sweeping(&self) {
        self.central.lock().suspended = true;
        while self.is_being_swept() {}
    }

    pub(crate) fn resume_sweeping(&self) {
        self.central.lock().suspended = false;
    }

    /// Sweeps whatever has not been swept since the last marking, but for what mutators have taken home or others are
    /// sweeping; nothing while that is suspended.
    pub fn finish_sweep(&self) {
        while self.sweep_some() {}
    }

    pub(crate) fn sweep_as_collector(&self) {
        while self.sweep_pack(true) {}
    }

    /// Sweeps some spans for everyone; false if there are none, or sweeping is suspended.
    pub fn sweep_some(&self) -> bool {
        self.sweep_pack(false)
    }

    /// Whether somebody sweeps for everyone now; lets them go on if so.
    pub(crate) fn is_being_swept(&self) -> bool {
        let swept = self.central.lock().in_hand != 0;
        if swept {
            std::thread::yield_now();
        }
        swept
    }

    fn sweep_pack(&self, is_collector: bool) -> bool {
        let picked = {
            let mut central = self.central.lock();
            if central.suspended && !is_collector { None } else { central.pick_up(self, PACK) }
        };
        let Some((shape, mut pack)) = picked else { return false };
        let mut empty = Empty::new();
        let (mut partial, mut full) = (SpanList::EMPTY, SpanList::EMPTY);
        while let Some(page) = pack.pop(self) {
            match self.sweep_span(page).0 {
                Swept::Partial => partial.push(self, page),
                Swept::Full => full.push(self, page),
                Swept::Empty => {
                    let pages = self.span(page).pages();
                    self.table.clear_span(page, pages);
                    self.end_sparse(page, pages);
                    empty.push(self, page, pages);
                }
            }
        }
        empty.give(self);
        self.central.lock().put_down(self, shape, partial, full);
        true
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

    /// How many cells of a swept span are free from its frontier on.
    pub(crate) fn free_cells(&self, page: PageIndex) -> usize {
        let span = self.span(page);
        let (frontier, end) = (span.frontier(), span.cells_end);
        if frontier >= end {
            return 0;
        }
        (end - frontier) / span.object_bytes() - self.marks.count_allocated_cells(frontier, end)
    }
}
