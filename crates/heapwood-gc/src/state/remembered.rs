//! The remembered set: the slots of old objects into which pointers to young ones were stored since the last
//! collection. Threads write entries into chunks of their own (`mutator/store_buffer`), which they get here. A young
//! collection reads all chunks, and empties them. An entry is an address, whose two lowest bits give its kind. It is a
//! log of slots, not of objects or cards, because a table of many MiB is one object, and random stores dirty most cards
//! (measured in docs/design/barrier.md). Invariant: every such store since the last collection is in a chunk, or the
//! set has overflowed and the next collection is a full one.

use crate::lock_order::REMEMBERED;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{ForkLock, KernelRef, Lock, Mapped, MappedArray, OsError};

/// The words of a chunk: a kernel page.
const WORDS: usize = 512;
/// The most chunks (16 MiB); one for each N bytes of the reservation, if that is less.
const MOST: usize = 4096;
const RESERVATION_BYTES_A_CHUNK: usize = 4 << 20;
/// Chunks that stay in memory between collections.
const KEEP: usize = 64;

/// An entry of the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RememberedEntry {
    /// A slot.
    Slot(usize),
    /// Every slot of an object.
    Object(usize),
    /// Words of an object, from a first to an end; any of them may be slots.
    Words(usize, usize),
}

pub(crate) const SLOT: usize = 0;
pub(crate) const OBJECT: usize = 1;
pub(crate) const RANGE: usize = 2;
/// No entry: a store buffer's cache marks objects that were shaded as a whole.
pub(crate) const SHADED: usize = 3;
const TAG: usize = 3;

/// Memory for entries. A zero ends them.
#[repr(C, align(4096))]
pub(crate) struct RememberedChunk([usize; WORDS]);

// SAFETY: all-zero bytes are no entries.
unsafe impl Zeroed for RememberedChunk {}

impl RememberedChunk {
    /// The words of a chunk.
    pub(crate) fn words(this: *mut RememberedChunk) -> core::ops::Range<*mut usize> {
        let first = this.cast::<usize>();
        first..first.wrapping_add(WORDS)
    }
}

/// The chunks of a heap.
pub(crate) struct RememberedSet {
    chunks: MappedArray<RememberedChunk>,
    /// Chunks given out since the last collection, and committed chunks.
    used: Lock<(usize, usize), REMEMBERED>,
    /// The most chunks that may be given out.
    most: AtomicUsize,
    overflowed: AtomicBool,
    /// Stores of each mutator that may take the slow path of the barrier in a cycle.
    most_stores: AtomicU64,
}

impl RememberedSet {
    /// An empty set for a heap with a reservation of N bytes.
    pub(crate) fn new(kernel: KernelRef, reservation: usize) -> Result<Self, OsError> {
        let most = (reservation / RESERVATION_BYTES_A_CHUNK).clamp(KEEP, MOST);
        Ok(RememberedSet {
            chunks: MappedArray::new(kernel, most)?,
            used: Lock::new((0, 0)),
            most: AtomicUsize::new(most),
            overflowed: AtomicBool::new(false),
            most_stores: AtomicU64::new(u64::MAX),
        })
    }

    /// The lock of the chunks, for a fork.
    pub(crate) fn fork_lock(&self) -> &impl ForkLock {
        &self.used
    }

    /// An empty chunk for a mutator; without one, the set has overflowed.
    pub(crate) fn take_chunk(&self) -> Option<*mut RememberedChunk> {
        let mut used = self.used.lock();
        let index = used.0;
        if index < self.most.load(Ordering::Relaxed) {
            if index >= used.1 && self.chunks.commit(index..index + 1).is_ok() {
                used.1 = index + 1;
            }
            if index < used.1 {
                used.0 += 1;
                return Some(self.chunks.at(index));
            }
        }
        self.overflow();
        None
    }

    /// Declares the set incomplete.
    pub(crate) fn overflow(&self) {
        self.overflowed.store(true, Ordering::Relaxed);
    }

    /// Stores of each mutator that may take the slow path of the barrier in a cycle: more would cost more than a young
    /// collection can save.
    pub(crate) fn most_stores(&self) -> u64 {
        self.most_stores.load(Ordering::Relaxed)
    }

    /// Sets that limit for the cycle that is about to begin.
    pub(crate) fn allow_stores(&self, most: u64) {
        self.most_stores.store(most, Ordering::Relaxed);
    }

    /// Whether the set is incomplete.
    #[inline]
    pub(crate) fn has_overflowed(&self) -> bool {
        self.overflowed.load(Ordering::Relaxed)
    }

    /// Calls `f` with each entry, and with none before each chunk, where `f` returns whether to go on. All mutators
    /// have stopped and closed their chunks.
    pub(crate) fn for_each(&self, mut f: impl FnMut(Option<RememberedEntry>) -> bool) {
        let used = self.used.lock().0;
        for index in 0..used {
            if !f(None) {
                return;
            }
            let words = RememberedChunk::words(self.chunks.at(index));
            let mut at = words.start;
            // SAFETY: chunks that were given out are committed, and stopped mutators have written them up to a zero or
            // their end.
            let mut next = || unsafe {
                let word = if at < words.end { at.read() } else { 0 };
                at = at.wrapping_add(1);
                word
            };
            loop {
                let word = next();
                f(Some(match (word, word & TAG) {
                    (0, _) => break,
                    (_, OBJECT) => RememberedEntry::Object(word & !TAG),
                    (_, RANGE) => RememberedEntry::Words(word & !TAG, next()),
                    _ => RememberedEntry::Slot(word),
                }));
            }
        }
    }

    /// Empties the set, and lets it take up N bytes from now on. All mutators have stopped, and have no chunk.
    pub(crate) fn clear(&self, most: usize) {
        let mut used = self.used.lock();
        used.0 = 0;
        if used.1 > KEEP {
            // SAFETY: no mutator has a chunk. If the kernel refuses, the chunks stay.
            if unsafe { self.chunks.decommit(KEEP..used.1) }.is_ok() {
                used.1 = KEEP;
            }
        }
        self.most
            .store((most / size_of::<RememberedChunk>()).clamp(KEEP, self.chunks.len()), Ordering::Relaxed);
        self.overflowed.store(false, Ordering::Relaxed);
    }
}

impl Mapped for RememberedSet {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.chunks.for_each_mapping(f);
    }
}
