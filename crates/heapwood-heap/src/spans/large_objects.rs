//! The start pages of large objects, one bit a page. Large objects are on no list, so any thread can free one at once:
//! the thread that clears the bit has the object, be it the sweep that found it dead or a program that frees it. A
//! second bit marks objects that no sweep has seen, so that a sweep after a young collection visits only these, and so
//! does a pause.
//! Invariant: a set bit means that a span of one object starts there; the span is complete before the bit is set, and
//! ends only after the bit was cleared.

use crate::spans::page_set::{PageSet, bits};
use core::cell::Cell;
use core::ops::Range;
use heapwood_os::threads::sync::{AtomicArray, AtomicU64, Ordering};
use heapwood_os::{KernelRef, Mapped, OsError, for_each_mapping_of};
use heapwood_pages::{PageCount, PageIndex};

const WORD_PAGES: usize = 64;

/// The large objects of a heap.
pub(crate) struct LargeObjects {
    starts: AtomicArray<AtomicU64>,
    /// Objects that no sweep has seen, and perhaps pages that such an object had.
    unseen: PageSet,
}

impl LargeObjects {
    /// The empty set, for a reservation of `reservation` pages.
    pub(crate) fn new(kernel: KernelRef, reservation: PageCount) -> Result<Self, OsError> {
        let words = reservation.0.div_ceil(WORD_PAGES);
        Ok(LargeObjects {
            starts: AtomicArray::new(kernel, words)?,
            unseen: PageSet::new(kernel, reservation)?,
        })
    }

    /// Commits the bits of these pages.
    pub(crate) fn commit(&self, pages: Range<usize>) -> Result<(), OsError> {
        let words = pages.start / WORD_PAGES..pages.end.div_ceil(WORD_PAGES);
        self.starts.commit(words)?;
        self.unseen.commit(pages)
    }

    /// The number of words with bits of pages below `end`.
    pub(crate) fn words_below(end: PageIndex) -> usize {
        end.0.div_ceil(WORD_PAGES)
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        // SAFETY: callers ask about pages below the committed end; their bits are committed.
        unsafe { &*self.starts.at(index) }
    }

    /// Adds a new object that starts at a page.
    pub(crate) fn add_new(&self, page: PageIndex) {
        self.unsee(page);
        self.add(page);
    }

    /// Marks the object that starts at a page as unseen.
    pub(crate) fn unsee(&self, page: PageIndex) {
        self.unseen.add(page);
    }

    /// Marks the object that starts at a page as seen; whether it was unseen. The caller that gets true sees the object
    /// as it was made; an object that is made there meanwhile is unseen again.
    pub(crate) fn see(&self, page: PageIndex) -> bool {
        self.unseen.remove(page)
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
        let unseen = self.unseen.word(word);
        pages_of(word, if unseen == 0 { 0 } else { unseen & self.word(word).load(Ordering::Acquire) })
    }

    /// The words, among `words`, that may have unseen objects.
    pub(crate) fn unseen_words(&self, words: Range<usize>) -> impl Iterator<Item = usize> {
        self.unseen.words(words)
    }

    /// Skips words without unseen objects, from word `from` on; returns the next that may have some, at most `end`.
    /// Of objects made since the last stop it may skip some.
    pub(crate) fn skip_seen(&self, from: usize, end: usize) -> usize {
        self.unseen.skip_empty(from, end)
    }

    /// Calls `f` with the start page of each unseen object below `end`, while nothing changes. Adds the number of
    /// words that it looks at to `visited`.
    pub(crate) fn for_each_unseen(
        &self,
        end: PageIndex,
        visited: &Cell<usize>,
        mut f: impl FnMut(PageIndex),
    ) {
        self.unseen.for_each_word(end, visited, |word, unseen| {
            visited.set(visited.get() + 1);
            pages_of(word, unseen & self.word(word).load(Ordering::Acquire)).for_each(|(page, _)| f(page));
        });
    }

    /// The start pages in `words`.
    pub(crate) fn starts(&self, words: Range<usize>) -> impl Iterator<Item = PageIndex> {
        words.flat_map(|word| self.starts_in(word)).map(|(page, _)| page)
    }
}

#[inline]
fn pages_of(word: usize, pages: u64) -> impl Iterator<Item = (PageIndex, u64)> {
    bits(pages).map(move |bit| (PageIndex(word * WORD_PAGES + bit), 1 << bit))
}

impl Mapped for LargeObjects {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        for_each_mapping_of(&[&self.starts, &self.unseen], f);
    }
}
