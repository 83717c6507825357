//! Setting marks: with plain loads and stores by one thread, or by several threads at once.
//!
//! An atomic read-modify-write for each object costs little where each object is a cache miss, and much where objects
//! lie in the order in which they are found (docs/design/parallel-marking.md). In that order, successive marks are bits
//! of one word. So each of several markers batches the bits of one mark word and writes them when it turns to another
//! word. Until then other markers do not see the bits and may mark and scan the same objects. That is harmless: the
//! word's old bits show which were counted twice. Each marker marks an object at most once, so marking ends. A marker
//! that finds a bit set by another writes its next marks without batching. Invariant: a set bit is in memory, or in the
//! one word that a marker batches. Of all markers that found an object unmarked, all but one learn by their flush that
//! they were not the first.

use core::sync::atomic::{AtomicU64, Ordering};
use heapwood_heap::MarkSide;

/// A way to set marks.
pub(super) trait MarkBits: Default {
    /// Marks the object at `addr`; true if this marker knows of no earlier mark. The marker calls `twice` with the
    /// address of a word's first granule and the bits of the word that both it and another marker have set.
    ///
    /// # Safety
    /// 1. As for [`MarkSide::set`], except contract 2: it suffices that all users of the marks use them through this
    ///    type.
    unsafe fn set(&mut self, marks: MarkSide, addr: usize, twice: impl FnMut(usize, u64)) -> bool;

    /// Writes the batched bits.
    ///
    /// # Safety
    /// 1. As for [`MarkBits::set`]; the marks are of the same heap.
    unsafe fn flush(&mut self, marks: MarkSide, twice: impl FnMut(usize, u64));

    /// Marks one object without batching; true if no marker had marked it.
    ///
    /// # Safety
    /// 1. As for [`MarkBits::set`].
    unsafe fn set_at_once(marks: MarkSide, addr: usize) -> bool;

    /// Whether the object at `addr` is marked; recent marks of other markers may be missing.
    ///
    /// # Safety
    /// 1. As for [`MarkBits::set`].
    unsafe fn is_set(marks: MarkSide, addr: usize) -> bool {
        let (word, bit) = marks.word(addr);
        // SAFETY: the bits of every span are committed (contract 1).
        unsafe { (*word).load(Ordering::Relaxed) & bit != 0 }
    }
}

/// One thread marks.
#[derive(Default)]
pub(super) struct Plain;

impl MarkBits for Plain {
    #[inline(always)]
    unsafe fn set(&mut self, marks: MarkSide, addr: usize, _: impl FnMut(usize, u64)) -> bool {
        // SAFETY: the caller's contract; no other thread uses the marks.
        unsafe { marks.set(addr) }
    }

    #[inline(always)]
    unsafe fn flush(&mut self, _: MarkSide, _: impl FnMut(usize, u64)) {}

    unsafe fn set_at_once(marks: MarkSide, addr: usize) -> bool {
        // SAFETY: as for `set`.
        unsafe { marks.set(addr) }
    }
}

/// Several threads mark: the batched bits of the current word.
pub(super) struct BatchedBits {
    word: *const AtomicU64,
    /// The word when this marker came to it.
    before: u64,
    /// The word with the bits that this marker has set.
    after: u64,
    /// The next N objects are marked without batching.
    careful: u32,
}

/// A marker that found a bit of another marker writes its next N marks without batching. Without that, two markers that
/// walk along one list would not notice each other.
const CAREFUL: u32 = 1024;

impl Default for BatchedBits {
    fn default() -> Self {
        BatchedBits { word: core::ptr::null(), before: 0, after: 0, careful: 0 }
    }
}

impl MarkBits for BatchedBits {
    #[inline(always)]
    unsafe fn set(&mut self, marks: MarkSide, addr: usize, twice: impl FnMut(usize, u64)) -> bool {
        if self.careful != 0 {
            self.careful -= 1;
            // SAFETY: the caller's contract is passed on.
            return unsafe { Self::set_at_once(marks, addr) };
        }
        let (word, bit) = marks.word(addr);
        if word == self.word {
            let is_new = self.after & bit == 0;
            self.after |= bit;
            return is_new;
        }
        // SAFETY: the bits of every span are committed (contract 1).
        let now = unsafe { (*word).load(Ordering::Relaxed) };
        if now & bit != 0 {
            return false;
        }
        // SAFETY: the caller's contract is passed on.
        unsafe { self.flush(marks, twice) };
        (self.word, self.before, self.after) = (word, now, now | bit);
        true
    }

    #[inline(always)]
    unsafe fn flush(&mut self, marks: MarkSide, twice: impl FnMut(usize, u64)) {
        if self.before == self.after {
            return;
        }
        // SAFETY: bits were set in this word, so it is committed.
        let word = unsafe { &*self.word };
        let written = word.compare_exchange(self.before, self.after, Ordering::Relaxed, Ordering::Relaxed);
        if written.is_err() && add(word, self.after & !self.before, marks.first_of(self.word), twice) {
            self.careful = CAREFUL;
        }
        // No bit of this word is batched any more.
        (self.word, self.before, self.after) = (core::ptr::null(), 0, 0);
    }

    unsafe fn set_at_once(marks: MarkSide, addr: usize) -> bool {
        let (word, bit) = marks.word(addr);
        // SAFETY: the bits of every span are committed (contract 1).
        unsafe { (*word).fetch_or(bit, Ordering::Relaxed) & bit == 0 }
    }
}

/// Adds bits to a word that other markers have changed; true if they had set some of these bits.
#[cold]
#[inline(never)]
fn add(word: &AtomicU64, bits: u64, first: usize, mut twice: impl FnMut(usize, u64)) -> bool {
    let already = word.fetch_or(bits, Ordering::Relaxed) & bits;
    if already != 0 {
        twice(first, already);
    }
    already != 0
}
