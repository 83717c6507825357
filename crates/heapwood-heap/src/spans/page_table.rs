//! The page table: one word a page with the kind of its contents.
//!
//! The entry of a page in a span holds the scan kind, the shape, and the distance to the first page of the span. A page
//! without a span has entry 0. So an ambiguous word is rejected after one range test and one load, and a precise edge
//! gets its layout with one load. A table chunk (4 MiB of pages) inside one long span has one entry for all its pages,
//! so that an object of gigabytes costs kilobytes here; the first page of a span always has its own. Invariant: entries
//! are committed for every page below the committed end, holes included, and where a chunk's entry is set, the entries
//! of its pages are 0. The flat table is Go's spans array, with the layout in the entry.

use crate::layout::shape::ScanKind;
use crate::layout::shape_id::ShapeId;
use crate::layout::size_class::SizeClass;
#[cfg(loom)]
use crate::publication::mutant;
use core::ops::Range;
use core::sync::atomic::Ordering;
use heapwood_os::threads::watched::AtomicU64;
#[cfg(all(test, loom))]
use heapwood_os::threads::watched::Watch;
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError, for_each_mapping_of};
use heapwood_pages::{PAGE_SIZE, PageCount, PageIndex};

/// The entry of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct PageEntry(u64);

const SHAPE_SHIFT: u32 = 4;
const BACK_SHIFT: u32 = 32;

impl PageEntry {
    /// The entry of the page `back` pages after the start of a span of `shape`.
    pub(crate) fn new(kind: ScanKind, shape: ShapeId, back: usize) -> Self {
        PageEntry(kind as u64 | (shape.index() as u64) << SHAPE_SHIFT | (back as u64) << BACK_SHIFT)
    }

    /// Reads the entry at this place in a table, while other threads may write it.
    ///
    /// # Safety
    /// 1. The place is one of a table, and committed.
    #[inline(always)]
    pub unsafe fn load(at: *const PageEntry) -> PageEntry {
        // SAFETY: contract 1; entries are written by atomic stores.
        PageEntry(unsafe { AtomicU64::from_ptr(at.cast_mut().cast()) }.load(Ordering::Relaxed))
    }

    /// The scan kind of objects here; `None` where no span is.
    #[inline(always)]
    pub fn kind(self) -> Option<ScanKind> {
        ScanKind::from_bits((self.0 & 15) as u8)
    }

    /// Whether objects here are scanned as `kind`.
    #[inline(always)]
    pub fn is(self, kind: ScanKind) -> bool {
        self.0 & 15 == kind as u64
    }

    /// Whether objects here are of two words, either of which may be a pointer.
    #[inline(always)]
    pub fn is_word_pair(self) -> bool {
        const SHAPE: ShapeId = ShapeId::conservative(SizeClass::of(2 * size_of::<usize>()));
        const ENTRY: u32 = ScanKind::Conservative as u32 | (SHAPE.index() as u32) << SHAPE_SHIFT;
        self.0 as u32 == ENTRY
    }

    /// Whether objects lie here, and no arena's chunk. (Where a long span has one entry for many pages, the others say no.)
    #[inline(always)]
    pub fn has_objects(self) -> bool {
        const ARENA: u64 = ScanKind::Arena as u64;
        self.0 & 15 != 0 && self.0 & 15 != ARENA
    }

    /// The shape of the span here.
    #[inline(always)]
    pub fn shape(self) -> ShapeId {
        ShapeId::from_index((self.0 as u32) >> SHAPE_SHIFT)
    }

    /// The first page of the span of `page`, whose entry this is.
    #[inline(always)]
    pub(crate) fn first_page(self, page: PageIndex) -> PageIndex {
        PageIndex(page.0 - self.back().0)
    }

    /// The first byte of the cell at an address in a heap that begins at `base`: this is the entry of its page, and `class` that of
    /// the entry's shape.
    #[inline(always)]
    pub fn cell_of(self, address: usize, base: usize, class: SizeClass) -> usize {
        let span = base + ((address - base) / PAGE_SIZE).wrapping_sub(self.back().0).wrapping_mul(PAGE_SIZE);
        span + class.cell_of(address - span)
    }

    /// The distance to the first page of the span.
    #[inline(always)]
    pub fn back(self) -> PageCount {
        PageCount((self.0 >> BACK_SHIFT) as usize)
    }
}

/// The pages of a table chunk (4 MiB).
const CHUNK: usize = 512;

/// The entries of all pages of a heap's reservation.
pub(crate) struct PageTable {
    entries: MappedArray<AtomicU64>,
    /// The entries of chunks inside a span, with the span's first page in place of the distance.
    chunks: MappedArray<AtomicU64>,
}

impl PageTable {
    pub(crate) fn new(kernel: KernelRef, reservation: PageCount) -> Result<Self, OsError> {
        let chunks = MappedArray::new(kernel, reservation.0.div_ceil(CHUNK))?;
        Ok(PageTable { entries: MappedArray::new(kernel, reservation.0)?, chunks })
    }

    pub(crate) fn commit(&self, from: PageIndex, to: PageIndex) -> Result<(), OsError> {
        self.chunks.commit(from.0 / CHUNK..to.0.div_ceil(CHUNK))?;
        self.entries.commit(from.0..to.0)
    }

    /// The same by huge pages.
    pub(crate) fn commit_huge(&self, from: PageIndex, to: PageIndex) -> Result<(), OsError> {
        self.chunks.commit(from.0 / CHUNK..to.0.div_ceil(CHUNK))?;
        self.entries.commit_huge(from.0..to.0)
    }

    /// The entry of a page.
    ///
    /// # Safety
    /// 1. The page lies below the committed end.
    #[inline(always)]
    pub(crate) unsafe fn get(&self, page: PageIndex) -> PageEntry {
        // SAFETY: entries below the committed end are committed (contract 1).
        let entry = unsafe { &*self.entries.at(page.0) }.load(Ordering::Relaxed);
        if entry != 0 { PageEntry(entry) } else { self.get_chunk(page) }
    }

    #[cold]
    fn get_chunk(&self, page: PageIndex) -> PageEntry {
        // SAFETY: as for `get`: a chunk with a page below the committed end is committed.
        let entry = PageEntry(unsafe { &*self.chunks.at(page.0 / CHUNK) }.load(Ordering::Relaxed));
        match entry.kind() {
            Some(kind) => PageEntry::new(kind, entry.shape(), page.0 - entry.back().0),
            None => entry,
        }
    }

    /// The first page's entry, for a marking loop to index by the pages of objects' bases.
    pub(crate) fn as_ptr(&self) -> *const PageEntry {
        self.entries.as_ptr().cast()
    }

    pub(crate) fn set_span(&self, first: PageIndex, count: PageCount, kind: ScanKind, shape: ShapeId) {
        let inside = Self::chunks_inside(first, count);
        for page in Self::pages_outside(first, count) {
            self.store(page, PageEntry::new(kind, shape, page.0 - first.0).0);
        }
        for chunk in inside {
            self.store_chunk(chunk, PageEntry::new(kind, shape, first.0).0);
        }
    }

    pub(crate) fn clear_span(&self, first: PageIndex, count: PageCount) {
        for page in Self::pages_outside(first, count) {
            self.store(page, 0);
        }
        for chunk in Self::chunks_inside(first, count) {
            self.store_chunk(chunk, 0);
        }
    }

    /// The chunks inside a span, without the chunk it begins in.
    fn chunks_inside(first: PageIndex, count: PageCount) -> core::ops::Range<usize> {
        let (from, to) = (first.0 / CHUNK + 1, (first.0 + count.0) / CHUNK);
        from..to.max(from)
    }

    /// The pages of a span outside those chunks.
    fn pages_outside(first: PageIndex, count: PageCount) -> impl Iterator<Item = PageIndex> {
        let (end, chunks) = (first.0 + count.0, Self::chunks_inside(first, count));
        let (head, tail) = if chunks.is_empty() {
            (first.0..end, end..end)
        } else {
            (first.0..chunks.start * CHUNK, chunks.end * CHUNK..end)
        };
        head.chain(tail).map(PageIndex)
    }

    /// Has a model watch the entry of a page.
    #[cfg(all(test, loom))]
    pub(crate) fn watch(&self, watch: &Watch, page: PageIndex) {
        // SAFETY: models ask about pages below the committed end.
        watch.add(unsafe { &*self.entries.at(page.0) });
    }

    fn store(&self, page: PageIndex, entry: u64) {
        #[cfg(loom)]
        if mutant::is(mutant::PLAIN_ENTRY) {
            // SAFETY: as below.
            return unsafe { &*self.entries.at(page.0) }.store(entry, Ordering::Relaxed);
        }
        // SAFETY: the pages of a span lie below the committed end.
        unsafe { &*self.entries.at(page.0) }.store(entry, Ordering::Release);
    }

    fn store_chunk(&self, chunk: usize, entry: u64) {
        // SAFETY: as above.
        unsafe { &*self.chunks.at(chunk) }.store(entry, Ordering::Release);
    }
}

impl Mapped for PageTable {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        for_each_mapping_of(&[&self.entries, &self.chunks], f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_span_is_found_from_every_page() {
        let table = PageTable::new(&heapwood_os::SYSTEM, PageCount(6 * CHUNK)).unwrap();
        table.commit(PageIndex(0), PageIndex(6 * CHUNK)).unwrap();
        let spans = [
            (0, 1),
            (1, CHUNK - 1),
            (7, 3 * CHUNK),
            (CHUNK, CHUNK),
            (CHUNK - 1, 2 * CHUNK + 1),
            (3, 6 * CHUNK - 3),
        ];
        for (first, count) in spans {
            table.set_span(PageIndex(first), PageCount(count), ScanKind::Slice, ShapeId::from_index(77));
            for page in 0..6 * CHUNK {
                // SAFETY: all are committed.
                let entry = unsafe { table.get(PageIndex(page)) };
                if (first..first + count).contains(&page) {
                    assert_eq!(
                        (entry.kind(), entry.shape()),
                        (Some(ScanKind::Slice), ShapeId::from_index(77))
                    );
                    assert_eq!(entry.back().0, page - first, "page {page} of {first}, {count}");
                } else {
                    assert_eq!(entry.kind(), None);
                }
            }
            table.clear_span(PageIndex(first), PageCount(count));
            // SAFETY: as above.
            assert!((0..6 * CHUNK).all(|page| unsafe { table.get(PageIndex(page)) }.kind().is_none()));
        }
    }
}
