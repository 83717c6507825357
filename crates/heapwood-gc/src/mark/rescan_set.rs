//! Which spans have marked objects that were not scanned. Invariant: a span without a bit of its own, where the kernel gave
//! no memory for more, is flagged with all others like it; a flag is taken once, and a flagged span is never forgotten.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use heapwood_os::{KernelRef, MappedArray, OsError};
use heapwood_pages::PAGE_SIZE;

/// A word has the bits of N pages.
pub(super) const WORD_PAGES: usize = 64;

/// The spans with marked objects that were not scanned: a bit for each page, the span's first.
pub(crate) struct RescanSet {
    bits: MappedArray<AtomicU64>,
    /// Words that are committed; what lies beyond has no bits if the kernel refused more.
    words: usize,
    /// Spans without a bit have been flagged: all of them.
    beyond: AtomicBool,
    any: AtomicBool,
}

impl RescanSet {
    /// None, of a heap with N bytes of window.
    pub(crate) fn new(kernel: KernelRef, window: usize) -> Result<Self, OsError> {
        let bits = MappedArray::new(kernel, (window / PAGE_SIZE).div_ceil(WORD_PAGES))?;
        Ok(RescanSet { bits, words: 0, beyond: AtomicBool::new(false), any: AtomicBool::new(false) })
    }

    /// Makes room for those in N bytes of heap, if the kernel grants it.
    pub(crate) fn commit(&mut self, extent: usize) {
        let words = (extent / PAGE_SIZE).div_ceil(WORD_PAGES);
        if self.bits.commit(self.words..words).is_ok() {
            self.words = self.words.max(words);
        }
    }

    /// Whether there are any; exact while nobody flags.
    pub(super) fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Several markers may flag, and one take flags meanwhile.
    pub(super) fn flag(&self, page: usize) {
        if page / WORD_PAGES < self.words {
            // SAFETY: these words are committed.
            let word = unsafe { &*self.bits.at(page / WORD_PAGES) };
            // Who takes the flag sees the marks that were set before.
            word.fetch_or(1 << (page % WORD_PAGES), Ordering::Release);
        } else {
            self.beyond.store(true, Ordering::Release);
        }
        // After the flag: who forgets this word and then takes flags sees the flag, or the word comes after that.
        self.any.store(true, Ordering::Release);
    }

    /// Takes the flags of a word's pages.
    pub(super) fn take(&self, index: usize) -> u64 {
        assert!(index < self.words);
        // SAFETY: these words are committed.
        unsafe { &*self.bits.at(index) }.swap(0, Ordering::Acquire)
    }

    /// Begins to take the flags: those that are set from now on are new.
    pub(super) fn begin(&self) {
        self.any.swap(false, Ordering::AcqRel);
    }

    /// Takes all flags of a marking that has ended early.
    pub(super) fn forget(&self) {
        if self.any() {
            self.begin();
            (0..self.words).for_each(|index| _ = self.take(index));
            self.take_beyond();
        }
    }

    /// How many words there are.
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// Takes the flag of all spans without a bit.
    pub(super) fn take_beyond(&self) -> bool {
        self.beyond.swap(false, Ordering::Acquire)
    }
}
