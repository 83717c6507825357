//! The start pages of large objects, one bit a page. Large objects are on no list, so any thread can free one at once:
//! the thread that clears the bit has the object, be it the sweep that found it dead or a program that frees it. A
//! second bit marks objects that no sweep has seen, so that a sweep after a young collection visits only these.
//! Invariant: a set bit means that a span of one object starts there; the span is complete before the bit is set, and
//! ends only after the bit was cleared.

use core::ops::Range;
use heapwood_os::threads::sync::{AtomicArray, AtomicU64, Ordering};
use heapwood_os::{KernelRef, OsError};
use heapwood_pages::{PageCount, PageIndex};

const WORD_PAGES: usize = 64;

/// The large objects of a heap.
pub(crate) struct LargeObjects {
    starts: AtomicArray<AtomicU64>,
    /// Objects that no sweep has seen, and perhaps pages that such an object had.
    unseen: AtomicArray<AtomicU64>,
}

impl LargeObjects {
    /// The empty set, for a reservation of `window` pages.
    pub(crate) fn new(kernel: KernelRef, window: PageCount) -> Result<Self, OsError> {
        let words = window.0.div_ceil(WORD_PAGES);
        Ok(LargeObjects {
            starts: AtomicArray::new(kernel, words)?,
            unseen: AtomicArray::new(kernel, words)?,
        })
    }

    /// Commits the bits of these pages.
    pub(crate) fn commit(&self, pages: Range<usize>) -> Result<(), OsError> {
        let words = pages.start / WORD_PAGES..pages.end.div_ceil(WORD_PAGES);
        self.starts.commit(words.clone())?;
        self.unseen.commit(words)
    }

    /// The number of words with bits of pages below `end`.
    pub(crate) fn words_below(end: PageIndex) -> usize {
        end.0.div_ceil(WORD_PAGES)
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        // SAFETY: callers ask about pages below the committed end; their bits are committed.
        unsafe { &*self.starts.at(index) }
    }

    fn unseen(&self, index: usize) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { &*self.unseen.at(index) }
    }

    /// Adds a new object that starts at a page.
    pub(crate) fn add_new(&self, page: PageIndex) {
        self.unsee(page);
        self.add(page);
    }

    /// Marks the object that starts at a page as unseen.
    pub(crate) fn unsee(&self, page: PageIndex) {
        self.unseen(page.0 / WORD_PAGES).fetch_or(1 << (page.0 % WORD_PAGES), Ordering::Release);
    }

    /// Marks the object that starts at a page as seen; whether it was unseen. The caller that gets true sees the object
    /// as it was made; an object that is made there meanwhile is unseen again.
    pub(crate) fn see(&self, page: PageIndex) -> bool {
        let (word, bit) = (self.unseen(page.0 / WORD_PAGES), 1 << (page.0 % WORD_PAGES));
        word.load(Ordering::Relaxed) & bit != 0 && word.fetch_and(!bit, Ordering::AcqRel) & bit != 0
    }

    /// Adds the object that starts at a page.
    pub(crate) fn add(&self, page: PageIndex) {
        self.word(page.0 / WORD_PAGES).fetch_or(1 << (page.0 % WORD_PAGES), Ordering::Release);
    }

    /// Takes the object that starts at a page; false if there is none, or another thread has it.
    pub(crate) fn take(&self, page: PageIndex) -> bool {
        let bit = 1 << (page.0 % WORD_PAGES);
        self.word(page.0 / WORD_PAGES).fetch_and(!bit, Ordering::AcqRel) & bit != 0
    }

    /// Takes the objects of a word that `bits` names; returns those that no other thread has.
    pub(crate) fn take_all(&self, word: usize, bits: u64) -> impl Iterator<Item = (PageIndex, u64)> {
        let taken = if bits == 0 { 0 } else { self.word(word).fetch_and(!bits, Ordering::AcqRel) & bits };
        pages_of(word, taken)
    }

    /// The start pages in a word, each with its bit.
    #[inline]
    pub(crate) fn starts_in(&self, word: usize) -> impl Iterator<Item = (PageIndex, u64)> {
        pages_of(word, self.word(word).load(Ordering::Acquire))
    }

    /// The start pages of unseen objects in a word.
    #[inline]
    pub(crate) fn unseen_in(&self, word: usize) -> impl Iterator<Item = (PageIndex, u64)> {
        let unseen = self.unseen(word).load(Ordering::Relaxed);
        pages_of(word, if unseen == 0 { 0 } else { unseen & self.word(word).load(Ordering::Acquire) })
    }

    /// The start pages in `words`.
    pub(crate) fn starts(&self, words: Range<usize>) -> impl Iterator<Item = PageIndex> {
        words.flat_map(|word| self.starts_in(word)).map(|(page, _)| page)
    }
}

#[inline]
fn pages_of(word: usize, mut bits: u64) -> impl Iterator<Item = (PageIndex, u64)> {
    core::iter::from_fn(move || {
        let bit = bits & bits.wrapping_neg();
        bits ^= bit;
        (bit != 0).then(|| (PageIndex(word * WORD_PAGES + bit.trailing_zeros() as usize), bit))
    })
}
