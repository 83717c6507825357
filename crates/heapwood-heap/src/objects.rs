//! Walks over the objects of a stopped heap, and over what has just died: for checks. They go by words of bits, so what is not
//! asked for costs little.

use crate::address::{Address, ObjectRef};
use crate::arenas::chunk::ArenaChunk;
use crate::granule::GRANULE;
use crate::layout::shape::ScanKind;
use crate::layout::shape_id::ShapeId;
use crate::marks::{Collection, Marks};
use crate::pages::page_heap::PageHeap;
use crate::spans::span::Span;
use crate::stopped::Stopped;
use heapwood_pages::PageIndex;

impl Stopped<'_> {
    /// Calls `f` with each existing object and its size. Objects of a mutator that was not flushed may be missing.
    pub fn for_each_object(&self, mut f: impl FnMut(ObjectRef, usize)) {
        self.for_each_object_in_spans(|object, span, _| f(object, span.object_bytes()));
    }

    /// The same with its span, and whether it outlived the last marking.
    pub fn for_each_object_in_spans(&self, mut f: impl FnMut(ObjectRef, &Span, bool)) {
        let heap = self.heap();
        for (page, span) in heap.spans.iter() {
            each_old(heap, page, span, |cell| f(cell, span, true));
            let is_new =
                |cell: &ObjectRef| !heap.marks.is_allocated(cell.get()) && heap.exists(span, cell.get());
            new_cells(heap, span).filter(is_new).for_each(|cell| f(cell, span, false));
        }
    }

    /// The same of those alone that outlived the last marking.
    pub fn for_each_old_object(&self, mut f: impl FnMut(ObjectRef, &Span)) {
        let heap = self.heap();
        for (page, span) in heap.spans.iter() {
            each_old(heap, page, span, |cell| f(cell, span));
        }
    }

    /// Whether an object outside arenas begins at an address that outlived the last marking. This is quick.
    #[inline]
    pub fn has_old_object(&self, address: Address) -> bool {
        let heap = self.heap();
        heap.is_old_object(address)
            && !heap.spans.entry(heap.spans.page_of(address.get())).is(ScanKind::Arena)
    }

    /// Calls `f` with each object, in cells or pages of its own, that the marking which is about to end has found dead, and its
    /// bytes: after a young one only with those made in this cycle. If `f` says so, nobody is to have its memory before the next full
    /// collection lets it go: it is no object, but its cell is taken, as if the program had freed it. The other ones are free as soon
    /// as they are swept. What was kept before, or the program has freed, stays; with `again` a full collection calls `f` for it, too.
    /// The space keeps what is freed ([`SpaceConfig::keep_freed`](crate::SpaceConfig::keep_freed)).
    pub fn for_each_dead(&self, kind: Collection, again: bool, mut f: impl FnMut(ObjectRef, usize) -> bool) {
        let heap = self.heap();
        let PageHeap { marks, freed, spans, .. } = heap;
        for (page, span) in spans.iter() {
            // An arena frees its own objects, and dead ephemerons are known to the collector.
            if span.shape() == ShapeId::ARENA || span.shape() == ShapeId::EPHEMERON {
                continue;
            }
            let mut visit = |cell: usize| {
                if span.cell_size() == 0 && marks.is_allocated(cell) {
                    // A sweep clears the bit, which a free may have set of an object that no sweep has seen.
                    span.set_survived();
                }
                f(ObjectRef::new(cell), span.object_bytes())
            };
            let keep = |at: usize, cells: u64| {
                if cells != 0 {
                    freed.set_word(at, cells);
                    // SAFETY: they are cells of a span, and the heap is stopped. Their marks become their allocation bits.
                    unsafe {
                        match kind {
                            Collection::Full => marks.set_marked_word(at, cells),
                            Collection::Young => marks.set_allocated_word(at, cells),
                        }
                    }
                }
            };
            if kind == Collection::Full {
                each_word(heap, page, span, |at, cells| {
                    let dead = marks.allocated_word(at) & !marks.marked_word(at) & cells;
                    let mut kept = if again { 0 } else { dead & freed.word_at(at) };
                    each_bit(at, dead & !kept, |cell| kept |= bit_of(at, cell, visit(cell)));
                    keep(at, kept);
                });
            }
            let (mut word, mut kept) = (heap.spans.address_of(page), 0);
            for cell in new_cells(heap, span).map(ObjectRef::get) {
                let at = word + (cell - word) / Marks::WORD_BYTES * Marks::WORD_BYTES;
                if at != word {
                    keep(word, core::mem::take(&mut kept));
                    word = at;
                }
                let is_alive = marks.is_allocated(cell) || kind == Collection::Full && marks.is_marked(cell);
                if !is_alive {
                    kept |= bit_of(at, cell, visit(cell));
                }
            }
            keep(word, kept);
        }
    }
}

/// The bit of a cell in the word of bits at `at`, if it is wanted.
fn bit_of(at: usize, cell: usize, is_wanted: bool) -> u64 {
    u64::from(is_wanted) << ((cell - at) / GRANULE)
}

/// The cells that were allocated in this cycle.
fn new_cells<'h>(heap: &'h PageHeap, span: &'h Span) -> impl Iterator<Item = ObjectRef> + 'h {
    let range = if span.is_swept_in(heap.marks.cycle()) { span.fresh_range() } else { 0..0 };
    range.step_by(span.object_bytes()).map(ObjectRef::new)
}

/// Calls `f` with each existing object of a span that outlived the last marking.
fn each_old(heap: &PageHeap, page: PageIndex, span: &Span, mut f: impl FnMut(ObjectRef)) {
    if span.shape() == ShapeId::ARENA && !ArenaChunk::of(span).is_in_use() {
        return;
    }
    each_word(heap, page, span, |at, cells| {
        let old = heap.marks.allocated_word(at) & !heap.freed.word_at(at) & cells;
        each_bit(at, old, |cell| f(ObjectRef::new(cell)));
    });
}

/// Calls `f` with the address of each word of bits of a span, and those of its bits that may be of cells.
fn each_word(heap: &PageHeap, page: PageIndex, span: &Span, mut f: impl FnMut(usize, u64)) {
    let (start, bytes) = (heap.spans.address_of(page), span.object_bytes());
    if span.cell_size() != 0 && bytes < Marks::WORD_BYTES {
        (start..start + span.pages().bytes()).step_by(Marks::WORD_BYTES).for_each(|at| f(at, u64::MAX));
        return;
    }
    for cell in span.iter().map(ObjectRef::get) {
        let at = start + (cell - start) / Marks::WORD_BYTES * Marks::WORD_BYTES;
        f(at, Marks::bits_in(at, cell..cell + GRANULE));
    }
}

/// Calls `f` with the granule of each bit of the word at `at`.
fn each_bit(at: usize, mut bits: u64, mut f: impl FnMut(usize)) {
    while bits != 0 {
        f(at + bits.trailing_zeros() as usize * GRANULE);
        bits &= bits - 1;
    }
}
