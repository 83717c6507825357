//! Spans without an object on their way back to the page allocator: neighbours in one chunk, and many at a time, so that its
//! lock is taken once for many. Invariant: what was pushed is in no span, and goes back with the next `give`.

use crate::pages::page_heap::PageHeap;
use heapwood_pages::{PageCount, PageIndex};

/// How many chunks of free pages go back at once.
const RUNS: usize = 256;

/// Those of one sweep.
pub(crate) struct EmptySpans<'h> {
    heap: &'h PageHeap,
    runs: [(PageIndex, PageCount); RUNS],
    len: usize,
}

impl<'h> EmptySpans<'h> {
    pub(super) fn new(heap: &'h PageHeap) -> Self {
        EmptySpans { heap, runs: [(PageIndex(0), PageCount(0)); RUNS], len: 0 }
    }

    /// A span is empty.
    pub(super) fn push(&mut self, first: PageIndex, count: PageCount) {
        if let Some(last) = self.runs[..self.len].last_mut()
            && last.0.0 + last.1.0 == first.0
        {
            last.1 = PageCount(last.1.0 + count.0);
            return;
        }
        if self.len == self.runs.len() {
            self.give();
        }
        self.runs[self.len] = (first, count);
        self.len += 1;
    }

    /// Gives back what there is.
    pub(super) fn give(&mut self) {
        if self.len == 0 {
            return;
        }
        if let Err(e) = self.heap.pages().free_batch(&self.runs[..self.len]) {
            heapwood_os::message::corrupt(format_args!("freeing pages of spans: {e}"));
        }
        self.len = 0;
    }
}
