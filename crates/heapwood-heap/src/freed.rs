//! The cells that the program has freed itself: one bit a granule, beside the mark and allocation bits, and chains of
//! such cells for reuse, linked through their first words. The bits exist from the first free on; a heap whose program
//! never frees has none. Where what is freed is kept (`SpaceConfig::keep_freed`) they exist from the beginning, dead objects have
//! bits, too, and nothing is in a chain. Invariant: a cell with a bit is no object; it is in at most one chain, or in none until its
//! span is swept, in the next cycle or a later one; the thread that clears the bit has the cell.

use crate::granule::{GRANULE, GRANULE_LOG};
use core::ops::Range;
use core::sync::atomic::Ordering;
#[cfg(all(test, loom))]
use heapwood_os::threads::watched::Watch;
use heapwood_os::threads::watched::{AtomicBool, AtomicU64};
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError};

const WORD_BITS: usize = 64;
const WORD_BYTES_LOG: u32 = GRANULE_LOG + 6;

/// The bits of a heap whose reservation starts at `base`.
pub(crate) struct FreedBits {
    words: MappedArray<AtomicU64>,
    base: usize,
    in_use: AtomicBool,
    any: AtomicBool,
}

impl FreedBits {
    /// No bits, for a reservation of `reservation` bytes from `base`.
    pub(crate) fn new(kernel: KernelRef, base: usize, reservation: usize) -> Result<Self, OsError> {
        let words = MappedArray::new(kernel, reservation.div_ceil(GRANULE * WORD_BITS))?;
        Ok(FreedBits { words, base, in_use: AtomicBool::new(false), any: AtomicBool::new(false) })
    }

    /// Whether the bits exist.
    #[inline(always)]
    pub(crate) fn are_in_use(&self) -> bool {
        self.in_use.load(Ordering::Acquire)
    }

    /// Notes that the program has freed an object, small or large.
    pub(crate) fn note(&self) {
        if !self.any.load(Ordering::Relaxed) {
            self.any.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the program has ever freed one.
    pub(crate) fn were_noted(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Commits the bits for the bytes `from..to` of the reservation.
    pub(crate) fn commit(&self, from: usize, to: usize) -> Result<(), OsError> {
        self.words.commit(from >> WORD_BYTES_LOG..to.div_ceil(GRANULE * WORD_BITS))
    }

    /// Notes that the bits of the whole heap are committed: they exist from now on.
    pub(crate) fn begin_use(&self) {
        self.in_use.store(true, Ordering::Release);
    }

    fn word(&self, addr: usize) -> (&AtomicU64, u64) {
        let offset = addr - self.base;
        // SAFETY: callers ask about addresses in spans once the bits exist; they are committed then.
        (unsafe { &*self.words.at(offset >> WORD_BYTES_LOG) }, 1 << ((offset >> GRANULE_LOG) % WORD_BITS))
    }

    /// The bits of the granules from an address on, which begins a word and lies in a span.
    pub(crate) fn word_at(&self, addr: usize) -> u64 {
        if self.are_in_use() { self.word(addr).0.load(Ordering::Relaxed) } else { 0 }
    }

    /// Has a model watch the word of a cell, and whether there are any.
    #[cfg(all(test, loom))]
    pub(crate) fn watch(&self, watch: &Watch, addr: usize) {
        watch.add(&self.in_use);
        watch.add(self.word(addr).0);
    }

    /// Whether a cell was freed.
    #[inline]
    pub(crate) fn is_freed(&self, addr: usize) -> bool {
        self.are_in_use() && {
            let (word, bit) = self.word(addr);
            word.load(Ordering::Acquire) & bit != 0
        }
    }

    /// Frees a cell; false if it was already.
    pub(crate) fn set(&self, addr: usize) -> bool {
        let (word, bit) = self.word(addr);
        word.fetch_or(bit, Ordering::AcqRel) & bit == 0
    }

    /// The same while no other thread can free or reuse a cell, nor sweep the cell's page: so this need not be one operation.
    #[inline]
    pub(crate) fn set_alone(&self, addr: usize) -> bool {
        let (word, bit) = self.word(addr);
        let old = word.load(Ordering::Relaxed);
        word.store(old | bit, Ordering::Release);
        old & bit == 0
    }

    /// The bits of the granules from the one at `addr` on, which begins a word.
    pub(crate) fn load_word(&self, addr: usize) -> u64 {
        self.word(addr).0.load(Ordering::Acquire)
    }

    /// Takes freed cells, given by bits from the granule at `addr` on, which begins a word.
    pub(crate) fn take_word(&self, addr: usize, bits: u64) {
        self.word(addr).0.fetch_and(!bits, Ordering::AcqRel);
    }

    /// Frees cells given in the same way.
    pub(crate) fn set_word(&self, addr: usize, bits: u64) {
        self.word(addr).0.fetch_or(bits, Ordering::AcqRel);
    }

    /// Takes a freed cell for reuse; false if it was not free, or another thread has taken it.
    pub(crate) fn take(&self, addr: usize) -> bool {
        let (word, bit) = self.word(addr);
        word.fetch_and(!bit, Ordering::AcqRel) & bit != 0
    }

    /// Clears the bits of freed cells that a sweep of the pages `start..end` has found dead: those without a bit in
    /// `alive`, which returns a word of allocation bits by its address. They are then free cells like any other.
    pub(crate) fn keep(&self, pages: Range<usize>, alive: impl Fn(usize) -> u64) {
        if !self.are_in_use() {
            return;
        }
        for at in pages.step_by(GRANULE * WORD_BITS) {
            let (word, _) = self.word(at);
            if word.load(Ordering::Relaxed) != 0 {
                word.fetch_and(alive(at), Ordering::Relaxed);
            }
        }
    }
}

/// Freed cells of one shape, in runs of adjacent ones that are linked through the first words of their first cells. The
/// second word is the number of cells. Both are complements: a marking that reaches a freed cell, from an object that only a
/// dangling word keeps alive, finds no pointer in it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FreedCells {
    head: usize,
    tail: usize,
    len: u32,
    /// The cycle in which they were freed; in the next they are ordinary free cells.
    cycle: u32,
}

impl FreedCells {
    /// The number of cells, in this cycle.
    pub(crate) fn len(&self, cycle: u32) -> u32 {
        if self.cycle == cycle { self.len } else { 0 }
    }

    /// Adds a run in this cycle.
    ///
    /// # Safety
    /// 1. The caller has set the bits of its cells, and they are in no chain.
    pub(crate) unsafe fn push(&mut self, run: usize, cells: u32, cycle: u32) {
        if self.len(cycle) == 0 {
            *self = FreedCells { head: 0, tail: run, len: 0, cycle };
        }
        // SAFETY: contract 1: nothing else uses the cell, and cells have at least two words.
        unsafe {
            (run as *mut usize).write(!self.head);
            (run as *mut usize).add(1).write(!(cells as usize));
        }
        (self.head, self.len) = (run, self.len + cells);
    }

    /// Adds the cells of another chain in front.
    pub(crate) fn prepend(&mut self, other: FreedCells, cycle: u32) {
        if other.len(cycle) == 0 {
            return;
        }
        if self.len(cycle) == 0 {
            *self = other;
            return;
        }
        // SAFETY: nothing else uses the last cell of a chain, and the chains are the caller's.
        unsafe { (other.tail as *mut usize).write(!self.head) };
        (self.head, self.len) = (other.head, self.len + other.len);
    }

    /// Takes a run; the caller must still take its bits. `is_right` checks the link: the program may have written into
    /// a freed cell, and then the rest of the chain is dropped. So the number of cells may be wrong, too.
    pub(crate) fn pop(&mut self, cycle: u32, is_right: impl Fn(usize) -> bool) -> Option<(usize, usize)> {
        if self.len(cycle) == 0 {
            return None;
        }
        let run = self.head;
        // SAFETY: nothing else uses the cells of a chain.
        let (next, cells) = unsafe { (!(run as *const usize).read(), !(run as *const usize).add(1).read()) };
        self.len = (self.len as usize).saturating_sub(cells.max(1)) as u32;
        self.head = next;
        if self.len != 0 && !is_right(next) {
            self.len = 0;
        }
        Some((run, cells))
    }
}

impl Mapped for FreedBits {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.words.for_each_mapping(f);
    }
}
