//! Objects that take plain stores: value stacks of fibers, into which an interpreter stores without a barrier. Each has a top, in
//! words from its first byte; what lies above it is nobody's. Lua's collector treats the stacks of its coroutines so: it looks at all
//! of them once more at its end, and clears the part above the top. Here a snapshot of their slots is taken where a marking beside
//! the program begins (`snapshot`). Invariants: an entry's object exists; it is no root, and the collection that finds it
//! dead drops the entry. The lock is held in no-preempt regions only, so a collector may take it in a stop.

mod snapshot;
mod table;

use crate::lock_order::PLAIN;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_layout::WORD;
use heapwood_os::{ForkLock, KernelRef, Lock, Mapped};
pub(crate) use snapshot::PlainSnapshot;
use table::Table;
pub(crate) use table::{AddPlainError, MOST_PLAIN, PlainObject, TopError};

/// The objects of one heap that take plain stores. The table is reserved for the first.
#[derive(Default)]
pub(crate) struct PlainObjects {
    table: Lock<Option<Table>, PLAIN>,
    count: AtomicUsize,
    snapshot: PlainSnapshot,
}

impl PlainObjects {
    /// The lock, for a fork.
    pub(crate) fn fork_lock(&self) -> &impl ForkLock {
        &self.table
    }

    /// Whether there is one.
    #[inline(always)]
    pub(crate) fn has_any(&self) -> bool {
        self.count.load(Ordering::Relaxed) != 0
    }

    fn change<R>(&self, f: impl FnOnce(&mut Table) -> R) -> Option<R> {
        let mut table = self.table.lock();
        let table = table.as_mut()?;
        let result = f(table);
        self.count.store(table.count(), Ordering::Relaxed);
        Some(result)
    }

    /// Adds an object. Where its top is, which stays there until the object is removed.
    pub(crate) fn add(
        &self,
        kernel: KernelRef,
        object: PlainObject,
    ) -> Result<*const AtomicUsize, AddPlainError> {
        self.snapshot.prepare(kernel).map_err(AddPlainError::Kernel)?;
        {
            let mut table = self.table.lock();
            if table.is_none() {
                *table = Some(Table::new(kernel).map_err(AddPlainError::Kernel)?);
            }
        }
        self.change(|table| table.add(object)).unwrap_or_else(|| unreachable!("there is a table"))
    }

    /// Sets the top of an object.
    pub(crate) fn set_top(&self, object: usize, top: usize) -> Result<(), TopError> {
        self.change(|table| table.set_top(object, top)).unwrap_or(Err(TopError::NotBegun))
    }

    /// Removes an object.
    pub(crate) fn remove(&self, object: usize) -> Option<PlainObject> {
        self.change(|table| table.remove(object)).flatten()
    }

    /// Whether an object is one.
    pub(crate) fn has(&self, object: usize) -> bool {
        self.has_any() && self.change(|table| table.has(object)).unwrap_or(false)
    }

    /// Calls `f` with each, in a pause; the lock is free meanwhile.
    pub(crate) fn for_each(&self, mut f: impl FnMut(PlainObject)) {
        if !self.has_any() {
            return;
        }
        for number in 0..self.change(|table| table.used()).unwrap_or(0) {
            if let Some(object) = self.change(|table| table.get(number)).flatten() {
                f(object);
            }
        }
    }

    /// What they held when a marking beside the program began.
    #[inline(always)]
    pub(crate) fn snapshot(&self) -> &PlainSnapshot {
        &self.snapshot
    }
}

impl Mapped for PlainObjects {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        if let Some(table) = self.table.lock().as_ref() {
            table.for_each_mapping(f);
        }
        self.snapshot.for_each_mapping(f);
    }
}

/// Sets words of an object to 0. Those that are 0 are not written, so that pages that were never touched stay so.
///
/// # Safety
/// 1. The object exists, has these words, and nobody reads them for what they are.
pub(crate) unsafe fn clear_words(object: usize, words: Range<usize>) {
    for word in words {
        // SAFETY: contract 1. A marker may read them meanwhile.
        let word = unsafe { AtomicUsize::from_ptr((object + word * WORD) as *mut usize) };
        if word.load(Ordering::Relaxed) != 0 {
            word.store(0, Ordering::Relaxed);
        }
    }
}
