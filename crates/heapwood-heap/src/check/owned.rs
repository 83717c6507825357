//! Memory that mutators own and do not use: free cells of their spans, and cached pages. It is recomputed from the
//! memory that no mutator owns, without reading any mutator's state. Invariant: this does not change the heap.

use crate::pages::page_heap::PageHeap;
use crate::reclaim::central::Listed;
use crate::reclaim::sweeper::Sweeper;
use crate::spans::span::Span;
use heapwood_pages::PageCount;

/// Bytes of the cells of a span that hold no object.
fn free_bytes(heap: &PageHeap, span: &Span) -> usize {
    let bytes = span.object_bytes();
    span.iter().filter(|cell| !heap.exists(span, cell.get())).count() * bytes
}

/// Bytes that mutators own and do not use, in a stopped heap whose mutators have published their cursors.
pub(crate) fn unused(sweeper: &Sweeper) -> usize {
    let (heap, mut central) = (&sweeper.heap, sweeper.lock());
    let (mut free, mut pages) = (0, 0);
    for (_, span) in heap.spans.iter() {
        pages += span.pages().0;
        // No mutator owns a large object, alive or dead.
        free += if span.cell_size() == 0 { 0 } else { free_bytes(heap, span) };
    }
    let mut next = central.next_listed(1);
    while let Some(shape) = next {
        for Listed { list, .. } in central.lists(shape).all() {
            for (page, _) in list.walk(&heap.spans) {
                free -= free_bytes(heap, heap.spans.at(page));
            }
        }
        next = central.next_listed(shape.index() as u32 + 1);
    }
    let cached = heap.pages.in_use().0 - pages - central.unfinished().0;
    free + PageCount(cached).bytes()
}
