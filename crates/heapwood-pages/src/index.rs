//! The scavenge index: the chunks that may have pages to release. It has one word for each chunk, written under the
//! allocator's lock and read by the scavenger without it. It is a hint. Invariant: a chunk with pages to release has a
//! note, which only a holder of the lock clears after it has found nothing.
//!
//! The word also holds, for the last cycle in which pages of the chunk were freed and for the cycle before it, whether
//! the chunk was dense when the first page was freed. Such a chunk is left alone in that cycle and the next, since its
//! pages have just been in use and will be again. To record the density is an idea of Go's scavenger index.

use crate::geometry::{Geometry, TreeShape};
use crate::units::{ChunkIndex, PageCount, PageIndex};
use core::marker::PhantomData;
use core::ops::Range;
use heapwood_os::threads::sync::{AtomicArray, AtomicU32, AtomicUsize, Ordering};
use heapwood_os::{KernelRef, Mapped, OsError};

/// Pages that may be resident were freed.
const NOTED: u32 = 1 << 31;
/// The chunk was dense then.
const WAS_DENSE: u32 = 1 << 30;
/// The chunk was dense at the first free in the cycle before.
const WAS_DENSE_BEFORE: u32 = 1 << 29;
/// The cycle of these three bits, as far as it fits.
const CYCLE: u32 = WAS_DENSE_BEFORE - 1;

/// The number of cycles for which a dense chunk is left alone.
const DENSE_CYCLES: u32 = 2;

const _: () = assert!(DENSE_CYCLES == 2, "the word holds one earlier cycle");

/// The words of a kernel page. In loom's models, where each word is an object, one.
const LEAST_GRANULE: usize = if cfg!(loom) { 1 } else { heapwood_os::LEAST_KERNEL_PAGE / size_of::<u32>() };

/// The most granules; one word of bits is enough for a model.
const GRANULES: usize = if cfg!(loom) { BITS } else { 512 };
const BITS: usize = usize::BITS as usize;

/// The words of the chunks of a reservation.
pub(crate) struct ScavengeIndex<G> {
    words: AtomicArray<AtomicU32>,
    chunks: usize,
    /// A bit for each committed granule of words; no granule is decommitted.
    committed: [AtomicUsize; GRANULES / BITS],
    log_granule: u32,
    cycle: AtomicU32,
    geometry: PhantomData<G>,
}

impl<G: Geometry> ScavengeIndex<G> {
    /// Reserves the words for a reservation of `reservation` pages. None is committed yet.
    pub(crate) fn new(kernel: KernelRef, reservation: PageCount) -> Result<Self, OsError> {
        let chunks = reservation.0.div_ceil(TreeShape::<G>::CHUNK_PAGES).max(1);
        let granule = chunks.div_ceil(GRANULES).next_power_of_two().max(LEAST_GRANULE);
        Ok(ScavengeIndex {
            words: AtomicArray::new(kernel, chunks.next_multiple_of(granule))?,
            chunks,
            committed: core::array::from_fn(|_| AtomicUsize::new(0)),
            log_granule: granule.ilog2(),
            // High enough that an all-zero word belongs to no recent cycle.
            cycle: AtomicU32::new(DENSE_CYCLES),
            geometry: PhantomData,
        })
    }

    /// Commits the words of the chunks of these pages. Needs the lock.
    pub(crate) fn grow(&self, first: PageIndex, count: PageCount) -> Result<(), OsError> {
        let granule = |page: usize| page >> (G::LOG_CHUNK_PAGES + self.log_granule);
        for granule in granule(first.0)..=granule(first.0 + count.0.max(1) - 1) {
            if !self.exists(granule) {
                self.words.commit(granule << self.log_granule..(granule + 1) << self.log_granule)?;
                let bits = &self.committed[granule / BITS];
                // Pairs with the load of a thread without the lock: the words are committed before the bit is set.
                bits.fetch_or(1 << (granule % BITS), Ordering::Release);
            }
        }
        Ok(())
    }

    /// Whether the words of a granule are committed.
    #[inline]
    fn exists(&self, granule: usize) -> bool {
        let bits = self.committed.get(granule / BITS);
        bits.is_some_and(|b| b.load(Ordering::Acquire) >> (granule % BITS) & 1 == 1)
    }

    #[inline]
    fn word(&self, chunk: ChunkIndex) -> Option<&AtomicU32> {
        // SAFETY: the granule is committed, and every bit pattern is a valid atomic.
        self.exists(chunk.0 >> self.log_granule).then(|| unsafe { &*self.words.at(chunk.0) })
    }

    /// Begins a new cycle.
    pub(crate) fn new_cycle(&self) {
        self.cycle.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that pages of the chunk are about to be freed. `is_dense` returns whether it is dense before; it is
    /// called at the first free of a cycle only. Needs the lock.
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

    /// Clears the note: there is nothing to release. Needs the lock.
    pub(crate) fn clear(&self, chunk: ChunkIndex) {
        if let Some(word) = self.word(chunk) {
            word.store(word.load(Ordering::Relaxed) & !NOTED, Ordering::Relaxed);
        }
    }

    /// Whether there may be something to release.
    pub(crate) fn is_noted(&self, chunk: ChunkIndex) -> bool {
        self.word(chunk).is_some_and(|word| word.load(Ordering::Relaxed) & NOTED != 0)
    }

    /// Whether the chunk was dense recently.
    pub(crate) fn was_recently_dense(&self, chunk: ChunkIndex) -> bool {
        let now = self.cycle.load(Ordering::Relaxed);
        self.word(chunk).is_some_and(|word| {
            let word = word.load(Ordering::Relaxed);
            match now.wrapping_sub(word) & CYCLE {
                0 => word & (WAS_DENSE | WAS_DENSE_BEFORE) != 0,
                age => word & WAS_DENSE != 0 && age < DENSE_CYCLES,
            }
        })
    }

    /// The highest chunk below `below` with a note, which is not left alone as dense unless `include_dense`. Needs no lock.
    pub(crate) fn candidate(&self, below: ChunkIndex, include_dense: bool) -> Option<ChunkIndex> {
        let below = below.0.min(self.chunks);
        self.committed.iter().enumerate().rev().find_map(|(word, bits)| {
            let mut bits = bits.load(Ordering::Acquire);
            while bits != 0 {
                let bit = bits.ilog2();
                bits &= !(1 << bit);
                let first = (word * BITS + bit as usize) << self.log_granule;
                let chunks = (first..below.min(first + (1 << self.log_granule))).rev().map(ChunkIndex);
                let wanted =
                    |&c: &ChunkIndex| self.is_noted(c) && (include_dense || !self.was_recently_dense(c));
                if let found @ Some(_) = { chunks }.find(wanted) {
                    return found;
                }
            }
            None
        })
    }
}

impl<G: Geometry> Mapped for ScavengeIndex<G> {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.words.for_each_mapping(f);
    }
}
