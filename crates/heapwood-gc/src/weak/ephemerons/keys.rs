//! How many ephemerons have an object for their key, in verify mode: a program must not free such an object, and verify mode
//! refuses it. A count for each granule, as the store log has a bit for each word. Invariant: the count of an object is that of
//! the ephemerons with this key which the program has made, and which neither it has removed from their tables nor a collection
//! has found dead or cleared: each pause counts anew.

use crate::lock_order::WEAK_KEYS;
use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};
use heapwood_heap::{Address, GRANULE, Space};
use heapwood_os::diagnose::message::corrupt;
use heapwood_os::{ForkLock, KernelRef, Lock, Mapped, MappedArray, OsError};

/// The counts of one heap.
pub(crate) struct Keys {
    counts: MappedArray<AtomicU32>,
    /// The granules that have committed counts.
    committed: Lock<usize, WEAK_KEYS>,
}

impl Keys {
    pub(super) fn new(kernel: KernelRef, reservation: usize) -> Result<Self, OsError> {
        Ok(Keys { counts: MappedArray::new(kernel, reservation / GRANULE)?, committed: Lock::new(0) })
    }

    /// The lock of its memory, for a fork.
    pub(crate) fn fork_lock(&self) -> &impl ForkLock {
        &self.committed
    }

    /// The count of an object of the heap; `None` where none was ever needed.
    fn count(&self, space: &Space, key: usize) -> Option<&AtomicU32> {
        if !space.contains(Address::new(key)) {
            return None;
        }
        let granule = (key - space.base().get()) / GRANULE;
        // SAFETY: counts up to there are committed, and are used by atomic operations alone.
        (granule < *self.committed.lock()).then(|| unsafe { &*self.counts.at(granule) })
    }

    /// An ephemeron is made with this key. In a no-preempt region, like those below.
    pub(crate) fn add(&self, space: &Space, key: usize) {
        let granules = space.committed_end() / GRANULE;
        {
            let mut committed = self.committed.lock();
            if *committed < granules {
                if let Err(e) = self.counts.commit(*committed..granules) {
                    corrupt(format_args!("no memory for the tables of verify mode: {e}"));
                }
                *committed = granules;
            }
        }
        if let Some(count) = self.count(space, key) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// An ephemeron with this key is cleared by the program.
    pub(crate) fn remove(&self, space: &Space, key: usize) {
        if let Some(count) = self.count(space, key) {
            let less = |count: u32| count.checked_sub(1);
            count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).unwrap_or(0);
        }
    }

    /// Whether an object is the key of one.
    pub(crate) fn has(&self, space: &Space, key: usize) -> bool {
        self.count(space, key).is_some_and(|count| count.load(Ordering::Relaxed) > 0)
    }

    /// Forgets all; the world is stopped.
    pub(crate) fn clear(&self) {
        let committed = *self.committed.lock();
        // SAFETY: so many are committed, and the caller counts anew.
        if let Err(e) = unsafe { self.counts.shrink(0, committed) } {
            corrupt(format_args!("clearing the table of verify mode: {e}"));
        }
    }
}

impl Mapped for Keys {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.counts.for_each_mapping(f);
    }
}
