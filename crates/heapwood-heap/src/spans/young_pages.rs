//! The young pages, a table with one byte for each page: the epoch in which all objects of the page were made, if they
//! are young. A store into a young object needs no write barrier, since a young collection visits the object anyway,
//! and most stores are of that kind. A page is young if its span was made, or taken, without any object. Two epochs
//! alternate between cycles, so the end of a cycle resets no entry: a sweep, or the owner that keeps its span, clears
//! the entry before the cycle after the next. The table is indexed as a card table is. Invariant: where a page has the
//! current epoch, no object in it is older than the current cycle.

use core::ops::Range;
use core::sync::atomic::{AtomicU8, Ordering};
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError};
use heapwood_pages::{PageCount, PageIndex};

/// Objects with more pages (4 MiB) have no epoch: the saved barriers would not pay for the stores here.
const MOST: usize = 512;

/// The table of a heap's pages.
pub(crate) struct YoungPages(MappedArray<AtomicU8>);

/// The bit of arena pages: not every old object there has its allocation bit.
pub(crate) const IN_ARENA: u8 = 4;
/// The bits of the epoch.
pub(crate) const EPOCH: u8 = 3;

/// The epoch of a cycle.
#[inline(always)]
pub(crate) fn epoch_of(cycle: u32) -> u8 {
    1 + (cycle & 1) as u8
}

impl YoungPages {
    pub(crate) fn new(kernel: KernelRef, reservation: PageCount) -> Result<Self, OsError> {
        Ok(YoungPages(MappedArray::new(kernel, reservation.0)?))
    }

    pub(crate) fn commit(&self, pages: Range<usize>) -> Result<(), OsError> {
        self.0.commit(pages)
    }

    /// The entry of the first page, for barriers to index by the pages of slots.
    pub(crate) fn as_ptr(&self) -> *const AtomicU8 {
        self.0.as_ptr()
    }

    /// The entry of a page below the committed end.
    pub(crate) fn get(&self, page: PageIndex) -> u8 {
        // SAFETY: entries below the committed end are committed.
        unsafe { &*self.0.at(page.0) }.load(Ordering::Relaxed)
    }

    /// Sets the entries of the pages of a span that the caller owns.
    #[inline]
    pub(crate) fn set(&self, first: PageIndex, count: PageCount, entry: u8) {
        if count.0 <= MOST {
            for page in first.0..first.0 + count.0 {
                // SAFETY: spans lie below the committed end.
                unsafe { &*self.0.at(page) }.store(entry, Ordering::Relaxed);
            }
        }
    }

    /// Makes the pages of a span old. Most are old already, and their line is not written.
    #[inline]
    pub(crate) fn clear(&self, first: PageIndex, count: PageCount) {
        let entry = self.get(first);
        if entry & EPOCH != 0 {
            self.set(first, count, entry & IN_ARENA);
        }
    }
}

impl Mapped for YoungPages {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.0.for_each_mapping(f);
    }
}
