//! How marks are set: by one thread with plain loads and stores, or by several.
//!
//! An atomic read-modify-write for each object costs little where each object is a cache miss, and much where objects lie in
//! the order in which they are found (docs/design/parallel-marking.md). But there successive marks are bits of one word. So
//! each of several markers collects the bits of one word of marks, and writes them together when it comes to another word.
//! Meanwhile others do not see them, and may mark and scan the same object: that is harmless, and since the word's old
//! bits tell, it is not counted twice. What one marker marks is marked at most once by each, so this ends; and who notices
//! that another was faster writes its marks at once for a while.
//! Invariant: a bit that was set is in memory, or in the one word that a marker collects; of all those that found an object
//! unmarked, all but one are told so by the time they flush.

use core::sync::atomic::{AtomicU64, Ordering};
use heapwood_heap::MarkSide;

/// A way to set marks.
pub(super) trait MarkBits: Default {
    /// Marks the object at `addr`; true if it was not marked before, as far as this marker knows. `twice` is called with the
    /// address of a word's first granule and those bits of the word that were set by this marker and another.
    ///
    /// # Safety
    /// 1. As for [`MarkSide::set`]; of contract 2 only that all who use the marks use them through this type.
    unsafe fn set(&mut self, marks: MarkSide, addr: usize, twice: impl FnMut(usize, u64)) -> bool;

    /// Writes what was collected.
    ///
    /// # Safety
    /// 1. As for [`MarkBits::set`]; it is the same heap's marks.
    unsafe fn flush(&mut self, marks: MarkSide, twice: impl FnMut(usize, u64));

    /// Marks one object at once; true if it was not marked before, as far as all know.
    ///
    /// # Safety
    /// 1. As for [`MarkBits::set`].
    unsafe fn set_at_once(marks: MarkSide, addr: usize) -> bool;

    /// Whether the object at `addr` is marked; what other markers do now may be missing.
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
        // SAFETY: the caller's contract, and nobody else uses the marks.
        unsafe { marks.set(addr) }
    }

    #[inline(always)]
    unsafe fn flush(&mut self, _: MarkSide, _: impl FnMut(usize, u64)) {}

    unsafe fn set_at_once(marks: MarkSide, addr: usize) -> bool {
        // SAFETY: as for `set`.
        unsafe { marks.set(addr) }
    }
}

/// Several threads mark: the bits of the word that this one is at.
pub(super) struct BatchedBits {
    word: *const AtomicU64,
    /// What the word held when this marker came to it.
    before: u64,
    /// The same with the bits that it has set.
    after: u64,
    /// So many more objects are marked at once.
    careful: u32,
}

/// After a marker has marked something that another had marked, it writes so many marks at once: else two that walk along the
/// same list side by side would not notice each other.
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
        // Nothing of this word is collected any more.
        (self.word, self.before, self.after) = (core::ptr::null(), 0, 0);
    }

    unsafe fn set_at_once(marks: MarkSide, addr: usize) -> bool {
        let (word, bit) = marks.word(addr);
        // SAFETY: the bits of every span are committed (contract 1).
        unsafe { (*word).fetch_or(bit, Ordering::Relaxed) & bit == 0 }
    }
}

/// Adds bits to a word that others have changed; whether they had set some of them.
#[cold]
#[inline(never)]
fn add(word: &AtomicU64, bits: u64, first: usize, mut twice: impl FnMut(usize, u64)) -> bool {
    let already = word.fetch_or(bits, Ordering::Relaxed) & bits;
    if already != 0 {
        twice(first, already);
    }
    already != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwood_heap::{Space, SpaceConfig};
    use heapwood_os::SYSTEM;

    /// Two markers find some objects each, some of them both: each is found once, all told.
    #[test]
    fn what_two_have_marked_is_told_to_all_but_one() {
        let config = SpaceConfig {
            window: 64 << 20,
            most: None,
            limit: None,
            huge_pages: false,
            clobber: false,
            protect_arenas: false,
            single_cells: false,
        };
        let space = Space::new(&SYSTEM, config).unwrap();
        let id = space
            .shape_for(4 << 20, heapwood_heap::Scan::Layout(heapwood_layout::Layout::NoPointers))
            .unwrap();
        let object = space.take_large(id, 4 << 20, false).unwrap().finish().as_ptr() as usize;
        // SAFETY: nobody is attached.
        let world = unsafe { space.stopped() };
        let marks = world.mark_side(heapwood_heap::Collection::Full);
        let (mut a, mut b) = (BatchedBits::default(), BatchedBits::default());
        let (mut found, mut twice) = (0, 0);
        for step in 0..20_000usize {
            let granule = object + step.wrapping_mul(40_503) % 30_000 / 3 * 16;
            let who = if step / 700 % 2 == 0 { &mut a } else { &mut b };
            // SAFETY: the bits of the object's pages are committed, and both markers collect.
            found += unsafe { who.set(marks, granule, |_, bits| twice += bits.count_ones()) } as u32;
        }
        // SAFETY: as above.
        unsafe {
            a.flush(marks, |_, bits| twice += bits.count_ones());
            b.flush(marks, |_, bits| twice += bits.count_ones());
        }
        // SAFETY: as above.
        let set = (0..10_000).filter(|&i| unsafe { BatchedBits::is_set(marks, object + i * 16) }).count();
        assert_eq!((found - twice) as usize, set);
        assert!(set > 5_000 && twice > 0, "{set} marked, {twice} of them by both");
    }
}
