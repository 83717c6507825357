//! The pages that would be free if everything dead had been swept. A study of fragmentation needs them, and lazy
//! sweeping never shows them. Invariant: this does not change the heap, and allocates no memory.

use crate::pages::page_heap::PageHeap;
use heapwood_pages::{PageCount, PageIndex};

/// Calls `f` with the pages of each unswept span that the last marking found empty, in a stopped heap.
pub(crate) fn for_each_dead_span(heap: &PageHeap, mut f: impl FnMut(PageIndex, PageCount)) {
    for (page, span) in heap.spans.iter() {
        let start = heap.spans.address_of(page);
        let is_empty = || heap.marks.count_allocated(start, start + span.pages().bytes()) == 0;
        if !span.is_swept_in(heap.marks.cycle()) && is_empty() {
            f(page, span.pages());
        }
    }
}
