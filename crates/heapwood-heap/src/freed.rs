//! The cells that the program has freed itself: one bit a granule, beside the mark and allocation bits, and chains of
//! such cells for reuse, linked through their first words. The bits exist from the first free on; a heap whose program
//! never frees has none. Invariant: a cell with a bit is no object; it is in at most one chain, or in none until its
//! span is swept in the next cycle; the thread that clears the bit has the cell.

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

/// Freed cells of one shape, linked through their first words. A link is the complement of an address: a marking that
/// reaches a freed cell, from an object that only a dangling word keeps alive, finds no pointer in it.
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

    /// Adds a cell in this cycle.
    ///
    /// # Safety
    /// 1. The caller has set the cell's bit, and the cell is in no chain.
    pub(crate) unsafe fn push(&mut self, cell: usize, cycle: u32) {
        if self.len(cycle) == 0 {
            *self = FreedCells { head: 0, tail: cell, len: 0, cycle };
        }
        // SAFETY: contract 1: nothing else uses the cell, and cells have at least one word.
        unsafe { (cell as *mut usize).write(!self.head) };
        (self.head, self.len) = (cell, self.len + 1);
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

    /// Takes a cell; the caller must still take its bit. `is_right` checks the link: the program may have written into
    /// a freed cell, and then the rest of the chain is dropped.
    pub(crate) fn pop(&mut self, cycle: u32, is_right: impl Fn(usize) -> bool) -> Option<usize> {
        if self.len(cycle) == 0 {
            return None;
        }
        let cell = self.head;
        // SAFETY: nothing else uses the cells of a chain.
        let next = !unsafe { (cell as *const usize).read() };
        self.len -= 1;
        self.head = next;
        if self.len != 0 && !is_right(next) {
            self.len = 0;
        }
        Some(cell)
    }
}

impl Mapped for FreedBits {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.words.for_each_mapping(f);
    }
}
