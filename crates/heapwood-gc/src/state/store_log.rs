//! The store log: one bit for each word of the heap that was stored through the barrier since the last collection.
//! Verify mode compares it with the words that changed. It is like a remembered set, for another purpose. Invariant: a
//! word of the heap has its bit set if a store to it was noted.

use crate::lock_order::STORE_LOG;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use heapwood_heap::{Address, ObjectRef, Space};
use heapwood_layout::WORD;
use heapwood_os::diagnose::message::{corrupt, report};
use heapwood_os::{ForkLock, KernelRef, Lock, Mapped, MappedArray, OsError};

/// The log of a heap.
pub(crate) struct StoreLog {
    bits: MappedArray<AtomicU64>,
    /// The bytes of the heap that have committed bits.
    committed: Lock<usize, STORE_LOG>,
    /// Whether an address lies in any heap of the process in verify mode.
    is_heaps: fn(Address) -> bool,
    /// It was said that a pointer into another heap is stored.
    told: AtomicBool,
}

impl StoreLog {
    pub(crate) fn new(
        kernel: KernelRef,
        space: &Space,
        is_heaps: fn(Address) -> bool,
    ) -> Result<Self, OsError> {
        Ok(StoreLog {
            bits: MappedArray::new(kernel, space.reservation_bytes() / WORD / 64)?,
            committed: Lock::new(0),
            is_heaps,
            told: AtomicBool::new(false),
        })
    }

    /// The lock of its memory, for a fork.
    pub(crate) fn fork_lock(&self) -> &impl ForkLock {
        &self.committed
    }

    fn commit(&self, space: &Space) {
        // Read once: another thread may make the heap grow meanwhile.
        let committed_end = space.committed_end();
        let mut committed = self.committed.lock();
        if committed_end <= *committed {
            return;
        }
        if let Err(e) = self.bits.commit(*committed / WORD / 64..committed_end / WORD / 64) {
            corrupt(format_args!("no memory for the tables of verify mode: {e}"));
        }
        *committed = committed_end;
    }

    /// The word with the bit of the `index`th word of the heap, and the bit.
    fn bit(&self, index: usize) -> (&AtomicU64, u64) {
        // SAFETY: callers have committed the bits up to the heap's committed end.
        (unsafe { &*self.bits.at(index / 64) }, 1 << (index % 64))
    }

    /// Notes a store through the barrier of `words` words from `slot` on, in `object`.
    pub(crate) fn note(&self, space: &Space, object: ObjectRef, slot: Address, words: usize) {
        self.commit(space);
        // An object allocated since the last collection gets its allocation bit when its mutator is flushed, so the
        // start of a cell is enough here.
        let span = space.find_span(object.into());
        let object = match space.arenas().find(object.into()).filter(|place| place.is_there) {
            // An arena's values have no bits of their own.
            Some(place) => ObjectRef::new(place.chunk.0),
            None => object,
        };
        let Some(span) = span.filter(|span| span.cell_in(object.into()) == Some(object.into())) else {
            let which = match (self.is_heaps)(object.into()) && !space.contains(object.into()) {
                true => "which is of another heap than the mutator",
                false => "where none exists",
            };
            corrupt(format_args!("a store names {object:#x} as its object, {which}"));
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

    /// Says once that a pointer into another heap is stored: it keeps nothing alive, which the program may know.
    pub(crate) fn look_at_value(&self, space: &Space, slot: Address, value: Address) {
        if !space.contains(value) && (self.is_heaps)(value) && !self.told.swap(true, Ordering::Relaxed) {
            report(format_args!(
                "heapwood: verify: hint: {value:#x}, which is stored to {slot:#x}, is an address of another heap: it keeps nothing alive"
            ));
        }
    }

    /// Covers the heap as it is now; the world is stopped.
    pub(crate) fn begin_checks(&self, space: &Space) {
        self.commit(space);
    }

    /// Whether a store to the `index`th word of the heap was noted; after [`StoreLog::begin_checks`].
    pub(crate) fn has(&self, index: usize) -> bool {
        let (word, bit) = self.bit(index);
        word.load(Ordering::Relaxed) & bit != 0
    }

    /// Forgets all stores; the world is stopped.
    pub(crate) fn clear(&self, space: &Space) {
        // SAFETY: the bits are committed up to the committed end, and an empty log needs no contents.
        if let Err(e) = unsafe { self.bits.shrink(0, space.committed_end() / WORD / 64) } {
            corrupt(format_args!("clearing the table of verify mode: {e}"));
        }
    }
}

impl Mapped for StoreLog {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.bits.for_each_mapping(f);
    }
}
