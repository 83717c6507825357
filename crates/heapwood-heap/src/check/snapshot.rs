//! The spans that would go if everything dead had been swept: what a study of fragmentation needs, and what lazy sweeping
//! never shows. Invariant: nothing of the heap changes, and no memory is allocated.

use crate::pages::page_heap::PageHeap;
use heapwood_pages::{PageCount, PageIndex};

/// Calls `f` with the pages of each unswept span, of a heap that stands still, that the last marking found empty.
pub(crate) fn for_each_dead_span(heap: &PageHeap, mut f: impl FnMut(PageIndex, PageCount)) {
    for (page, span) in heap.spans().iter() {
        let start = heap.spans().address_of(page);
        let is_empty = || heap.marks().count_allocated(start, start + span.pages().bytes()) == 0;
        if !span.is_swept_in(heap.marks().cycle()) && is_empty() {
            f(page, span.pages());
        }
    }
}
