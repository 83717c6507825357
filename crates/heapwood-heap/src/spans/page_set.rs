//! A set of pages with two summaries: a bit for each word of the set that is not empty, and a bit for each such word of
//! bits. So a walk looks at a word for each 2 GiB of the heap, and at what is in the set: a hierarchical bitmap, in the
//! manner of van Emde Boas's clusters and summaries.
//!
//! Invariant: while no thread changes the set, a word that is not empty has its bit one level up. The thread that makes
//! a word non-empty raises that bit; a thread that has emptied one lowers it and looks at the word again. Both change
//! the bit's word by read-modify-writes: if the raising one comes first the other sees the new bit below, and raises
//! it again.

use core::cell::Cell;
use core::ops::Range;
use heapwood_os::threads::sync::{AtomicArray, AtomicU64, Ordering};
use heapwood_os::{KernelRef, Mapped, OsError};
use heapwood_pages::{PageCount, PageIndex};

const WORD_BITS: usize = 64;
const LEVELS: usize = 3;

/// The set.
pub(crate) struct PageSet {
    levels: [AtomicArray<AtomicU64>; LEVELS],
}

fn word_and_bit(index: usize) -> (usize, u64) {
    (index / WORD_BITS, 1 << (index % WORD_BITS))
}

/// The set bits of a word.
#[inline]
pub(crate) fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        (word != 0).then(|| {
            word &= word - 1;
            bit
        })
    })
}

impl PageSet {
    /// The empty set, for a reservation of `reservation` pages.
    pub(crate) fn new(kernel: KernelRef, reservation: PageCount) -> Result<Self, OsError> {
        let words = |level: u32| reservation.0.div_ceil(WORD_BITS.pow(level + 1));
        let level = |level| AtomicArray::new(kernel, words(level));
        Ok(PageSet { levels: [level(0)?, level(1)?, level(2)?] })
    }

    /// Commits the bits of these pages.
    pub(crate) fn commit(&self, pages: Range<usize>) -> Result<(), OsError> {
        let mut range = pages;
        for level in &self.levels {
            range = range.start / WORD_BITS..range.end.div_ceil(WORD_BITS);
            level.commit(range.clone())?;
        }
        Ok(())
    }

    fn at(&self, level: usize, word: usize) -> &AtomicU64 {
        // SAFETY: callers ask about pages below the committed end; their bits are committed on each level.
        unsafe { &*self.levels[level].at(word) }
    }

    /// The pages of a word, as bits.
    #[inline]
    pub(crate) fn word(&self, word: usize) -> u64 {
        self.at(0, word).load(Ordering::Relaxed)
    }

    /// Adds a page. What the caller wrote before is seen by the thread that removes it.
    pub(crate) fn add(&self, page: PageIndex) {
        self.raise(0, page.0);
    }

    fn raise(&self, from: usize, mut index: usize) {
        for level in from..LEVELS {
            let (word, bit) = word_and_bit(index);
            if self.at(level, word).fetch_or(bit, Ordering::AcqRel) != 0 {
                return;
            }
            index = word;
        }
    }

    /// Removes a page; whether it was there.
    pub(crate) fn remove(&self, page: PageIndex) -> bool {
        let (word, bit) = word_and_bit(page.0);
        let at = self.at(0, word);
        if at.load(Ordering::Relaxed) & bit == 0 {
            return false;
        }
        let before = at.fetch_and(!bit, Ordering::AcqRel);
        if before == bit {
            self.lower(word);
        }
        before & bit != 0
    }

    #[inline(never)]
    fn lower(&self, mut emptied: usize) {
        for level in 1..LEVELS {
            let (word, bit) = word_and_bit(emptied);
            let before = self.at(level, word).fetch_and(!bit, Ordering::AcqRel);
            if self.at(level - 1, emptied).load(Ordering::Relaxed) != 0 {
                return self.raise(level, emptied);
            }
            if before & !bit != 0 {
                return;
            }
            emptied = word;
        }
    }

    /// The words, among `words`, that may not be empty. It skips those of pages that other threads add just now.
    pub(crate) fn words(&self, words: Range<usize>) -> impl Iterator<Item = usize> {
        words.filter(|&word| {
            let (above, bit) = word_and_bit(word);
            self.at(1, above).load(Ordering::Relaxed) & bit != 0
        })
    }

    /// The first word from `from` on, a multiple of 64 if it is not `from`, below which down to `from` all are empty,
    /// and which may not be; `end` if there is none. It skips words of pages that other threads add just now.
    pub(crate) fn skip_empty(&self, from: usize, end: usize) -> usize {
        let mut word = from;
        while word < end {
            let (above, top) = (word / WORD_BITS, word / WORD_BITS / WORD_BITS);
            if self.at(2, top).load(Ordering::Relaxed) == 0 {
                word = (top + 1) * WORD_BITS * WORD_BITS;
            } else if self.at(1, above).load(Ordering::Relaxed) == 0 {
                word = (above + 1) * WORD_BITS;
            } else {
                return word;
            }
        }
        end
    }

    /// Calls `f` with each word, and its pages as bits, that is not empty; no thread changes the set. Adds the number
    /// of words that it looks at on all levels to `visited`.
    pub(crate) fn for_each_word(&self, end: PageIndex, visited: &Cell<usize>, mut f: impl FnMut(usize, u64)) {
        let look = |level: usize, word: usize| {
            visited.set(visited.get() + 1);
            self.at(level, word).load(Ordering::Relaxed)
        };
        for top in 0..end.0.div_ceil(WORD_BITS.pow(LEVELS as u32)) {
            for middle in bits(look(2, top)).map(|bit| top * WORD_BITS + bit) {
                for word in bits(look(1, middle)).map(|bit| middle * WORD_BITS + bit) {
                    f(word, look(0, word));
                }
            }
        }
    }
}

impl Mapped for PageSet {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.levels.for_each_mapping(f);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const PAGES: usize = 3 << 18;

    fn set() -> PageSet {
        let set = PageSet::new(&heapwood_os::SYSTEM, PageCount(PAGES)).unwrap();
        set.commit(0..PAGES).unwrap();
        set
    }

    fn pages(set: &PageSet) -> (BTreeSet<usize>, usize) {
        let (visited, mut found) = (Cell::new(0), BTreeSet::new());
        set.for_each_word(PageIndex(PAGES), &visited, |word, pages| {
            found.extend(bits(pages).map(|bit| word * WORD_BITS + bit));
        });
        (found, visited.get())
    }

    #[test]
    fn a_walk_finds_what_was_added_and_looks_at_little_more() {
        let (set, mut expected, mut state) = (set(), BTreeSet::new(), 0x9E37_79B9_7F4A_7C15u64);
        assert_eq!(pages(&set), (BTreeSet::new(), 3));
        for step in 0..4000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            // Most of them close together, so that words fill and empty.
            let page = state as usize % if step % 4 == 0 { PAGES } else { 300 };
            match state >> 40 & 1 {
                0 => {
                    set.add(PageIndex(page));
                    expected.insert(page);
                }
                _ => assert_eq!(set.remove(PageIndex(page)), expected.remove(&page)),
            }
            if step % 100 == 0 {
                let (found, visited) = pages(&set);
                assert_eq!(found, expected, "step {step}");
                assert!(visited <= 3 + 2 * expected.len(), "{visited} words for {} pages", expected.len());
                let words: BTreeSet<_> = expected.iter().map(|page| page / WORD_BITS).collect();
                assert!(set.words(0..PAGES / WORD_BITS).eq(words.iter().copied()));
                let from = page / WORD_BITS;
                let next = set.skip_empty(from, PAGES / WORD_BITS);
                assert!(words.range(from..next).next().is_none() && next >= from);
            }
        }
        expected.iter().for_each(|&page| assert!(set.remove(PageIndex(page))));
        assert_eq!(pages(&set), (BTreeSet::new(), 3), "summaries go with what they stand for");
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use std::sync::Arc;

    /// One thread empties a word and lowers its bits, while another adds a page to it: the page is found afterwards.
    /// Without the second look of `lower` it is lost in some orders.
    #[test]
    fn a_page_added_to_a_word_that_is_emptied_is_found() {
        loom::model(|| {
            let set = Arc::new(PageSet::new(&heapwood_os::SYSTEM, PageCount(64)).unwrap());
            set.add(PageIndex(1));
            let other = Arc::clone(&set);
            let adds = loom::thread::spawn(move || other.add(PageIndex(2)));
            assert!(set.remove(PageIndex(1)));
            adds.join().unwrap();
            let mut found = 0;
            set.for_each_word(PageIndex(64), &Cell::new(0), |_, pages| found |= pages);
            assert_eq!(found, 1 << 2);
            assert!(set.remove(PageIndex(2)));
            set.for_each_word(PageIndex(64), &Cell::new(0), |_, pages| assert_eq!(pages, 0));
        });
    }
}
