//! What mutators own and do not use: free cells of the spans that they have taken, and pages that they have cached. It is
//! recomputed from what nobody owns, so that no mutator need be asked. Invariant: nothing of the heap changes.

use crate::pages::page_heap::PageHeap;
use crate::reclaim::central::Listed;
use crate::reclaim::sweeper::Sweeper;
use crate::spans::span::Span;
use heapwood_pages::PageCount;

/// Bytes of the cells of a span in which there is no object.
fn free_bytes(heap: &PageHeap, span: &Span) -> usize {
    let bytes = span.object_bytes();
    span.iter().filter(|cell| !heap.exists(span, cell.get())).count() * bytes
}

/// Bytes that mutators own and do not use, in a heap that stands still and whose mutators have published how far they are.
pub(crate) fn unused(sweeper: &Sweeper) -> usize {
    let (heap, mut central) = (sweeper.heap(), sweeper.lock());
    let (mut free, mut pages) = (0, 0);
    for (_, span) in heap.spans().iter() {
        pages += span.pages().0;
        // A large object is nobody's, alive or dead.
        free += if span.cell_size() == 0 { 0 } else { free_bytes(heap, span) };
    }
    let mut next = central.next_listed(1);
    while let Some(shape) = next {
        for Listed { list, .. } in sweeper.lists(&mut central, shape).all() {
            for (page, _) in list.walk(heap.spans()) {
                free -= free_bytes(heap, heap.spans().at(page));
            }
        }
        next = central.next_listed(shape.index() as u32 + 1);
    }
    let set_aside = heap.pages().in_use().0 - pages - central.unfinished().0;
    free + PageCount(set_aside).bytes()
}
