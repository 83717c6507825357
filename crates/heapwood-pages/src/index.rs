//! Which chunks may have something to release: a word a chunk, written by those who hold the allocator's lock and read
//! by the scavenger without it. It is a hint. Invariant: a chunk with pages to release has a note, which is taken away
//! only by a holder of the lock that has looked and found nothing.
//!
//! The word also remembers, for the last cycle in which pages of the chunk were freed and for the one before it, whether
//! the chunk was dense when that began. Such a chunk rests for that cycle and the next, whatever is freed meanwhile: its
//! pages have just been in use and will be again. Chunks that remember their density are an idea of Go's scavenger
//! index.

use crate::geometry::{Geometry, TreeShape};
use crate::units::{ChunkIndex, PageCount, PageIndex};
use core::marker::PhantomData;
use heapwood_os::threads::sync::{AtomicArray, AtomicU32, AtomicUsize, Ordering};
use heapwood_os::{KernelRef, OsError};

/// Pages were freed that may be resident.
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

/// The words of a kernel page; loom's are made one by one, so that models have no more than they need.
const LEAST_GRANULE: usize = if cfg!(loom) { 1 } else { heapwood_os::LEAST_KERNEL_PAGE / size_of::<u32>() };

/// How many granules the words are committed in at most; one word of bits is enough for the model.
const GRANULES: usize = if cfg!(loom) { BITS } else { 512 };
const BITS: usize = usize::BITS as usize;

/// The words of the chunks of a window.
pub(crate) struct ScavengeIndex<G> {
    words: AtomicArray<AtomicU32>,
    chunks: usize,
    /// A bit for each granule of words that exists; none is taken away.
    committed: [AtomicUsize; GRANULES / BITS],
    log_granule: u32,
    cycle: AtomicU32,
    geometry: PhantomData<G>,
}

impl<G: Geometry> ScavengeIndex<G> {
    /// Reserves the words for a window of N pages. None exists yet.
    pub(crate) fn new(kernel: KernelRef, window: PageCount) -> Result<Self, OsError> {
        let chunks = window.0.div_ceil(TreeShape::<G>::CHUNK_PAGES).max(1);
        let granule = chunks.div_ceil(GRANULES).next_power_of_two().max(LEAST_GRANULE);
        Ok(ScavengeIndex {
            words: AtomicArray::new(kernel, chunks.next_multiple_of(granule))?,
            chunks,
            committed: core::array::from_fn(|_| AtomicUsize::new(0)),
            log_granule: granule.ilog2(),
            // High enough that a word of zeros is of no recent cycle.
            cycle: AtomicU32::new(REST),
            geometry: PhantomData,
        })
    }

    /// Makes the words of the chunks exist that have these pages. Needs the lock.
    pub(crate) fn grow(&self, first: PageIndex, count: PageCount) -> Result<(), OsError> {
        let granule = |page: usize| page >> (G::LOG_CHUNK_PAGES + self.log_granule);
        for granule in granule(first.0)..=granule(first.0 + count.0.max(1) - 1) {
            if !self.exists(granule) {
                self.words.commit(granule << self.log_granule..(granule + 1) << self.log_granule)?;
                let bits = &self.committed[granule / BITS];
                // Pairs with the load of the thread that looks without the lock: the words come first.
                bits.fetch_or(1 << (granule % BITS), Ordering::Release);
            }
        }
        Ok(())
    }

    /// Whether the words of a granule exist.
    #[inline]
    fn exists(&self, granule: usize) -> bool {
        let bits = self.committed.get(granule / BITS);
        bits.is_some_and(|b| b.load(Ordering::Acquire) >> (granule % BITS) & 1 == 1)
    }

    #[inline]
    fn word(&self, chunk: ChunkIndex) -> Option<&AtomicU32> {
        // SAFETY: the words of granules that exist are committed, and atomics are valid whatever their bits.
        self.exists(chunk.0 >> self.log_granule).then(|| unsafe { &*self.words.at(chunk.0) })
    }

    /// A new cycle begins.
    pub(crate) fn new_cycle(&self) {
        self.cycle.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that pages of the chunk are about to be freed; `is_dense` tells whether it is dense before. It is asked
    /// at the first free of a cycle only. Needs the lock.
    #[inline]
    pub(crate) fn note(&self, chunk: ChunkIndex, is_dense: impl FnOnce() -> bool) {
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
    pub(crate) fn clear(&self, chunk: ChunkIndex) {
        if let Some(word) = self.word(chunk) {
            word.store(word.load(Ordering::Relaxed) & !NOTED, Ordering::Relaxed);
        }
    }

    /// Whether there may be something to release.
    pub(crate) fn is_noted(&self, chunk: ChunkIndex) -> bool {
        self.word(chunk).is_some_and(|word| word.load(Ordering::Relaxed) & NOTED != 0)
    }

    /// Whether the chunk was dense a short while ago.
    pub(crate) fn is_quarantined(&self, chunk: ChunkIndex) -> bool {
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
    pub(crate) fn candidate(&self, below: ChunkIndex, resting: bool) -> Option<ChunkIndex> {
        let below = below.0.min(self.chunks);
        self.committed.iter().enumerate().rev().find_map(|(word, bits)| {
            let mut bits = bits.load(Ordering::Acquire);
            while bits != 0 {
                let bit = bits.ilog2();
                bits &= !(1 << bit);
                let first = (word * BITS + bit as usize) << self.log_granule;
                let chunks = (first..below.min(first + (1 << self.log_granule))).rev().map(ChunkIndex);
                let wanted = |&c: &ChunkIndex| self.is_noted(c) && (resting || !self.is_quarantined(c));
                if let found @ Some(_) = { chunks }.find(wanted) {
                    return found;
                }
            }
            None
        })
    }
}
