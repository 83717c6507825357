//! Empty spans on their way back to the page allocator. Adjacent spans merge into one run, and runs are freed in
//! batches, so that the page allocator's lock is taken once for many. Invariant: pushed pages belong to no span, and
//! the next `free_pages` frees them.

use crate::pages::page_heap::PageHeap;
use heapwood_pages::{PageCount, PageIndex};

/// Runs of free pages in one batch.
const BATCH_RUNS: usize = 256;

/// The empty spans of one sweep.
pub(crate) struct EmptySpans<'h> {
    heap: &'h PageHeap,
    runs: [(PageIndex, PageCount); BATCH_RUNS],
    len: usize,
}

impl<'h> EmptySpans<'h> {
    pub(super) fn new(heap: &'h PageHeap) -> Self {
        EmptySpans { heap, runs: [(PageIndex(0), PageCount(0)); BATCH_RUNS], len: 0 }
    }

    /// Adds the pages of an empty span.
    pub(super) fn push(&mut self, first: PageIndex, count: PageCount) {
        if let Some(last) = self.runs[..self.len].last_mut()
            && last.0.0 + last.1.0 == first.0
        {
            last.1 = PageCount(last.1.0 + count.0);
            return;
        }
        if self.len == self.runs.len() {
            self.free_pages();
        }
        self.runs[self.len] = (first, count);
        self.len += 1;
    }

    /// Frees all pages.
    pub(super) fn free_pages(&mut self) {
        if self.len == 0 {
            return;
        }
        if let Err(e) = self.heap.pages.free_batch(&self.runs[..self.len]) {
            heapwood_os::diagnose::message::corrupt(format_args!("freeing pages of spans: {e}"));
        }
        self.len = 0;
    }
}
