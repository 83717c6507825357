//! The stores that went through the barrier since the last collection, a bit for each word of the heap: what verify mode
//! compares with the words that changed. It is a remembered set in all but its purpose. Invariant: a word of the heap has
//! its bit set if a store to it was noted.

use core::sync::atomic::{AtomicU64, Ordering};
use heapwood_heap::{Address, ObjectRef, Space};
use heapwood_layout::WORD;
use heapwood_os::message::corrupt;
use heapwood_os::{ForkLock, KernelRef, Lock, MappedArray, OsError};

/// The bits.
pub(crate) struct StoreLog {
    bits: MappedArray<AtomicU64>,
    /// So many bytes of the heap have theirs.
    committed: Lock<usize>,
}

impl StoreLog {
    pub(crate) fn new(kernel: KernelRef, space: &Space) -> Result<Self, OsError> {
        Ok(StoreLog {
            bits: MappedArray::new(kernel, space.window_bytes() / WORD / 64)?,
            committed: Lock::new(0),
        })
    }

    /// The lock of its memory, for a process that forks.
    pub(crate) fn fork_lock(&self) -> &impl ForkLock {
        &self.committed
    }

    fn commit(&self, space: &Space) {
        // Once: others may make the heap grow meanwhile.
        let extent = space.extent();
        let mut committed = self.committed.lock();
        if extent <= *committed {
            return;
        }
        if let Err(e) = self.bits.commit(*committed / WORD / 64..extent / WORD / 64) {
            corrupt(format_args!("no memory for the tables of verify mode: {e}"));
        }
        *committed = extent;
    }

    /// The word with the bit of the `index`th word of the heap, and the bit.
    fn bit(&self, index: usize) -> (&AtomicU64, u64) {
        // SAFETY: callers have committed the bits up to the heap's extent.
        (unsafe { &*self.bits.at(index / 64) }, 1 << (index % 64))
    }

    /// A store of `words` words from `slot` on, in the object at `object`, went through the barrier.
    pub(crate) fn note(&self, space: &Space, object: ObjectRef, slot: Address, words: usize) {
        self.commit(space);
        // Objects made since the last collection are not known to exist until their mutator is flushed, so a cell's
        // start is enough here.
        let span = space.find_span(object.into());
        let object = match space.find_arena(object.into()).filter(|place| place.is_there) {
            // An arena's values are not known one by one.
            Some(place) => ObjectRef::new(place.chunk.0),
            None => object,
        };
        let Some(span) = span.filter(|span| span.cell_in(object.into()) == Some(object.into())) else {
            corrupt(format_args!("a store names {object:#x} as its object, where none exists"));
        };
        let (object, slot) = (object.get(), slot.get());
        let end = object + span.object_bytes();
        let fits = slot >= object && slot <= end && words <= (end - slot) / WORD;
        if !fits || !slot.is_multiple_of(WORD) {
            corrupt(format_args!(
                "a store to {slot:#x} names {object:#x} as its object, which ends at {end:#x}"
            ));
        }
        let first = (slot - space.base().get()) / WORD;
        for index in first..first + words {
            let (word, bit) = self.bit(index);
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// The world has stopped: looks at the heap as it is now.
    pub(crate) fn begin_checks(&self, space: &Space) {
        self.commit(space);
    }

    /// Whether a store to the `index`th word of the heap was noted; after [`StoreLog::begin_checks`].
    pub(crate) fn has(&self, index: usize) -> bool {
        let (word, bit) = self.bit(index);
        word.load(Ordering::Relaxed) & bit != 0
    }

    /// Forgets all, while the world is stopped.
    pub(crate) fn clear(&self, space: &Space) {
        // SAFETY: the bits are committed up to the extent; the table begins anew.
        if let Err(e) = unsafe { self.bits.shrink(0, space.extent() / WORD / 64) } {
            corrupt(format_args!("clearing the table of verify mode: {e}"));
        }
    }
}
