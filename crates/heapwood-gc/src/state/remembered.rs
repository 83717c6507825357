//! The remembered set: where pointers to young objects were stored into old ones since the last collection. Threads write
//! entries into chunks of their own (`mutator/store_buffer`), which come from here; a young collection reads all chunks, and
//! then they are empty. An entry is an address, whose two lowest bits say what is remembered there. A log of slots rather than
//! of objects or cards, since a table of many MiB is one object, and random stores dirty most cards; what was measured is in
//! docs/design/barrier.md. Invariant: since the last collection every such store is in a chunk, or the set has overflowed, and
//! then the next collection is a full one.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use heapwood_os::region::Zeroed;
use heapwood_os::{ForkLock, KernelRef, Lock, MappedArray, OsError};

/// The words of a chunk: a kernel page.
const WORDS: usize = 512;
/// The most chunks (16 MiB), and one for N bytes of the window where that is less.
const MOST: usize = 4096;
const WINDOW_BYTES_A_CHUNK: usize = 4 << 20;
/// Chunks that stay in memory between collections.
const KEEP: usize = 64;

/// What an entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RememberedEntry {
    /// A slot.
    Slot(usize),
    /// Every slot of an object.
    Object(usize),
    /// Words of an object, any of which may be slots, up to an end.
    Words(usize, usize),
}

pub(crate) const SLOT: usize = 0;
pub(crate) const OBJECT: usize = 1;
pub(crate) const RANGE: usize = 2;
/// No entry: of an object all was shaded.
pub(crate) const SHADED: usize = 3;
const TAG: usize = 3;

/// A piece of memory for entries. What a zero follows is none.
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
    /// How many were given out since the last collection, and how many are committed.
    used: Lock<(usize, usize)>,
    /// So many may be given out.
    most: AtomicUsize,
    overflowed: AtomicBool,
    /// How many stores of each mutator may take the slow half of the barrier in a cycle.
    most_stores: AtomicU64,
}

impl RememberedSet {
    /// An empty one for a heap with N bytes of window.
    pub(crate) fn new(kernel: KernelRef, window: usize) -> Result<Self, OsError> {
        let most = (window / WINDOW_BYTES_A_CHUNK).clamp(KEEP, MOST);
        Ok(RememberedSet {
            chunks: MappedArray::new(kernel, most)?,
            used: Lock::new((0, 0)),
            most: AtomicUsize::new(most),
            overflowed: AtomicBool::new(false),
            most_stores: AtomicU64::new(u64::MAX),
        })
    }

    /// The lock of the chunks, for a process that forks.
    pub(crate) fn fork_lock(&self) -> &impl ForkLock {
        &self.used
    }

    /// An empty chunk for a mutator; `None` if there is none, and then the set has overflowed.
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

    /// Something will be missing.
    pub(crate) fn overflow(&self) {
        self.overflowed.store(true, Ordering::Relaxed);
    }

    /// How many stores of each mutator may take the slow half of the barrier in a cycle: more would cost more than a young
    /// collection can save.
    pub(crate) fn most_stores(&self) -> u64 {
        self.most_stores.load(Ordering::Relaxed)
    }

    /// Sets that, for the cycle that is about to begin.
    pub(crate) fn allow_stores(&self, most: u64) {
        self.most_stores.store(most, Ordering::Relaxed);
    }

    /// Whether something is missing.
    #[inline]
    pub(crate) fn has_overflowed(&self) -> bool {
        self.overflowed.load(Ordering::Relaxed)
    }

    /// Calls `f` with each entry, and with none before each chunk: then it says whether to go on. All mutators have stopped, and closed their chunks.
    pub(crate) fn for_each(&self, mut f: impl FnMut(Option<RememberedEntry>) -> bool) {
        let used = self.used.lock().0;
        for index in 0..used {
            if !f(None) {
                return;
            }
            let words = RememberedChunk::words(self.chunks.at(index));
            let mut at = words.start;
            // SAFETY: chunks that were given out are committed, and written by stopped mutators up to a zero or their end.
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

    /// Forgets all; from now on it may take up N bytes. All mutators have stopped, and have no chunk.
    pub(crate) fn clear(&self, most: usize) {
        let mut used = self.used.lock();
        used.0 = 0;
        if used.1 > KEEP {
            // SAFETY: nobody has a chunk. The kernel may refuse, and then they stay.
            if unsafe { self.chunks.decommit(KEEP..used.1) }.is_ok() {
                used.1 = KEEP;
            }
        }
        self.most
            .store((most / size_of::<RememberedChunk>()).clamp(KEEP, self.chunks.len()), Ordering::Relaxed);
        self.overflowed.store(false, Ordering::Relaxed);
    }
}
