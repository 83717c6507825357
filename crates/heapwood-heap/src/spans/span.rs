//! Spans: runs of pages cut into cells of one shape, or holding one large object; Go's mspan.
//!
//! A span is in one of these states; only its owner may change its descriptor:
//!
//! ```text
//!   free pages --new--> ALLOCATING (a mutator) --exhausted or stop--> FULL, PARTIAL (central lists)
//!        ^                   ^                                             | end of marking
//!        |                   | has free cells                              v
//!        +---- nothing live --+------- sweep ------------------------- UNSWEPT (central lists)
//! ```
//!
//! (`central` has the lists in detail.)
//!
//! A cell exists if its allocation bit is set, or if it lies in the fresh range (`fresh_range`): from the owner's cursor at
//! the start of this cycle up to the frontier. Runs are consumed in ascending order, so every cell in that range is
//! allocated or outlived the last cycle. A span thus stays with its owner when a cycle ends: only its fresh range
//! becomes empty.

use crate::address::{Address, ObjectRef};
use crate::layout::shape_id::ShapeId;
use crate::layout::size_class::{cell_at, reciprocal};
use core::ops::Range;
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use heapwood_os::memory::region::Zeroed;
use heapwood_os::threads::watched::{self, AtomicU64, AtomicUsize};
use heapwood_pages::PageCount;

/// No span: the end of a list.
pub(crate) const NO_SPAN: u32 = 0;

/// A span's descriptor: one cache line, at the index of the span's first page.
#[repr(C, align(64))]
pub struct Span {
    /// The address of the first cell.
    cells_start: AtomicUsize,
    /// One past the last cell; for a large object, one past its last byte.
    cells_end: AtomicUsize,
    /// [`reciprocal`] of the cell size; for an arena chunk, the number of its arena.
    reciprocal: AtomicU64,
    /// The fresh range, in bytes from the first cell: its start in the low half, the frontier in the high half.
    fresh_range: AtomicU64,
    pages: AtomicU32,
    /// 0 for a large object.
    cell_size: watched::AtomicU32,
    /// The index of its shape.
    shape: watched::AtomicU32,
    /// The cycle in which this span was swept.
    swept_in: AtomicU32,
    /// The next span of its batch.
    next: AtomicU32,
    /// In the first span of a batch, the first span of the next batch. Arena chunks use this and the next two fields
    /// otherwise.
    next_batch: AtomicU32,
    /// In the first span of a batch, its last span.
    batch_last: AtomicU32,
    /// In the first span of a batch, its length.
    batch_len: AtomicU8,
    /// The memory has never been written: cells are zero already.
    fresh: AtomicU8,
    /// It belongs to a mutator, or is about to.
    held: AtomicU8,
    /// For a large object: a sweep found it alive, so the next mark side may have a mark of it. For cells: some that the
    /// program freed were taken for other objects.
    survived: AtomicU8,
}

const _: () = assert!(size_of::<Span>() == 64);

// SAFETY: all-zero bytes are a descriptor that no page refers to; it holds plain numbers and atomics.
unsafe impl Zeroed for Span {}

/// The fresh range of a large object: it contains the cell.
const ALL: u64 = 1 << 32;

impl Span {
    /// A span of cells of `cell_size` bytes made in this sweep cycle; `fresh` if its memory has never been written.
    pub(crate) fn of_cells(
        start: usize,
        pages: PageCount,
        cell_size: usize,
        shape: ShapeId,
        (cycle, fresh): (u32, bool),
    ) -> Self {
        let used = pages.bytes() / cell_size * cell_size;
        let reciprocal = reciprocal(cell_size);
        Span {
            cell_size: watched::AtomicU32::new(cell_size as u32),
            reciprocal: AtomicU64::new(reciprocal),
            ..Self::new(start, pages, used, shape, (cycle, fresh))
        }
    }

    /// The same of one large object, which exists.
    pub(crate) fn of_object(
        start: usize,
        pages: PageCount,
        bytes: usize,
        shape: ShapeId,
        state: (u32, bool),
    ) -> Self {
        Span { fresh_range: AtomicU64::new(ALL), ..Self::new(start, pages, bytes, shape, state) }
    }

    /// The same of an arena chunk of the arena with this number.
    pub(crate) fn of_chunk(
        start: usize,
        pages: PageCount,
        shape: ShapeId,
        state: (u32, bool),
        arena: u64,
    ) -> Self {
        Span {
            reciprocal: AtomicU64::new(arena),
            ..Self::of_object(start, pages, pages.bytes(), shape, state)
        }
    }

    fn new(
        start: usize,
        pages: PageCount,
        bytes: usize,
        shape: ShapeId,
        (cycle, fresh): (u32, bool),
    ) -> Self {
        Span {
            cells_start: AtomicUsize::new(start),
            cells_end: AtomicUsize::new(start + bytes),
            reciprocal: AtomicU64::new(0),
            fresh_range: AtomicU64::new(0),
            pages: AtomicU32::new(pages.0 as u32),
            cell_size: watched::AtomicU32::new(0),
            shape: watched::AtomicU32::new(shape.index() as u32),
            swept_in: AtomicU32::new(cycle),
            next: AtomicU32::new(NO_SPAN),
            next_batch: AtomicU32::new(NO_SPAN),
            batch_last: AtomicU32::new(NO_SPAN),
            batch_len: AtomicU8::new(0),
            fresh: AtomicU8::new(fresh as u8),
            held: AtomicU8::new(0),
            survived: AtomicU8::new(0),
        }
    }

    /// Makes this descriptor that of another span. A marker beside mutators may look a word up here meanwhile, so it is written
    /// field by field; what it finds then is no old object (docs/design/memory-order.md).
    pub(crate) fn remake(&self, span: Span) {
        let Span { cells_start, cells_end, reciprocal, fresh_range, pages, cell_size, shape, .. } = &span;
        self.cells_start.store(cells_start.load(Ordering::Relaxed), Ordering::Relaxed);
        self.cells_end.store(cells_end.load(Ordering::Relaxed), Ordering::Relaxed);
        self.reciprocal.store(reciprocal.load(Ordering::Relaxed), Ordering::Relaxed);
        self.fresh_range.store(fresh_range.load(Ordering::Relaxed), Ordering::Relaxed);
        self.pages.store(pages.load(Ordering::Relaxed), Ordering::Relaxed);
        self.cell_size.store(cell_size.load(Ordering::Relaxed), Ordering::Relaxed);
        self.shape.store(shape.load(Ordering::Relaxed), Ordering::Relaxed);
        let Span { swept_in, next, next_batch, batch_last, batch_len, fresh, held, survived, .. } = &span;
        self.swept_in.store(swept_in.load(Ordering::Relaxed), Ordering::Release);
        self.next.store(next.load(Ordering::Relaxed), Ordering::Relaxed);
        self.next_batch.store(next_batch.load(Ordering::Relaxed), Ordering::Relaxed);
        self.batch_last.store(batch_last.load(Ordering::Relaxed), Ordering::Relaxed);
        self.batch_len.store(batch_len.load(Ordering::Relaxed), Ordering::Relaxed);
        self.fresh.store(fresh.load(Ordering::Relaxed), Ordering::Relaxed);
        self.held.store(held.load(Ordering::Relaxed), Ordering::Relaxed);
        self.survived.store(survived.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Has a model watch what a look-up reads.
    #[cfg(all(test, loom))]
    pub(crate) fn watch(&self, watch: &watched::Watch) {
        watch.add(&self.cells_start);
        watch.add(&self.cells_end);
        watch.add(&self.reciprocal);
        watch.add(&self.cell_size);
        watch.add(&self.shape);
    }

    /// One past the cells that are allocated or outlived the last cycle.
    #[inline]
    pub(crate) fn frontier(&self) -> usize {
        self.cells_start() + (self.fresh_range.load(Ordering::Relaxed) >> 32) as usize
    }

    /// Sets the frontier: the cells below this address are allocated.
    #[inline]
    pub(crate) fn set_frontier(&self, addr: usize) {
        let from = self.fresh_range.load(Ordering::Relaxed) as u32;
        self.set_fresh_range(from, addr);
    }

    /// Begins a cycle at the owner's cursor: a cell below it exists only if its allocation bit is set.
    pub(crate) fn begin_fresh_range(&self, addr: usize) {
        self.set_fresh_range((addr - self.cells_start()) as u32, addr);
    }

    fn set_fresh_range(&self, from: u32, frontier: usize) {
        let frontier = (frontier - self.cells_start()) as u64;
        self.fresh_range.store(frontier << 32 | from as u64, Ordering::Relaxed);
    }

    /// Whether a cell lies in the fresh range. Meaningless for a span that was swept in another cycle.
    #[inline]
    pub(crate) fn is_in_fresh_range(&self, cell: usize) -> bool {
        let (fresh_range, at) =
            (self.fresh_range.load(Ordering::Relaxed), (cell - self.cells_start()) as u64);
        fresh_range as u32 as u64 <= at && at < fresh_range >> 32
    }

    /// Whether nothing was allocated from it since it was swept.
    pub(crate) fn has_empty_fresh_range(&self) -> bool {
        self.fresh_range.load(Ordering::Relaxed) == 0
    }

    /// Whether it was allocated from in this cycle, or its owner keeps it.
    pub(crate) fn is_begun_in(&self, cycle: u32) -> bool {
        self.is_swept_in(cycle) && !self.has_empty_fresh_range()
    }

    /// Begins to allocate from a span that was swept, perhaps some cycles ago, and not touched since.
    pub(crate) fn begin_in(&self, cycle: u32) {
        if !self.is_swept_in(cycle) {
            debug_assert!(self.has_empty_fresh_range());
            self.set_swept_in(cycle);
        }
    }

    /// The start of the fresh range: the owner's cursor when this cycle began.
    pub(crate) fn fresh_range_start(&self) -> usize {
        self.cells_start() + self.fresh_range.load(Ordering::Relaxed) as u32 as usize
    }

    /// Whether a cell lies in the fresh range or above it.
    pub(crate) fn is_above_fresh_range_start(&self, cell: usize) -> bool {
        self.fresh_range_start() <= cell
    }

    /// The size of each object's memory here: the cell's, or the large object's own size.
    #[inline]
    pub fn object_bytes(&self) -> usize {
        if self.cell_size() == 0 { self.cells_end() - self.cells_start() } else { self.cell_size() as usize }
    }

    /// The number of cells; 1 for a large object.
    pub fn cells(&self) -> usize {
        (self.cells_end() - self.cells_start()) / self.object_bytes()
    }

    /// Its cells in order of address, whether or not they hold objects.
    pub fn iter(&self) -> Cells {
        Cells { next: self.cells_start(), end: self.cells_end(), step: self.object_bytes() }
    }

    /// The address of the first cell.
    #[inline]
    pub(crate) fn cells_start(&self) -> usize {
        self.cells_start.load(Ordering::Relaxed)
    }

    /// One past the last cell; for a large object, one past its last byte.
    #[inline]
    pub(crate) fn cells_end(&self) -> usize {
        self.cells_end.load(Ordering::Relaxed)
    }

    /// The first byte of the cell at an address, whether or not it holds an object.
    #[inline]
    pub fn cell_in(&self, address: Address) -> Option<Address> {
        // Each field is read once: the span may be made anew meanwhile.
        let (address, start) = (address.get(), self.cells_start());
        if address < start || address >= self.cells_end() {
            return None;
        }
        let index = cell_at(address - start, self.reciprocal.load(Ordering::Relaxed));
        Some(Address::new(start.wrapping_add(index.wrapping_mul(self.cell_size() as usize))))
    }

    /// The cell size; 0 for a large object.
    #[inline]
    pub(crate) fn cell_size(&self) -> u32 {
        self.cell_size.load(Ordering::Relaxed)
    }

    /// The number of pages.
    pub fn pages(&self) -> PageCount {
        PageCount(self.pages.load(Ordering::Relaxed) as usize)
    }

    /// The shape of its cells.
    pub fn shape(&self) -> ShapeId {
        ShapeId::from_index(self.shape.load(Ordering::Relaxed))
    }

    /// Whether it was swept, or made, in this cycle.
    #[inline]
    pub(crate) fn is_swept_in(&self, cycle: u32) -> bool {
        self.swept_in.load(Ordering::Relaxed) == cycle
    }

    /// The same for a thread that does not own it: it then sees the fresh range of that cycle.
    pub(crate) fn observes_swept_in(&self, cycle: u32) -> bool {
        self.swept_in.load(Ordering::Acquire) == cycle
    }

    /// The cycle in which it was last swept, or made.
    pub(crate) fn swept_in(&self) -> u32 {
        self.swept_in.load(Ordering::Relaxed)
    }

    /// Marks it as swept in this cycle.
    pub(crate) fn set_swept_in(&self, cycle: u32) {
        // Release: whoever sees it sees the fresh range, too.
        self.swept_in.store(cycle, Ordering::Release);
    }

    /// Whether a sweep has found this large object alive.
    #[inline]
    pub(crate) fn has_survived(&self) -> bool {
        self.survived.load(Ordering::Relaxed) != 0
    }

    /// Notes that a sweep has found this large object alive.
    #[inline]
    pub(crate) fn set_survived(&self) {
        self.survived.store(1, Ordering::Relaxed);
    }

    /// Notes that a mutator takes cells that the program freed for other objects.
    #[inline(always)]
    pub(crate) fn note_reused(&self) {
        if self.survived.load(Ordering::Relaxed) == 0 {
            self.survived.store(1, Ordering::Relaxed);
        }
    }

    /// Whether a mutator has taken such cells since the span was made. A cell without a freed bit may then wait in the run of
    /// one.
    pub(crate) fn has_reused(&self) -> bool {
        self.survived.load(Ordering::Relaxed) != 0 && self.cell_size() != 0
    }

    /// The fresh range.
    pub(crate) fn fresh_range(&self) -> Range<usize> {
        let (start, range) = (self.cells_start(), self.fresh_range.load(Ordering::Acquire));
        start + range as u32 as usize..start + (range >> 32) as usize
    }

    /// Empties the fresh range. From now on any cell may have been written.
    pub(crate) fn reset(&self) {
        self.set_fresh_range(0, self.cells_start());
        self.fresh.store(0, Ordering::Relaxed);
    }

    /// Ends an arena chunk as an object; it counts as freed in this full cycle.
    pub(crate) fn end_chunk(&self, full_cycle: u32) {
        self.reset();
        self.survived.store(0, Ordering::Relaxed);
        self.batch_len.store(0, Ordering::Relaxed);
        self.set_swept_in(full_cycle);
    }

    /// Notes that the memory of a free arena chunk reads as zeros.
    pub(crate) fn set_fresh(&self) {
        self.fresh.store(1, Ordering::Relaxed);
    }

    /// Notes that it may not.
    pub(crate) fn clear_fresh(&self) {
        self.fresh.store(0, Ordering::Relaxed);
    }

    /// The state of an arena chunk (`arenas/chunk.rs`).
    pub(crate) fn held_bits(&self) -> &AtomicU8 {
        &self.held
    }

    /// For an arena chunk, its frontier (index 0) and its frontier at the end of the last collection (1), in bytes from
    /// its start.
    pub(crate) fn link(&self, index: usize) -> &AtomicU32 {
        if index == 0 { &self.next_batch } else { &self.batch_last }
    }

    /// The flags of an arena chunk.
    pub(crate) fn flags(&self) -> &AtomicU8 {
        &self.batch_len
    }

    /// The number of its arena.
    pub(crate) fn owner_number(&self) -> u64 {
        self.reciprocal.load(Ordering::Relaxed)
    }

    /// Whether its free cells have never been written.
    #[inline]
    pub(crate) fn is_fresh(&self) -> bool {
        self.fresh.load(Ordering::Relaxed) != 0
    }

    /// Whether it belongs to a mutator, or is about to. A span that a mutator had when a cycle ended may keep this
    /// flag until it is swept.
    pub(crate) fn is_held(&self) -> bool {
        self.held.load(Ordering::Acquire) != 0
    }

    /// Sets whether it belongs to a mutator.
    pub(crate) fn set_held(&self, held: bool) {
        // Release: a thread that sees it unheld may write where its owner wrote.
        self.held.store(held as u8, Ordering::Release);
    }

    /// The number of the next span of its batch.
    #[inline]
    pub(crate) fn next(&self) -> u32 {
        self.next.load(Ordering::Relaxed)
    }

    /// Sets the next span. The caller owns the span, or holds its list.
    #[inline]
    pub(crate) fn set_next(&self, next: u32) {
        self.next.store(next, Ordering::Relaxed);
    }

    /// The batch that this span begins.
    #[inline]
    pub(crate) fn batch(&self) -> Batch {
        Batch {
            next: self.next_batch.load(Ordering::Relaxed),
            last: self.batch_last.load(Ordering::Relaxed),
            len: self.batch_len.load(Ordering::Relaxed),
        }
    }

    /// Makes it the first of a batch; the caller holds the list, or makes one.
    #[inline]
    pub(crate) fn set_batch(&self, batch: Batch) {
        self.next_batch.store(batch.next, Ordering::Relaxed);
        self.batch_last.store(batch.last, Ordering::Relaxed);
        self.batch_len.store(batch.len, Ordering::Relaxed);
    }
}

/// The record of a batch in its first span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    /// The first span of the next batch.
    pub(crate) next: u32,
    /// The last span of this one.
    pub(crate) last: u32,
    /// The number of spans.
    pub(crate) len: u8,
}

/// The cells of a span.
#[derive(Clone, Debug)]
pub struct Cells {
    next: usize,
    end: usize,
    step: usize,
}

impl Iterator for Cells {
    type Item = ObjectRef;

    #[inline]
    fn next(&mut self) -> Option<ObjectRef> {
        let cell = self.next;
        self.next += self.step;
        (cell < self.end).then_some(ObjectRef::new(cell))
    }
}
