//! The rescan set: spans with marked objects that were not scanned. Where the kernel gave no memory for more bits, one
//! flag stands for all spans without a bit. Invariant: each flag is taken once, and a span in the set is never
//! forgotten.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use heapwood_os::{KernelRef, MappedArray, OsError};
use heapwood_pages::PAGE_SIZE;

/// Pages for each word of bits.
pub(super) const WORD_PAGES: usize = 64;

/// The spans with marked objects that were not scanned: one bit for each page; a span uses its first page's.
pub(crate) struct RescanSet {
    bits: MappedArray<AtomicU64>,
    /// Committed words. Pages beyond have no bits if the kernel refused more.
    words: usize,
    /// Stands for all spans without a bit.
    beyond: AtomicBool,
    any: AtomicBool,
}

impl RescanSet {
    /// An empty set for a reservation of N bytes.
    pub(crate) fn new(kernel: KernelRef, reservation: usize) -> Result<Self, OsError> {
        let bits = MappedArray::new(kernel, (reservation / PAGE_SIZE).div_ceil(WORD_PAGES))?;
        Ok(RescanSet { bits, words: 0, beyond: AtomicBool::new(false), any: AtomicBool::new(false) })
    }

    /// Commits the bits for N bytes of heap, if the kernel grants them.
    pub(crate) fn commit(&mut self, committed_end: usize) {
        let words = (committed_end / PAGE_SIZE).div_ceil(WORD_PAGES);
        if self.bits.commit(self.words..words).is_ok() {
            self.words = self.words.max(words);
        }
    }

    /// Whether the set may have spans; exact while no marker adds any.
    pub(super) fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Adds a span. Several markers may add while one takes.
    pub(super) fn flag(&self, page: usize) {
        if page / WORD_PAGES < self.words {
            // SAFETY: these words are committed.
            let word = unsafe { &*self.bits.at(page / WORD_PAGES) };
            // The marker that takes the flag sees the marks that were set before.
            word.fetch_or(1 << (page % WORD_PAGES), Ordering::Release);
        } else {
            self.beyond.store(true, Ordering::Release);
        }
        // After the flag: a marker that clears `any` and then takes flags sees this flag, or `any` is set again.
        self.any.store(true, Ordering::Release);
    }

    /// Takes the flags of a word's pages.
    pub(super) fn take(&self, index: usize) -> u64 {
        assert!(index < self.words);
        // SAFETY: these words are committed.
        unsafe { &*self.bits.at(index) }.swap(0, Ordering::Acquire)
    }

    /// Begins to take flags: `any` now stands for flags that are set from here on.
    pub(super) fn begin(&self) {
        self.any.swap(false, Ordering::AcqRel);
    }

    /// Empties the set after a marking that ended early.
    pub(super) fn forget(&self) {
        if self.any() {
            self.begin();
            (0..self.words).for_each(|index| _ = self.take(index));
            self.take_beyond();
        }
    }

    /// The number of words.
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// Whether spans without a bit are in the set.
    pub(super) fn is_beyond(&self) -> bool {
        self.beyond.load(Ordering::Acquire)
    }

    /// Takes the flag that stands for all spans without a bit.
    pub(super) fn take_beyond(&self) -> bool {
        self.beyond.swap(false, Ordering::Acquire)
    }
}
