//! Where large objects start: a bit for each page. They are on no list, so that one can be freed at once, by anybody:
//! who takes the bit away has the object, be it the sweep that found it dead or a program that frees it. A second bit says that
//! no sweep has seen the object yet, for those that follow young collections to look at no other. Invariant: a bit
//! says that a span of one object starts there, which is whole before the bit is set and goes after it was taken.

use core::ops::Range;
use heapwood_os::sync::{AtomicArray, AtomicU64, Ordering};
use heapwood_os::{KernelRef, OsError};
use heapwood_pages::{PageCount, PageIndex};

const WORD_PAGES: usize = 64;

/// The large objects of a heap.
pub(crate) struct LargeObjects {
    starts: AtomicArray<AtomicU64>,
    /// Those that no sweep has seen, and perhaps pages where such an object was.
    unseen: AtomicArray<AtomicU64>,
}

impl LargeObjects {
    /// None, in a window of N pages.
    pub(crate) fn new(kernel: KernelRef, window: PageCount) -> Result<Self, OsError> {
        let words = window.0.div_ceil(WORD_PAGES);
        Ok(LargeObjects {
            starts: AtomicArray::new(kernel, words)?,
            unseen: AtomicArray::new(kernel, words)?,
        })
    }

    /// Makes room for those that start in these pages.
    pub(crate) fn commit(&self, pages: Range<usize>) -> Result<(), OsError> {
        let words = pages.start / WORD_PAGES..pages.end.div_ceil(WORD_PAGES);
        self.starts.commit(words.clone())?;
        self.unseen.commit(words)
    }

    /// How many words say where those below a page start.
    pub(crate) fn words_below(end: PageIndex) -> usize {
        end.0.div_ceil(WORD_PAGES)
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        // SAFETY: callers ask about pages below the extent, for which there is room.
        unsafe { &*self.starts.at(index) }
    }

    fn unseen(&self, index: usize) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { &*self.unseen.at(index) }
    }

    /// An object was made that starts at a page.
    pub(crate) fn add_new(&self, page: PageIndex) {
        self.unsee(page);
        self.add(page);
    }

    /// No sweep has seen the object that starts at a page.
    pub(crate) fn unsee(&self, page: PageIndex) {
        self.unseen(page.0 / WORD_PAGES).fetch_or(1 << (page.0 % WORD_PAGES), Ordering::Release);
    }

    /// A sweep is about to look at what starts at a page; whether none had. The thread that is told so sees it as it was made: if
    /// another is made there meanwhile that is unseen.
    pub(crate) fn see(&self, page: PageIndex) -> bool {
        let (word, bit) = (self.unseen(page.0 / WORD_PAGES), 1 << (page.0 % WORD_PAGES));
        word.load(Ordering::Relaxed) & bit != 0 && word.fetch_and(!bit, Ordering::AcqRel) & bit != 0
    }

    /// An object starts at a page.
    pub(crate) fn add(&self, page: PageIndex) {
        self.word(page.0 / WORD_PAGES).fetch_or(1 << (page.0 % WORD_PAGES), Ordering::Release);
    }

    /// Takes the object that starts at a page; false if there is none, or somebody else has it.
    pub(crate) fn take(&self, page: PageIndex) -> bool {
        let bit = 1 << (page.0 % WORD_PAGES);
        self.word(page.0 / WORD_PAGES).fetch_and(!bit, Ordering::AcqRel) & bit != 0
    }

    /// Takes those of the objects that start in the pages of a word that `bits` names; returns which nobody else has.
    pub(crate) fn take_all(&self, word: usize, bits: u64) -> impl Iterator<Item = (PageIndex, u64)> {
        let taken = if bits == 0 { 0 } else { self.word(word).fetch_and(!bits, Ordering::AcqRel) & bits };
        pages_of(word, taken)
    }

    /// The pages at which objects start, by a word, with the bit of each.
    #[inline]
    pub(crate) fn starts_in(&self, word: usize) -> impl Iterator<Item = (PageIndex, u64)> {
        pages_of(word, self.word(word).load(Ordering::Acquire))
    }

    /// Those of them that no sweep has seen.
    #[inline]
    pub(crate) fn unseen_in(&self, word: usize) -> impl Iterator<Item = (PageIndex, u64)> {
        let unseen = self.unseen(word).load(Ordering::Relaxed);
        pages_of(word, if unseen == 0 { 0 } else { unseen & self.word(word).load(Ordering::Acquire) })
    }

    /// The pages at which objects start, by the words `words`.
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
