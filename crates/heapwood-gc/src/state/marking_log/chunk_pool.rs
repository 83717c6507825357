//! The memory of a marking's log: chunks of a kernel page, in one reservation. A chunk is free, or on a list of the log,
//! or in the hands of one mutator or marker, which fills or reads it without a lock. Invariants: whoever has a
//! [`Chunk`] owns the chunk that it names; all chunks but the free ones were taken and will come back. Work packets of
//! this kind are Ossia et al.'s ("A parallel, incremental and concurrent GC for servers", 2002).

use core::marker::PhantomData;
use core::ops::Range;
use core::ptr::null;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::threads::sync::{AtomicArray, UnsafeCell};
use heapwood_os::{KernelRef, Mapped, OsError};

/// Addresses of a chunk: with its two words of header it fills a kernel page. Two are enough for a model.
pub(crate) const CHUNK_ENTRIES: usize = if cfg!(loom) { 2 } else { 510 };
/// The most chunks of a pool: 16 MiB, room for two million addresses that no marker has taken.
pub(super) const MOST_CHUNKS: usize = if cfg!(loom) { 8 } else { 4096 };
/// Chunks that stay in memory between markings.
#[cfg(not(loom))]
pub(super) const KEPT_CHUNKS: usize = 64;
/// Chunks that are committed at a time, and before a marking begins.
const STEP: usize = if cfg!(loom) { 4 } else { 16 };

/// Memory for addresses. The cells are the chunk owner's.
#[cfg_attr(not(loom), repr(C, align(4096)))]
pub(crate) struct ChunkMemory {
    /// The next chunk of the list that this one is on.
    next: UnsafeCell<*const ChunkMemory>,
    /// The entries that are written, unless it is in the hands of a mutator, which counts itself.
    len: UnsafeCell<usize>,
    entries: [UnsafeCell<usize>; CHUNK_ENTRIES],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<ChunkMemory>() == 4096);

// SAFETY: its cells are its owner's, whichever thread that is; the list that it is on has the same owner.
unsafe impl Send for ChunkMemory {}
// SAFETY: as above.
unsafe impl Sync for ChunkMemory {}
// SAFETY: all-zero bytes are a chunk without entries, which needs no drop.
unsafe impl Zeroed for ChunkMemory {}

impl Default for ChunkMemory {
    fn default() -> Self {
        ChunkMemory {
            next: UnsafeCell::new(null()),
            len: UnsafeCell::new(0),
            entries: core::array::from_fn(|_| UnsafeCell::new(0)),
        }
    }
}

/// A cell's address. To loom this is an access, which must be in order with those of other threads.
#[inline(always)]
fn at<T>(cell: &UnsafeCell<T>) -> *mut T {
    #[cfg(not(loom))]
    return cell.get();
    #[cfg(loom)]
    return cell.with_mut(|value| value);
}

impl ChunkMemory {
    /// Writes an entry.
    ///
    /// # Safety
    /// 1. The caller owns the chunk, which exists, and `index` is below [`CHUNK_ENTRIES`].
    #[inline(always)]
    pub(crate) unsafe fn write(this: *const ChunkMemory, index: usize, address: usize) {
        debug_assert!(index < CHUNK_ENTRIES);
        // SAFETY: contract 1.
        unsafe { at((*this).entries.get_unchecked(index)).write(address) };
    }
}

/// A chunk, and the right to it. It goes back to the log: who drops one loses its memory until the heap goes.
pub(crate) struct Chunk(*const ChunkMemory);

// SAFETY: it is the only right to the chunk.
unsafe impl Send for Chunk {}

impl Chunk {
    /// The chunk's memory, for a mutator that fills it without this name; [`Chunk::filled`] is its inverse.
    pub(crate) fn into_memory(self) -> *const ChunkMemory {
        self.0
    }

    /// A chunk with N entries that were written.
    ///
    /// # Safety
    /// 1. `memory` came from [`into_memory`](Self::into_memory) and is used no more. Its first `len` entries were
    ///    written.
    pub(crate) unsafe fn filled(memory: *const ChunkMemory, len: usize) -> Self {
        let mut chunk = Chunk(memory);
        chunk.set_len(len);
        chunk
    }

    fn memory(&self) -> &ChunkMemory {
        // SAFETY: a chunk that has a name is committed, and its heap exists.
        unsafe { &*self.0 }
    }

    pub(super) fn len(&self) -> usize {
        // SAFETY: the cells are this owner's.
        unsafe { at(&self.memory().len).read() }
    }

    pub(super) fn set_len(&mut self, len: usize) {
        // SAFETY: as above.
        unsafe { at(&self.memory().len).write(len) };
    }

    /// Entry `index`, which was written.
    #[inline]
    pub(super) fn get(&self, index: usize) -> usize {
        // SAFETY: as above.
        unsafe { at(&self.memory().entries[index]).read() }
    }

    /// Adds an address; the chunk is not full.
    pub(super) fn push(&mut self, address: usize) {
        let len = self.len();
        // SAFETY: this is the owner; the length says that there is room.
        unsafe { ChunkMemory::write(self.0, len, address) };
        self.set_len(len + 1);
    }

    /// Takes the last address.
    pub(super) fn pop(&mut self) -> Option<usize> {
        let last = self.len().checked_sub(1)?;
        self.set_len(last);
        Some(self.get(last))
    }
}

/// Chunks, linked through their headers; they are the list's.
pub(super) struct ChunkList {
    first: *const ChunkMemory,
    last: *const ChunkMemory,
    chunks: usize,
    owns: PhantomData<ChunkMemory>,
}

// SAFETY: it owns its chunks.
unsafe impl Send for ChunkList {}

impl ChunkList {
    pub(super) const fn new() -> Self {
        ChunkList { first: null(), last: null(), chunks: 0, owns: PhantomData }
    }

    /// The number of chunks.
    pub(super) fn chunks(&self) -> usize {
        self.chunks
    }

    /// Adds a chunk in front.
    pub(super) fn push(&mut self, chunk: Chunk) {
        // SAFETY: the chunk is the caller's.
        unsafe { at(&chunk.memory().next).write(self.first) };
        if self.first.is_null() {
            self.last = chunk.0;
        }
        self.first = chunk.0;
        self.chunks += 1;
    }

    /// Takes the first chunk.
    pub(super) fn pop(&mut self) -> Option<Chunk> {
        self.chunks = self.chunks.checked_sub(1)?;
        let chunk = Chunk(self.first);
        // SAFETY: the chunk is the list's.
        self.first = unsafe { at(&chunk.memory().next).read() };
        Some(chunk)
    }

    /// Takes all chunks of another list, in front; looks at one of them.
    pub(super) fn take_all(&mut self, other: &mut ChunkList) {
        let other = core::mem::replace(other, ChunkList::new());
        if other.chunks == 0 {
            return;
        }
        // SAFETY: the last chunk of a list that is not empty.
        unsafe { at(&(*other.last).next).write(self.first) };
        if self.first.is_null() {
            self.last = other.last;
        }
        self.first = other.first;
        self.chunks += other.chunks;
    }
}

/// The chunks of a heap.
pub(super) struct ChunkPool {
    chunks: AtomicArray<ChunkMemory>,
    free: ChunkList,
    /// Chunks that were ever taken since all were free, and those that are committed.
    used: usize,
    committed: usize,
}

impl ChunkPool {
    /// A reservation, without memory yet.
    pub(super) fn new(kernel: KernelRef) -> Result<Self, OsError> {
        let chunks = AtomicArray::new(kernel, MOST_CHUNKS)?;
        Ok(ChunkPool { chunks, free: ChunkList::new(), used: 0, committed: 0 })
    }

    /// Commits the first chunks.
    pub(super) fn prepare(&mut self) -> Result<(), OsError> {
        match self.committed {
            0 => self.commit_more(),
            _ => Ok(()),
        }
    }

    fn commit_more(&mut self) -> Result<(), OsError> {
        let end = (self.committed + STEP).min(MOST_CHUNKS);
        self.chunks.commit(self.committed..end)?;
        self.committed = end;
        Ok(())
    }

    /// An empty chunk; `None` if all are taken, or the kernel gives no memory for more.
    pub(super) fn take(&mut self) -> Option<Chunk> {
        let mut chunk = match self.free.pop() {
            Some(chunk) => chunk,
            None => {
                if self.used == self.committed && (self.used == MOST_CHUNKS || self.commit_more().is_err()) {
                    return None;
                }
                self.used += 1;
                Chunk(self.chunks.at(self.used - 1))
            }
        };
        chunk.set_len(0);
        Some(chunk)
    }

    /// Takes a chunk back.
    pub(super) fn give_back(&mut self, chunk: Chunk) {
        self.free.push(chunk);
    }

    /// Takes a list back; looks at one of its chunks.
    pub(super) fn give_back_all(&mut self, list: &mut ChunkList) {
        self.free.take_all(list);
    }

    /// Releases the memory of most chunks, if all are free.
    #[cfg(not(loom))]
    pub(super) fn trim(&mut self) {
        if self.committed <= KEPT_CHUNKS || self.free.chunks() != self.used {
            return;
        }
        // The links lie in the chunks.
        (self.free, self.used) = (ChunkList::new(), 0);
        // SAFETY: nobody has a chunk. If the kernel refuses, they stay.
        if unsafe { self.chunks.decommit(KEPT_CHUNKS..self.committed) }.is_ok() {
            self.committed = KEPT_CHUNKS;
        }
    }
}

impl Mapped for ChunkPool {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.chunks.for_each_mapping(f);
    }
}
