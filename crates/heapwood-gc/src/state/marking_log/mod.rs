//! Messages of mutators to a concurrent full marking: shaded objects, which it still has to scan, and objects that the
//! program has freed meanwhile, which it may have to scan. A mutator writes what it shades into a chunk of its own
//! (`mutator/shade_buffer`), without a lock; full chunks are handed in here, and each pause takes those that are partly
//! full. The marker takes whole chunks. Freeing takes locks anyway, and writes into the log's own chunks.
//!
//! Invariant: a shaded object is marked, or is in a chunk (of a mutator, of the log, or in the marker's hands), or its
//! span is in the log's set of such spans. In a pause no mutator has a chunk. Nothing is unmapped inside a pause.

mod chunk_pool;

pub(crate) use chunk_pool::{CHUNK_ENTRIES, Chunk, ChunkMemory};

use super::rescan_set::RescanSet;
use crate::lock_order::{MARKING_LOG, TRACE_TURN};
use chunk_pool::{ChunkList, ChunkPool, MOST_CHUNKS};
use core::ops::Range;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicU64};
use heapwood_heap::ObjectRef;
use heapwood_os::threads::sync::{AtomicUsize, Ordering};
use heapwood_os::{ForkLock, KernelRef, Lock, LockGuard, Mapped, MappedBox, OsError, for_each_mapping_of};

/// The most chunks of freed objects, 4080 in all, whose memory a marking's last pause gives back. The others wait for the
/// next full collection.
const MOST_FREED: usize = if cfg!(loom) { 2 } else { 8 };

/// The counts of a log since its marking began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShadeCounts {
    /// Shaded objects that were handed in.
    pub objects: u64,
    /// The chunks that they came in.
    pub chunks: u64,
    /// Spans that had to be scanned again, because there was no chunk for an object of theirs.
    pub rescans: u64,
}

/// Sets of spans.
struct SpanSets {
    rescan: RescanSet,
    unlogged: RescanSet,
}

/// The chunks of a log.
struct LogChunks {
    /// None before the first marking.
    pool: Option<ChunkPool>,
    /// A marking is active, or about to be.
    active: bool,
    shaded: ChunkList,
    freed: ChunkList,
    /// Chunks that were taken for shaded objects and have not come back, and the most of them.
    shading: usize,
    most_shading: usize,
}

impl LogChunks {
    /// An empty chunk for shaded objects.
    fn take_for_shading(&mut self) -> Option<Chunk> {
        let free = self.active && self.shading < self.most_shading;
        let chunk = self.pool.as_mut().filter(|_| free)?.take()?;
        self.shading += 1;
        Some(chunk)
    }

    /// A chunk for shaded objects comes back.
    fn give_back(&mut self, chunk: Chunk) {
        self.shading -= 1;
        self.pool.as_mut().expect("the chunk is from there").give_back(chunk);
    }

    /// The chunk for the next freed object, off its list, with room.
    fn take_for_freed(&mut self) -> Option<Chunk> {
        if let Some(chunk) = self.freed.pop() {
            if chunk.len() < CHUNK_ENTRIES {
                return Some(chunk);
            }
            self.freed.push(chunk);
        }
        let free = self.active && self.freed.chunks() < MOST_FREED;
        self.pool.as_mut().filter(|_| free)?.take()
    }
}

/// Messages of mutators to a marking; it ignores them while there is none.
pub(crate) struct MarkingLog {
    chunks: Lock<LogChunks, MARKING_LOG>,
    /// Shaded objects that were handed in and not taken. Written under the lock.
    waiting: AtomicUsize,
    /// Spans with marked objects that are to be scanned again, and spans with objects that were shaded and had no place in a
    /// chunk, from the first marking on.
    sets: AtomicPtr<SpanSets>,
    /// The counts of this marking; the first two are written under the lock.
    objects: AtomicU64,
    handed_in: AtomicU64,
    rescans: AtomicU64,
    /// Held by the mutator that runs a trace function for its barrier.
    tracing: Lock<(), TRACE_TURN>,
}

impl MarkingLog {
    pub(crate) fn new() -> Self {
        MarkingLog {
            chunks: Lock::new(LogChunks {
                pool: None,
                active: false,
                shaded: ChunkList::new(),
                freed: ChunkList::new(),
                shading: 0,
                most_shading: 0,
            }),
            waiting: AtomicUsize::new(0),
            sets: AtomicPtr::new(null_mut()),
            objects: AtomicU64::new(0),
            handed_in: AtomicU64::new(0),
            rescans: AtomicU64::new(0),
            tracing: Lock::new(()),
        }
    }

    /// The lock of the lists, for a fork.
    pub(crate) fn fork_lock(&self) -> &impl ForkLock {
        &self.chunks
    }

    /// Hands in a mutator's chunk, if it has one, and takes an empty one for it. Without one the mutator tells
    /// [`missed`](Self::missed).
    pub(crate) fn exchange(&self, full: Option<Chunk>) -> Option<Chunk> {
        let mut chunks = self.chunks.lock();
        if let Some(full) = full {
            self.add(&mut chunks, full);
        }
        chunks.take_for_shading()
    }

    /// Hands in a mutator's chunk.
    pub(crate) fn hand_in(&self, chunk: Chunk) {
        self.add(&mut self.chunks.lock(), chunk);
    }

    fn add(&self, chunks: &mut LogChunks, chunk: Chunk) {
        let len = chunk.len();
        if len == 0 || !chunks.active {
            // In a forked child the mutator of a vanished thread may have kept it for longer than the marking.
            return chunks.give_back(chunk);
        }
        self.objects.fetch_add(len as u64, Ordering::Relaxed);
        self.handed_in.fetch_add(1, Ordering::Relaxed);
        self.waiting.fetch_add(len, Ordering::Relaxed);
        chunks.shaded.push(chunk);
    }

    /// A shaded object has no place in a chunk: all old objects of its span, which begins at this page, count
    /// as shaded.
    #[cold]
    pub(crate) fn missed(&self, page: usize) {
        if self.unlogged().flag(page) {
            self.rescans.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Notes an object that was freed. Without room its memory waits for the next full collection.
    pub(crate) fn note_freed(&self, object: usize) {
        let mut chunks = self.chunks.lock();
        if let Some(mut chunk) = chunks.take_for_freed() {
            chunk.push(object);
            chunks.freed.push(chunk);
        }
    }

    /// The turn to run a trace function for the barrier.
    pub(crate) fn turn(&self) -> LockGuard<'_, (), TRACE_TURN> {
        self.tracing.lock()
    }
}

impl MarkingLog {
    /// Begins a marking of a heap with so many reserved and committed bytes. At most N shaded objects have a place, if
    /// `most` is set. It makes what the marking needs before the threads are stopped for it.
    pub(crate) fn begin(
        &self,
        kernel: KernelRef,
        most: Option<usize>,
        (reserved, committed): (usize, usize),
    ) -> Result<(), OsError> {
        let mut chunks = self.chunks.lock();
        if self.sets.load(Ordering::Relaxed).is_null() {
            let set = || RescanSet::new(kernel, reserved);
            let sets = MappedBox::new(kernel, SpanSets { rescan: set()?, unlogged: set()? })?;
            self.sets.store(sets.into_raw().as_ptr(), Ordering::Release);
        }
        let pool = match &mut chunks.pool {
            Some(pool) => pool,
            none => none.insert(ChunkPool::new(kernel)?),
        };
        pool.prepare()?;
        self.commit_sets(committed);
        chunks.active = true;
        chunks.most_shading = most.map_or(MOST_CHUNKS, |most| most / CHUNK_ENTRIES);
        [&self.objects, &self.handed_in, &self.rescans].iter().for_each(|n| n.store(0, Ordering::Relaxed));
        Ok(())
    }

    fn sets(&self) -> &SpanSets {
        // SAFETY: `begin` made them; they stay until the log goes.
        unsafe { self.sets.load(Ordering::Acquire).as_ref() }.expect("a marking has begun")
    }

    /// The spans with marked objects that were not scanned, for the marking.
    ///
    /// # Panics
    /// No marking has begun.
    pub(crate) fn rescan(&self) -> &RescanSet {
        &self.sets().rescan
    }

    /// The spans with objects that were shaded and had no place in a chunk: all their old objects count as shaded.
    ///
    /// # Panics
    /// No marking has begun.
    pub(crate) fn unlogged(&self) -> &RescanSet {
        &self.sets().unlogged
    }

    /// Commits the bits of both for N bytes of heap. No other thread adds spans meanwhile.
    pub(crate) fn commit_sets(&self, committed_end: usize) {
        self.rescan().commit(committed_end);
        self.unlogged().commit(committed_end);
    }

    /// The shaded objects that were handed in and wait for the marker.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Takes a chunk of shaded objects that are still to be scanned.
    pub(crate) fn take_chunk(&self) -> Option<ShadedChunk<'_>> {
        if self.waiting() == 0 {
            // A chunk that is just coming is found later: only a pause ends the marking.
            return None;
        }
        let mut chunks = self.chunks.lock();
        let chunk = chunks.shaded.pop()?;
        self.waiting.fetch_sub(chunk.len(), Ordering::Relaxed);
        Some(ShadedChunk { log: self, chunk: Some(chunk) })
    }

    /// Takes one shaded object that is still to be scanned, for a marking in counted steps.
    pub(crate) fn next_shaded(&self) -> Option<usize> {
        let mut chunks = self.chunks.lock();
        let mut chunk = chunks.shaded.pop()?;
        let object = chunk.pop();
        match chunk.len() {
            0 => chunks.give_back(chunk),
            _ => chunks.shaded.push(chunk),
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        object
    }

    /// Ends the marking, which has scanned all that was shaded: calls `f` with the freed objects that were noted. Others that are marked
    /// stay so, and are found dead by the next full collection. Mutators are stopped and have handed in their chunks.
    pub(crate) fn end(&self, mut f: impl FnMut(ObjectRef)) {
        let mut chunks = self.chunks.lock();
        let LogChunks { pool: Some(pool), active, shaded, freed, shading, .. } = &mut *chunks else { return };
        *active = false;
        while let Some(chunk) = freed.pop() {
            (0..chunk.len()).for_each(|i| f(ObjectRef::new(chunk.get(i))));
            pool.give_back(chunk);
        }
        debug_assert_eq!(shaded.chunks(), 0, "a marking ends when all that was shaded is scanned");
        *shading -= shaded.chunks();
        pool.give_back_all(shaded);
        self.waiting.store(0, Ordering::Relaxed);
    }

    /// Releases the memory that a marking has left, but for what the next will want. The threads run again.
    #[cfg(not(loom))]
    pub(crate) fn trim(&self) {
        let mut chunks = self.chunks.lock();
        if !chunks.active
            && let Some(pool) = &mut chunks.pool
        {
            pool.trim();
        }
    }

    #[cfg(loom)]
    pub(crate) fn trim(&self) {}

    /// Its counts since the last marking began.
    pub(crate) fn counts(&self) -> ShadeCounts {
        ShadeCounts {
            objects: self.objects.load(Ordering::Relaxed),
            chunks: self.handed_in.load(Ordering::Relaxed),
            rescans: self.rescans.load(Ordering::Relaxed),
        }
    }
}

impl Drop for MarkingLog {
    fn drop(&mut self) {
        if let Some(set) = NonNull::new(*self.sets.get_mut()) {
            // SAFETY: `begin` has given it up, and nobody else uses it.
            drop(unsafe { MappedBox::from_raw(set) });
        }
    }
}

/// Shaded objects in the marker's hands, each to be scanned once. The chunk goes back to the pool at the end.
pub(crate) struct ShadedChunk<'l> {
    log: &'l MarkingLog,
    chunk: Option<Chunk>,
}

impl ShadedChunk<'_> {
    /// The number of its objects.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.chunk.as_ref().map_or(0, Chunk::len)
    }

    /// Object `index`, below [`len`](Self::len).
    #[inline]
    pub(crate) fn get(&self, index: usize) -> usize {
        self.chunk.as_ref().map_or(0, |chunk| chunk.get(index))
    }
}

impl Drop for ShadedChunk<'_> {
    fn drop(&mut self) {
        if let Some(chunk) = self.chunk.take() {
            self.log.chunks.lock().give_back(chunk);
        }
    }
}

impl Mapped for MarkingLog {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.chunks.lock().pool.for_each_mapping(f);
        // SAFETY: `begin` made them, in a box; they stay until the log goes.
        if let Some(sets) = unsafe { self.sets.load(Ordering::Acquire).as_ref() } {
            // SAFETY: as above.
            unsafe { MappedBox::for_each_mapping_around(sets, f) };
            for_each_mapping_of(&[&sets.rescan, &sets.unlogged], f);
        }
    }
}
