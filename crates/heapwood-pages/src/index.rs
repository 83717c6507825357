//! Which chunks may have something to release: a word a chunk, written by those who hold the allocator's lock and read
//! by the scavenger without it. It is a hint. Invariant: a chunk with pages to release has a note, which is taken away
//! only by a holder of the lock that has looked and found nothing.
//!
//! The word also remembers, for the last cycle in which pages of the chunk were freed and for the one before it, whether
//! the chunk was dense when that began. Such a chunk rests for that cycle and the next, whatever is freed meanwhile: its
//! pages have just been in use and will be again. Chunks that remember their density are an idea of Go's scavenger
//! index.

use crate::geometry::{Geometry, Shape};
use crate::sync::{AtomicU32, AtomicUsize, Ordering, Words};
use crate::units::{ChunkIndex, PageCount};
use core::marker::PhantomData;
use heapwood_os::{KernelRef, OsError};

/// Pages were freed that may have memory behind them.
const NOTED: u32 = 1 << 31;
/// The chunk was dense when they were.
const WAS_DENSE: u32 = 1 << 30;
/// And when pages of it were first freed in the cycle before.
const WAS_DENSE_BEFORE: u32 = 1 << 29;
/// The cycle that the three are about, as far as it fits.
const CYCLE: u32 = WAS_DENSE_BEFORE - 1;

/// How many cycles a chunk that was dense is left alone.
const REST: u32 = 2;

const _: () = assert!(REST == 2, "one cycle back is remembered");

/// The words of the chunks of a window.
pub struct ScavengeIndex<G> {
    words: Words,
    /// The words below exist.
    len: AtomicUsize,
    cycle: AtomicU32,
    geometry: PhantomData<G>,
}

impl<G: Geometry> ScavengeIndex<G> {
    /// Reserves the words for a window of so many pages. None exists yet.
    pub fn new(kernel: KernelRef, window: PageCount) -> Result<Self, OsError> {
        let chunks = window.0.div_ceil(Shape::<G>::CHUNK_PAGES).max(1);
        Ok(ScavengeIndex {
            words: Words::new(kernel, chunks)?,
            len: AtomicUsize::new(0),
            // High enough that a word of zeros is of no recent cycle.
            cycle: AtomicU32::new(REST),
            geometry: PhantomData,
        })
    }

    /// Makes the words of all chunks up to the one of the window's page before `end` exist. Needs the lock.
    pub fn grow(&self, end: PageCount) -> Result<(), OsError> {
        let (have, want) = (self.len.load(Ordering::Relaxed), end.0.div_ceil(Shape::<G>::CHUNK_PAGES));
        if want > have {
            self.words.commit(have..want)?;
            self.len.store(want, Ordering::Release);
        }
        Ok(())
    }

    #[inline]
    fn word(&self, chunk: ChunkIndex) -> Option<&AtomicU32> {
        // SAFETY: the words below `len` are committed, and atomics are valid whatever their bits.
        (chunk.0 < self.len.load(Ordering::Acquire)).then(|| unsafe { &*self.words.at(chunk.0) })
    }

    /// A new cycle begins.
    pub fn new_cycle(&self) {
        self.cycle.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that pages of the chunk are about to be freed; `is_dense` tells whether it is dense before. It is asked
    /// at the first free of a cycle only. Needs the lock.
    #[inline]
    pub fn note(&self, chunk: ChunkIndex, is_dense: impl FnOnce() -> bool) {
        let Some(word) = self.word(chunk) else { return };
        let now = self.cycle.load(Ordering::Relaxed) & CYCLE;
        let before = word.load(Ordering::Relaxed);
        if before & (NOTED | CYCLE) == NOTED | now {
            return;
        }
        let dense_now = || WAS_DENSE * is_dense() as u32;
        let dense = match now.wrapping_sub(before) & CYCLE {
            0 => before & (WAS_DENSE | WAS_DENSE_BEFORE),
            1 if before & WAS_DENSE != 0 => WAS_DENSE_BEFORE | dense_now(),
            _ => dense_now(),
        };
        word.store(NOTED | dense | now, Ordering::Relaxed);
    }

    /// Takes the note away: there is nothing to release. Needs the lock.
    pub fn clear(&self, chunk: ChunkIndex) {
        if let Some(word) = self.word(chunk) {
            word.store(word.load(Ordering::Relaxed) & !NOTED, Ordering::Relaxed);
        }
    }

    /// Whether there may be something to release.
    pub fn is_noted(&self, chunk: ChunkIndex) -> bool {
        self.word(chunk).is_some_and(|word| word.load(Ordering::Relaxed) & NOTED != 0)
    }

    /// Whether the chunk was dense a short while ago.
    pub fn is_resting(&self, chunk: ChunkIndex) -> bool {
        let now = self.cycle.load(Ordering::Relaxed);
        self.word(chunk).is_some_and(|word| {
            let word = word.load(Ordering::Relaxed);
            match now.wrapping_sub(word) & CYCLE {
                0 => word & (WAS_DENSE | WAS_DENSE_BEFORE) != 0,
                age => word & WAS_DENSE != 0 && age < REST,
            }
        })
    }

    /// The highest chunk below `below` with a note that does not rest, or that may rest if `resting` says so. Needs no
    /// lock.
    pub fn candidate(&self, below: ChunkIndex, resting: bool) -> Option<ChunkIndex> {
        let end = below.0.min(self.len.load(Ordering::Acquire));
        (0..end).rev().map(ChunkIndex).find(|&c| self.is_noted(c) && (resting || !self.is_resting(c)))
    }
}
