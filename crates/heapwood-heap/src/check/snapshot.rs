//! A picture of the pages as they would be if everything dead had been swept: what a study of fragmentation needs, and
//! what lazy sweeping never shows. Invariant: nothing of the heap changes.

use crate::pages::page_heap::PageHeap;
use heapwood_pages::Snapshot;

/// The pages of a heap that stands still, those of spans that the last marking found empty being free.
pub(crate) fn if_swept(heap: &PageHeap) -> Snapshot {
    let mut snapshot = heap.pages().snapshot();
    for (page, span) in heap.spans().iter() {
        let start = heap.spans().address_of(page);
        let is_empty = || heap.marks().count_allocated(start, start + span.pages().bytes()) == 0;
        if !span.is_swept_in(heap.marks().cycle()) && is_empty() {
            snapshot.free(page, span.pages());
        }
    }
    snapshot
}
