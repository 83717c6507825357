//! The rescan set: spans with marked objects that were not scanned, because a mark stack was full, or because the log of
//! shaded objects (`marking_log`) had no chunk for them. Where the kernel gave no memory for more bits, one flag stands
//! for all spans without a bit. Mutators and markers add spans while one thread commits bits and takes spans. Invariant:
//! each flag is taken once, and a span in the set is never forgotten.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use heapwood_heap::Stopped;
use heapwood_os::{KernelRef, MappedArray, OsError};
use heapwood_pages::{PAGE_SIZE, PageIndex};

/// Pages for each word of bits.
pub(crate) const WORD_PAGES: usize = 64;

/// The spans with marked objects that were not scanned: one bit for each page; a span uses its first page's.
pub(crate) struct RescanSet {
    bits: MappedArray<AtomicU64>,
    /// Committed words. Pages beyond have no bits if the kernel refused more.
    words: AtomicUsize,
    /// Stands for all spans without a bit.
    beyond: AtomicBool,
    any: AtomicBool,
}

impl RescanSet {
    /// An empty set for a reservation of N bytes.
    pub(crate) fn new(kernel: KernelRef, reservation: usize) -> Result<Self, OsError> {
        let bits = MappedArray::new(kernel, (reservation / PAGE_SIZE).div_ceil(WORD_PAGES))?;
        Ok(RescanSet {
            bits,
            words: AtomicUsize::new(0),
            beyond: AtomicBool::new(false),
            any: AtomicBool::new(false),
        })
    }

    /// Commits the bits for N bytes of heap, if the kernel grants them. No other thread adds spans meanwhile. As long as
    /// the flag for all others is set, it stands for the same spans.
    pub(crate) fn commit(&self, committed_end: usize) {
        if self.is_beyond() {
            return;
        }
        let (words, now) = ((committed_end / PAGE_SIZE).div_ceil(WORD_PAGES), self.words());
        if words > now && self.bits.commit(now..words).is_ok() {
            // A thread that sees the number finds the bits.
            self.words.store(words, Ordering::Release);
        }
    }

    /// Whether the set may have spans; exact while no marker adds any.
    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Adds a span; whether it was not there. Several threads may add while one takes.
    pub(crate) fn flag(&self, page: usize) -> bool {
        let is_new = if page / WORD_PAGES < self.words() {
            // SAFETY: these words are committed.
            let word = unsafe { &*self.bits.at(page / WORD_PAGES) };
            let bit = 1 << (page % WORD_PAGES);
            // The marker that takes the flag sees the marks that were set before.
            word.fetch_or(bit, Ordering::Release) & bit == 0
        } else {
            !self.beyond.swap(true, Ordering::Release)
        };
        // After the flag: a marker that clears `any` and then takes flags sees this flag, or `any` is set again.
        self.any.store(true, Ordering::Release);
        is_new
    }

    /// Takes the flags of a word's pages.
    pub(crate) fn take(&self, index: usize) -> u64 {
        assert!(index < self.words());
        // SAFETY: these words are committed.
        unsafe { &*self.bits.at(index) }.swap(0, Ordering::Acquire)
    }

    /// Begins to take flags: `any` now stands for flags that are set from here on.
    pub(crate) fn begin(&self) {
        self.any.swap(false, Ordering::AcqRel);
    }

    /// Empties the set after a marking that ended early.
    pub(crate) fn forget(&self) {
        if self.any() {
            self.begin();
            (0..self.words()).for_each(|index| _ = self.take(index));
            self.take_beyond();
        }
    }

    /// The number of words.
    pub(crate) fn words(&self) -> usize {
        self.words.load(Ordering::Acquire)
    }

    /// Takes all spans, and calls `f` with each; those without a bit only of a stopped heap.
    pub(crate) fn take_all(&self, world: Option<&Stopped<'_>>, mut f: impl FnMut(PageIndex)) {
        self.begin();
        for index in 0..self.words() {
            let mut bits = self.take(index);
            while bits != 0 {
                f(PageIndex(index * WORD_PAGES + bits.trailing_zeros() as usize));
                bits &= bits - 1;
            }
        }
        if let Some(world) = world
            && self.take_beyond()
        {
            let words = self.words();
            world.for_each_span(|page, _| {
                if page.0 / WORD_PAGES >= words {
                    f(page);
                }
            });
        }
    }

    /// Whether spans without a bit are in the set.
    pub(crate) fn is_beyond(&self) -> bool {
        self.beyond.load(Ordering::Acquire)
    }

    /// Takes the flag that stands for all spans without a bit.
    pub(crate) fn take_beyond(&self) -> bool {
        self.beyond.swap(false, Ordering::Acquire)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use heapwood_os::testing::faulty::Faulty;

    /// The bytes of heap behind a kernel page of bits.
    const PART: usize = 4096 * 8 * PAGE_SIZE;

    #[test]
    fn a_span_is_taken_once_also_where_the_kernel_gave_no_bits() {
        static KERNEL: Faulty = Faulty::new();
        let set = RescanSet::new(&KERNEL, 4 * PART).unwrap();
        set.commit(PART);
        assert!(!set.any() && set.flag(70) && !set.flag(70) && set.flag(64) && set.any());
        assert_eq!((set.take(1), set.take(1), set.take(0)), (1 << 6 | 1, 0, 0));
        set.begin();
        assert!(!set.any() && !set.is_beyond());
        // Pages without bits share a flag, and get no bits before it is taken.
        let far = PART / PAGE_SIZE + 1;
        KERNEL.refuse(0);
        set.commit(2 * PART);
        KERNEL.relent();
        assert!(set.flag(far) && !set.flag(far + 1) && set.is_beyond());
        let words = set.words();
        set.commit(2 * PART);
        assert_eq!(set.words(), words, "the flag stands for what it stood for");
        assert!(set.take_beyond() && !set.take_beyond());
        set.commit(2 * PART);
        assert!(set.flag(far) && !set.is_beyond());
        assert_eq!(set.take(far / WORD_PAGES), 1 << (far % WORD_PAGES));
        set.flag(3);
        set.forget();
        assert!(!set.any() && set.take(0) == 0);
    }
}
