//! Which spans have marked objects that were not scanned. Invariant: a span without a bit of its own, where the kernel gave
//! no memory for more, is flagged with all others like it.

use heapwood_os::{KernelRef, MappedArray, OsError};
use heapwood_pages::PAGE_SIZE;

/// A word has the bits of so many pages.
pub(super) const WORD_PAGES: usize = 64;

/// The spans with marked objects that were not scanned: a bit for each page, the span's first.
pub(crate) struct FlaggedSpans {
    bits: MappedArray<u64>,
    /// Words that are committed; what lies beyond has no bits if the kernel refused more.
    words: usize,
    /// Spans without a bit have been flagged: all of them.
    beyond: bool,
    any: bool,
}

impl FlaggedSpans {
    /// None, of a heap with so many bytes of window.
    pub(crate) fn new(kernel: KernelRef, window: usize) -> Result<Self, OsError> {
        let bits = MappedArray::new(kernel, (window / PAGE_SIZE).div_ceil(WORD_PAGES))?;
        Ok(FlaggedSpans { bits, words: 0, beyond: false, any: false })
    }

    /// Makes room for those in so many bytes of heap, if the kernel grants it.
    pub(crate) fn commit(&mut self, extent: usize) {
        let words = (extent / PAGE_SIZE).div_ceil(WORD_PAGES);
        if self.bits.commit(self.words..words).is_ok() {
            self.words = self.words.max(words);
        }
    }

    pub(super) fn any(&self) -> bool {
        self.any
    }

    pub(super) fn flag(&mut self, page: usize) {
        self.any = true;
        if page / WORD_PAGES < self.words {
            // SAFETY: these words are committed.
            unsafe { *self.bits.at(page / WORD_PAGES) |= 1 << (page % WORD_PAGES) };
        } else {
            self.beyond = true;
        }
    }

    /// Takes the flags of a word's pages.
    pub(super) fn take(&mut self, index: usize) -> u64 {
        assert!(index < self.words);
        // SAFETY: these words are committed, and the borrow is exclusive.
        core::mem::take(unsafe { &mut *self.bits.at(index) })
    }

    /// Begins to take the flags: those that are set from now on are new.
    pub(super) fn begin(&mut self) {
        self.any = false;
    }

    /// How many words there are.
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// Takes the flag of all spans without a bit.
    pub(super) fn take_beyond(&mut self) -> bool {
        core::mem::take(&mut self.beyond)
    }
}
