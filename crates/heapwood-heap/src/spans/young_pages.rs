//! The age of each page, a byte: whether all that lies in it was made in this cycle. A store into an object there needs no
//! write barrier, for a young collection looks at the object anyway; and most stores are of that kind. A page is young if its
//! span was taken or made without any object. Ages are told apart by two numbers that cycles take in turn, so none has to be
//! taken back as a cycle ends: a sweep, or an owner that goes on in its span, clears them before the cycle after the next.
//! Invariant: where a page has the age of the cycle under way, no object in it is older than that cycle.

use core::sync::atomic::{AtomicU8, Ordering};
use heapwood_os::{KernelRef, MappedArray, OsError};
use heapwood_pages::{PageCount, PageIndex};

/// Objects with more pages (4 MiB) have no age: a few stores into them are not worth N bytes.
const MOST: usize = 512;

/// The ages of a heap's pages.
pub(crate) struct YoungPages(MappedArray<AtomicU8>);

/// The bit of pages of arenas: not all there that is old has its bit.
pub(crate) const IN_ARENA: u8 = 4;
/// The bits of the age itself.
pub(crate) const AGE: u8 = 3;

/// The age of the pages that are young in a cycle.
#[inline(always)]
pub(crate) fn age_in(cycle: u32) -> u8 {
    1 + (cycle & 1) as u8
}

impl YoungPages {
    pub(crate) fn new(kernel: KernelRef, window: PageCount) -> Result<Self, OsError> {
        Ok(YoungPages(MappedArray::new(kernel, window.0)?))
    }

    pub(crate) fn commit(&self, pages: core::ops::Range<usize>) -> Result<(), OsError> {
        self.0.commit(pages)
    }

    /// The age of the first page, for barriers to index by the pages of slots.
    pub(crate) fn as_ptr(&self) -> *const AtomicU8 {
        self.0.as_ptr()
    }

    /// The age of a page below the extent.
    pub(crate) fn get(&self, page: PageIndex) -> u8 {
        // SAFETY: ages below the extent are committed.
        unsafe { &*self.0.at(page.0) }.load(Ordering::Relaxed)
    }

    /// The pages of a span of the caller's have this age.
    #[inline]
    pub(crate) fn set(&self, first: PageIndex, count: PageCount, age: u8) {
        if count.0 <= MOST {
            for page in first.0..first.0 + count.0 {
                // SAFETY: spans lie below the extent.
                unsafe { &*self.0.at(page) }.store(age, Ordering::Relaxed);
            }
        }
    }

    /// They are not young any more. Most were not before, and their line is not written.
    #[inline]
    pub(crate) fn clear(&self, first: PageIndex, count: PageCount) {
        let age = self.get(first);
        if age & AGE != 0 {
            self.set(first, count, age & IN_ARENA);
        }
    }
}
