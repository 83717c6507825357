//! The page table: one word a page that answers what lies there.
//!
//! The entry of a page in a span holds the scan kind, the shape, and how many pages before it the span starts; a
//! page that no span owns has entry 0. So an ambiguous word is dropped after one range test and one load, and a
//! precise edge gets its layout with one load. Invariant: entries are committed for every page below the heap's
//! high-water mark, holes included.

use crate::shape::{ScanKind, ShapeId};
use core::sync::atomic::{AtomicU64, Ordering};
use heapwood_os::{KernelRef, MappedArray, OsError};
use heapwood_pages::{PageCount, PageIndex};

/// What lies in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct PageEntry(u64);

const SHAPE_SHIFT: u32 = 4;
const BACK_SHIFT: u32 = 32;

impl PageEntry {
    /// The entry of the page `back` pages after the start of a span of `shape`.
    pub(crate) fn new(kind: ScanKind, shape: ShapeId, back: usize) -> Self {
        PageEntry(kind as u64 | (shape.0 as u64) << SHAPE_SHIFT | (back as u64) << BACK_SHIFT)
    }

    /// How objects here are scanned; `None` where no span is.
    #[inline(always)]
    pub fn kind(self) -> Option<ScanKind> {
        ScanKind::from_bits((self.0 & 15) as u8)
    }

    /// Whether objects here are scanned as `kind`.
    #[inline(always)]
    pub fn is(self, kind: ScanKind) -> bool {
        self.0 & 15 == kind as u64
    }

    /// The shape of the span here.
    #[inline(always)]
    pub fn shape(self) -> ShapeId {
        ShapeId((self.0 as u32) >> SHAPE_SHIFT)
    }

    /// How many pages back the span starts.
    #[inline(always)]
    pub fn back(self) -> PageCount {
        PageCount((self.0 >> BACK_SHIFT) as usize)
    }
}

/// The entries of all pages of a heap's window.
pub struct PageTable {
    entries: MappedArray<AtomicU64>,
}

impl PageTable {
    pub(crate) fn new(kernel: KernelRef, window: PageCount) -> Result<Self, OsError> {
        Ok(PageTable { entries: MappedArray::new(kernel, window.0)? })
    }

    pub(crate) fn commit(&self, from: PageIndex, to: PageIndex) -> Result<(), OsError> {
        self.entries.commit(from.0..to.0)
    }

    /// The same by huge pages.
    pub(crate) fn commit_huge(&self, from: PageIndex, to: PageIndex) -> Result<(), OsError> {
        self.entries.commit_huge(from.0..to.0)
    }

    /// The entry of a page below the heap's high-water mark.
    #[inline(always)]
    pub fn get(&self, page: PageIndex) -> PageEntry {
        // SAFETY: entries below the high-water mark are committed, and callers have done the range test.
        PageEntry(unsafe { &*self.entries.at(page.0) }.load(Ordering::Relaxed))
    }

    /// The first entry, for a marking loop to index by page.
    pub fn as_ptr(&self) -> *const PageEntry {
        self.entries.as_ptr().cast()
    }

    pub(crate) fn set_span(&self, first: PageIndex, count: PageCount, kind: ScanKind, shape: ShapeId) {
        for back in 0..count.0 {
            self.store(PageIndex(first.0 + back), PageEntry::new(kind, shape, back).0);
        }
    }

    pub(crate) fn clear_span(&self, first: PageIndex, count: PageCount) {
        for page in first.0..first.0 + count.0 {
            self.store(PageIndex(page), 0);
        }
    }

    fn store(&self, page: PageIndex, entry: u64) {
        // SAFETY: the pages of a span lie below the high-water mark.
        unsafe { &*self.entries.at(page.0) }.store(entry, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_hold_what_was_put_in() {
        for (kind, shape, back) in [
            (ScanKind::NoPointers, ShapeId(1), 0),
            (ScanKind::Trace, ShapeId(crate::MAX_SHAPES as u32 - 1), u32::MAX as usize),
        ] {
            let e = PageEntry::new(kind, shape, back);
            assert_eq!((e.kind(), e.shape(), e.back()), (Some(kind), shape, PageCount(back)));
        }
        assert_eq!(PageEntry(0).kind(), None);
    }
}
