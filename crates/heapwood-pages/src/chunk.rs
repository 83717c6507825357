//! The bits of one chunk, two for each page: whether it is in use, and whether it is scavenged, which means certainly
//! not resident. Both bits together mean that the page does not exist, so a search reads one bitmap only.
//!
//! | in use | scavenged | the page |
//! |---|---|---|
//! | 0 | 0 | is free and may be resident |
//! | 0 | 1 | is free and not resident |
//! | 1 | 0 | is in use |
//! | 1 | 1 | does not exist (was never grown, or is padding of a chunk of fewer than 64) |
//!
//! Invariant: an existing page that is in use is never marked scavenged. The bitmaps are those of the Go page
//! allocator proposal. Runs are found by shrinking them in doubling steps, as in Hacker's Delight (Warren), "Finding
//! the longest string of 1-bits".

use crate::geometry::{Geometry, TreeShape, Words};
use crate::summary::Summary;

/// The bits of one chunk. In the ordinary geometry each bitmap fills a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Chunk<G: Geometry> {
    in_use: G::Words,
    scavenged: G::Words,
}

impl<G: Geometry> Chunk<G> {
    const PAGES: usize = TreeShape::<G>::CHUNK_PAGES;

    /// The bits above the pages of a chunk with fewer than 64.
    const PADDING: u32 = if Self::PAGES < 64 { 64 - Self::PAGES as u32 } else { 0 };

    /// A chunk without any existing page.
    pub(crate) const ABSENT: Self = Chunk { in_use: G::Words::SET, scavenged: G::Words::SET };

    #[inline]
    pub(crate) fn is_grown(&self, page: usize) -> bool {
        !(self.is_set(page) && self.is_scavenged(page))
    }

    /// Whether the page is in use or does not exist.
    #[inline]
    pub(crate) fn is_set(&self, page: usize) -> bool {
        bit(self.in_use.as_ref(), page)
    }

    /// Whether the page is scavenged.
    #[inline]
    pub(crate) fn is_scavenged(&self, page: usize) -> bool {
        bit(self.scavenged.as_ref(), page)
    }

    /// Whether the padding counts as nonexistent pages.
    pub(crate) fn padding_is_set(&self) -> bool {
        let set = |words: &[u64]| words[0] >> (Self::PAGES % 64) == u64::MAX >> (Self::PAGES % 64);
        Self::PADDING == 0 || set(self.in_use.as_ref()) && set(self.scavenged.as_ref())
    }

    /// The first existing page of the range.
    pub(crate) fn first_grown(&self, first: usize, count: usize) -> Option<usize> {
        let (in_use, scavenged) = (self.in_use.as_ref(), self.scavenged.as_ref());
        pieces(first, count).find_map(|(word, mask)| lowest(word, !(in_use[word] & scavenged[word]) & mask))
    }

    /// The first page of the range that cannot be freed (`in_use`) or claimed (not `in_use`).
    #[inline]
    pub(crate) fn obstacle(&self, first: usize, count: usize, in_use: bool) -> Option<usize> {
        let (bits, scavenged) = (self.in_use.as_ref(), self.scavenged.as_ref());
        // A page in use exists unless it counts as scavenged; a free page exists.
        let wrong = |word: usize| if in_use { !bits[word] | scavenged[word] } else { bits[word] };
        pieces(first, count).find_map(|(word, mask)| lowest(word, wrong(word) & mask))
    }

    /// Adds the pages, free and scavenged.
    pub(crate) fn grow(&mut self, first: usize, count: usize) {
        for (word, mask) in pieces(first, count) {
            self.in_use.as_mut()[word] &= !mask;
        }
    }

    /// Marks free pages as used; returns the number of scavenged ones.
    #[inline]
    pub(crate) fn take(&mut self, first: usize, count: usize) -> usize {
        let (in_use, scavenged) = (self.in_use.as_mut(), self.scavenged.as_mut());
        let mut without = 0;
        for (word, mask) in pieces(first, count) {
            in_use[word] |= mask;
            without += ones(scavenged[word] & mask);
            scavenged[word] &= !mask;
        }
        without
    }

    /// Marks used pages as free; they may be resident.
    #[inline]
    pub(crate) fn free(&mut self, first: usize, count: usize) {
        let words = self.in_use.as_mut();
        for (word, mask) in pieces(first, count) {
            words[word] &= !mask;
        }
    }

    /// Marks free pages as scavenged.
    #[inline]
    pub(crate) fn mark_scavenged(&mut self, first: usize, count: usize) {
        let words = self.scavenged.as_mut();
        for (word, mask) in pieces(first, count) {
            words[word] |= mask;
        }
    }

    /// Allocates all free pages of one word; returns them and the scavenged ones among them.
    #[inline]
    pub(crate) fn take_word(&mut self, word: usize) -> (u64, u64) {
        let (in_use, scavenged) = (&mut self.in_use.as_mut()[word], &mut self.scavenged.as_mut()[word]);
        let free = !core::mem::replace(in_use, u64::MAX);
        let without = *scavenged & free;
        *scavenged &= !free;
        (free, without)
    }

    /// Frees pages of one word; those in `without` are scavenged. All must be in use.
    #[inline]
    pub(crate) fn free_word(&mut self, word: usize, pages: u64, without: u64) {
        self.in_use.as_mut()[word] &= !pages;
        self.scavenged.as_mut()[word] |= without;
    }

    /// Moves the lowest `most` free pages from a page on to `theirs`, which has none there. Returns their number, the
    /// number of scavenged ones, and the page at which the search ended.
    pub(crate) fn take_above(
        &mut self,
        from: usize,
        most: usize,
        theirs: &mut Self,
    ) -> (usize, usize, usize) {
        let (mut taken, mut without) = (0, 0);
        for word in from / 64..self.in_use.as_ref().len() {
            let above = if word == from / 64 { u64::MAX << (from % 64) } else { u64::MAX };
            let free = !self.in_use.as_ref()[word] & above;
            let mut mask = free;
            while ones(mask) > most - taken {
                mask ^= 1 << (63 - mask.leading_zeros());
            }
            let scavenged = self.scavenged.as_ref()[word] & mask;
            self.in_use.as_mut()[word] |= mask;
            self.scavenged.as_mut()[word] &= !mask;
            theirs.in_use.as_mut()[word] &= !mask;
            theirs.scavenged.as_mut()[word] = scavenged;
            (taken, without) = (taken + ones(mask), without + ones(scavenged));
            if mask != free {
                return (taken, without, word * 64 + (free & !mask).trailing_zeros() as usize);
            }
        }
        (taken, without, Self::PAGES)
    }

    /// Frees the pages that are free in `theirs` and in use here; returns the lowest, and the number of scavenged
    /// ones.
    pub(crate) fn free_all_of(&mut self, theirs: &Self) -> (usize, usize) {
        let (mut first, mut without) = (Self::PAGES, 0);
        for (word, &in_use) in theirs.in_use.as_ref().iter().enumerate() {
            if in_use != u64::MAX {
                let scavenged = theirs.scavenged.as_ref()[word] & !in_use;
                self.free_word(word, !in_use, scavenged);
                without += ones(scavenged);
                first = first.min(word * 64 + in_use.trailing_ones() as usize);
            }
        }
        (first, without)
    }

    /// The free pages of a word that may be resident.
    #[inline]
    pub(crate) fn releasable(&self, word: usize) -> u64 {
        !(self.in_use.as_ref()[word] | self.scavenged.as_ref()[word])
    }

    /// The free pages of a word.
    #[inline]
    pub(crate) fn free_in(&self, word: usize) -> u64 {
        !self.in_use.as_ref()[word]
    }

    /// Both bitmaps.
    pub(crate) fn words(&self) -> (&[u64], &[u64]) {
        (self.in_use.as_ref(), self.scavenged.as_ref())
    }

    /// Copies of both.
    pub(crate) fn bits(&self) -> [G::Words; 2] {
        [self.in_use, self.scavenged]
    }

    /// The number of pages that are in use or do not exist.
    pub(crate) fn set_pages(&self) -> usize {
        let padding = Self::PADDING as usize;
        self.in_use.as_ref().iter().map(|w| w.count_ones() as usize).sum::<usize>() - padding
    }

    /// The first free page. No page below the word of `from` is free.
    #[inline]
    pub(crate) fn first_free(&self, from: usize) -> Option<usize> {
        let words = self.in_use.as_ref();
        for (word, &bits) in words.iter().enumerate().skip(from / 64) {
            if bits != u64::MAX {
                return Some(word * 64 + bits.trailing_ones() as usize);
            }
        }
        None
    }

    /// The start of the first run of `count` free pages. No page below the word of `from` is free.
    #[inline]
    pub(crate) fn find(&self, from: usize, count: usize) -> Option<usize> {
        if count == 1 {
            return self.first_free(from);
        }
        let mut run = 0;
        for (word, &bits) in self.in_use.as_ref().iter().enumerate().skip(from / 64) {
            let start = word * 64;
            if bits == u64::MAX {
                run = 0;
                continue;
            }
            if run + bits.trailing_zeros() as usize >= count {
                return Some(start - run);
            }
            if bits == 0 {
                run += 64;
                continue;
            }
            if count < 64
                && let Some(at) = first_run(!bits, count as u32)
            {
                return Some(start + at as usize);
            }
            run = bits.leading_zeros() as usize;
        }
        None
    }

    /// Whether no free page precedes `page` directly: it is the first page, or the one before it is in use.
    #[inline]
    pub(crate) fn is_start(&self, page: usize) -> bool {
        page == 0 || self.is_set(page - 1)
    }

    /// The number of free pages directly from `page` on.
    #[inline]
    pub(crate) fn free_after(&self, page: usize) -> usize {
        let words = self.in_use.as_ref();
        let word = page / 64;
        let above = words[word] & (u64::MAX << (page % 64) << 1);
        if above != 0 {
            return word * 64 + above.trailing_zeros() as usize - page - 1;
        }
        for (word, &bits) in words.iter().enumerate().skip(word + 1) {
            if bits != 0 {
                return word * 64 + bits.trailing_zeros() as usize - page - 1;
            }
        }
        Self::PAGES - page - 1
    }

    /// The number of free pages directly below `page`.
    #[inline]
    pub(crate) fn free_before(&self, page: usize) -> usize {
        let words = self.in_use.as_ref();
        let below = words[page / 64] & !(u64::MAX << (page % 64));
        if below != 0 {
            return page % 64 - (64 - below.leading_zeros() as usize);
        }
        for word in (0..page / 64).rev() {
            if words[word] != 0 {
                return page - word * 64 - (64 - words[word].leading_zeros() as usize);
            }
        }
        page
    }

    /// The summary of the bits.
    pub(crate) fn summarize(&self) -> Summary {
        let words = self.in_use.as_ref();
        let (mut start, mut max, mut run) = (None, 0, 0);
        for &bits in words {
            if bits == 0 {
                run += 64;
                continue;
            }
            run += bits.trailing_zeros();
            start = start.or(Some(run));
            max = max.max(run);
            // In a padded word the shift drops the padding, and may drop every set bit.
            run = (bits << Self::PADDING).leading_zeros().min(Self::PAGES as u32);
        }
        max = max.max(run);
        // Runs at a word's edges are counted already; a run inside a word has a used page on either side.
        if max < 62 {
            for &bits in words {
                max = longest_run(!bits, max);
            }
        }
        Summary::new(start.unwrap_or(max) as u64, max as u64, run as u64)
    }

    /// The summary after the first `count` pages of a run were allocated, computed from the old one. `only` means that
    /// no page below them was free.
    #[inline]
    pub(crate) fn after_taken(&self, first: usize, count: usize, only: bool, old: Summary) -> Summary {
        let rest = Self::PAGES - first;
        if only && old.end() == rest as u64 {
            return Summary::tail(rest - count);
        }
        let run = count + self.free_after(first + count - 1);
        let start = if first == 0 { 0 } else { old.start() };
        let end = if run == rest { (run - count) as u64 } else { old.end() };
        let max = if (run as u64) < old.max() { old.max() } else { self.summarize().max() };
        Summary::new(start, max, end)
    }

    /// The summary after the range was freed, computed from the old one: only the run that contains the range is new.
    #[inline]
    pub(crate) fn after_freed(&self, first: usize, count: usize, old: Summary) -> Summary {
        let last = first + count - 1;
        let begin = first - self.free_before(first);
        let end = last + 1 + self.free_after(last);
        let run = (end - begin) as u64;
        let start = if begin == 0 { run } else { old.start() };
        let tail = if end == Self::PAGES { run } else { old.end() };
        Summary::new(start, old.max().max(run), tail)
    }
}

#[inline]
fn bit(words: &[u64], page: usize) -> bool {
    words[page / 64] >> (page % 64) & 1 == 1
}

#[inline]
fn lowest(word: usize, bits: u64) -> Option<usize> {
    (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
}

/// The words of a range, each with the mask of its pages.
#[inline]
fn pieces(first: usize, count: usize) -> impl Iterator<Item = (usize, u64)> {
    let end = first + count;
    (first / 64..end.div_ceil(64)).map(move |word| {
        let from = first.saturating_sub(word * 64);
        let to = (end - word * 64).min(64);
        (word, u64::MAX << from & u64::MAX >> (64 - to))
    })
}

/// The number of set bits. Mostly all or none are set, and the baseline x86-64 has no instruction to count them.
#[inline]
pub(crate) fn ones(word: u64) -> usize {
    match word {
        0 => 0,
        u64::MAX => 64,
        _ => word.count_ones() as usize,
    }
}

/// The start of the first run of `count` (1 to 64) set bits.
#[inline]
pub(crate) fn first_run(ones: u64, count: u32) -> Option<u32> {
    let left = shrink(ones, count);
    (left != 0).then(|| left.trailing_zeros())
}

/// The bits at which a run of `width` (1 to 64) set bits begins.
#[inline]
fn shrink(ones: u64, width: u32) -> u64 {
    let (mut left, mut have) = (ones, 1);
    while have < width {
        let step = have.min(width - have);
        left &= left >> step;
        have += step;
    }
    left
}

/// The length of the longest run of set bits, or `least` (below 64) if none is longer.
#[inline]
fn longest_run(ones: u64, least: u32) -> u32 {
    let mut left = shrink(ones, least + 1);
    if left == 0 {
        return least;
    }
    // Doubles the width while runs survive, keeps each mask, and then refines downwards.
    let mut width = least + 1;
    let mut steps = [0u64; 7];
    let mut of_width = ones;
    let mut log = 0;
    while of_width != 0 && log < 7 {
        steps[log] = of_width;
        of_width &= of_width.checked_shr(1 << log).unwrap_or(0);
        log += 1;
    }
    for log in (0..log).rev() {
        // Lengthens by 2^log where a run of that length follows directly.
        let longer = left & steps[log].checked_shr(width).unwrap_or(0);
        if longer != 0 {
            left = longer;
            width += 1 << log;
        }
    }
    width
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Bits48;
    use proptest::prelude::*;

    fn chunk_of(in_use: [u64; 8]) -> Chunk<Bits48> {
        Chunk { in_use, scavenged: [0; 8] }
    }

    fn free_bits(c: &Chunk<Bits48>) -> Vec<bool> {
        (0..512).map(|p| !c.is_set(p)).collect()
    }

    fn slow_summary(free: &[bool]) -> Summary {
        let start = free.iter().take_while(|&&f| f).count() as u64;
        let end = free.iter().rev().take_while(|&&f| f).count() as u64;
        let (mut max, mut run) = (0, 0);
        for &f in free {
            run = if f { run + 1 } else { 0 };
            max = max.max(run);
        }
        Summary::new(start, max, end)
    }

    fn slow_find(free: &[bool], count: usize) -> Option<usize> {
        free.windows(count).position(|w| w.iter().all(|&f| f))
    }

    /// Words of every density; all-zero and all-one words are common.
    fn word() -> impl Strategy<Value = u64> {
        prop_oneof![
            Just(0),
            Just(u64::MAX),
            any::<u64>(),
            (any::<u64>(), any::<u64>(), any::<u64>()).prop_map(|(a, b, c)| a & b & c),
            (any::<u64>(), any::<u64>(), any::<u64>()).prop_map(|(a, b, c)| a | b | c),
            (0u32..64, 0u32..64).prop_map(|(a, b)| u64::MAX << a.min(b) & u64::MAX >> (63 - a.max(b))),
            (0u32..64, 0u32..64).prop_map(|(a, b)| !(u64::MAX << a.min(b) & u64::MAX >> (63 - a.max(b)))),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn bit_tricks_equal_loops(words in prop::array::uniform8(word()), first in 0usize..512, count in 1usize..512) {
            let mut c = chunk_of(words);
            let free = free_bits(&c);
            let before = c.summarize();
            prop_assert_eq!(before, slow_summary(&free));
            for n in [1, 2, 3, count.min(16), count.min(64), count] {
                prop_assert_eq!(c.find(0, n), slow_find(&free, n));
            }
            prop_assert_eq!(c.first_free(0), free.iter().position(|&f| f));
            prop_assert_eq!(c.free_after(first), free[first + 1..].iter().take_while(|&&f| f).count());
            prop_assert_eq!(c.free_before(first), free[..first].iter().rev().take_while(|&&f| f).count());

            for n in [1, 2, count.min(9), count] {
                if let Some(at) = c.find(0, n) {
                    let mut taken = c;
                    taken.take(at, n);
                    let only = c.first_free(0) == Some(at);
                    prop_assert_eq!(taken.after_taken(at, n, only, before), slow_summary(&free_bits(&taken)));
                    prop_assert_eq!(taken.after_taken(at, n, false, before), slow_summary(&free_bits(&taken)));
                }
            }

            let count = count.min(512 - first);
            c.free(first, count);
            prop_assert_eq!(c.take(first, count), 0);
            prop_assert!((first..first + count).all(|p| c.is_set(p)));
            let before = c.summarize();
            prop_assert_eq!(c.obstacle(first, count, true), None);
            prop_assert_eq!(c.obstacle(first, count, false), Some(first));
            c.free(first, count);
            prop_assert_eq!(c.after_freed(first, count, before), slow_summary(&free_bits(&c)));
        }
    }
}
