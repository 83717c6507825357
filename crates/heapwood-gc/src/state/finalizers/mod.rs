//! Finalisers of data outside the heap: a program registers an object with a tag, and finds the tag on a queue when the
//! object is dead. Nothing is revived, and no function of the program is called. The collector moves entries in the phase
//! after marking (`phases/after_closure.rs`); the program takes them when and where it likes, as from Guile's guardians
//! (Dybvig, Bruggeman, Eby, PLDI 1993); that only data is given, and not the object, is Java's `Cleaner` and Go's
//! `AddCleanup`. docs/design/finalization.md has the whole design.
//!
//! Invariant: each registration is queued once, after its object is dead, or cancelled. The lock is held in no-preempt regions
//! only, so a collector may take it in a stop.

mod table;

use crate::lock_order::FINALIZERS;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use heapwood_os::{ForkLock, KernelRef, Lock, LockGuard, Mapped};
use table::Table;
pub(crate) use table::{AddError, CancelError, Pass};

/// A heap has room for one entry for each N bytes of its reservation, and for no more than this.
const RESERVATION_BYTES_AN_ENTRY: usize = 1 << 10;
const MOST: usize = 1 << 26;

/// The finalisers of one heap. The table is reserved for the first.
#[derive(Default)]
pub(crate) struct Finalizers {
    table: Lock<Option<Table>, FINALIZERS>,
    /// There is one.
    is_in_use: AtomicBool,
    /// Copies of its counts, for those who have no need of the lock.
    registered: AtomicUsize,
    queued: AtomicUsize,
    /// All that were ever queued.
    ever_queued: AtomicU64,
}

impl Finalizers {
    /// The lock, for a fork.
    pub(crate) fn fork_lock(&self) -> &impl ForkLock {
        &self.table
    }

    /// Objects that are registered, entries that wait on the queue, and all that ever did.
    pub(crate) fn counts(&self) -> (usize, usize, u64) {
        (
            self.registered.load(Ordering::Relaxed),
            self.queued.load(Ordering::Relaxed),
            self.ever_queued.load(Ordering::Relaxed),
        )
    }

    fn change<R>(
        &self,
        mut table: LockGuard<'_, Option<Table>, FINALIZERS>,
        f: impl FnOnce(&mut Table) -> R,
    ) -> Option<R> {
        let table = table.as_mut()?;
        let result = f(table);
        let (registered, queued) = table.counts();
        self.registered.store(registered, Ordering::Relaxed);
        self.queued.store(queued, Ordering::Relaxed);
        Some(result)
    }

    /// Registers an object of a heap with this reservation; it may be young unless it `is_old`. Returns the registration's number.
    pub(crate) fn add(
        &self,
        (kernel, reservation): (KernelRef, usize),
        (object, is_old): (usize, bool),
        tag: usize,
    ) -> Result<u64, AddError> {
        let mut table = self.table.lock();
        if table.is_none() {
            let most = (reservation / RESERVATION_BYTES_AN_ENTRY).min(MOST);
            *table = Some(Table::new(kernel, most).map_err(AddError::Kernel)?);
            self.is_in_use.store(true, Ordering::Relaxed);
        }
        let added = self.change(table, |table| table.add(object, tag, is_old));
        let (number, generation) = added.unwrap_or_else(|| unreachable!("there is a table"))?;
        Ok(u64::from(generation) << 32 | u64::from(number))
    }

    /// Cancels a registration; returns its tag.
    pub(crate) fn cancel(&self, number: u64) -> Result<usize, CancelError> {
        let entry = (number as u32, (number >> 32) as u32);
        self.change(self.table.lock(), |table| table.cancel(entry)).unwrap_or(Err(CancelError::NoEntry))
    }

    /// Takes the tag that has waited longest.
    pub(crate) fn next(&self) -> Option<usize> {
        // Most looks find nothing.
        if self.queued.load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.change(self.table.lock(), Table::next)?
    }

    /// Whether objects are registered.
    #[inline(always)]
    pub(crate) fn are_some(&self) -> bool {
        self.registered.load(Ordering::Relaxed) != 0
    }

    /// Whether an object is registered.
    pub(crate) fn has(&self, object: usize) -> bool {
        self.are_some() && self.table.lock().as_ref().is_some_and(|table| table.has(object))
    }

    /// Queues the entries of objects that are dead; how many were looked at. `prefetch` is told of objects that are looked at soon.
    pub(crate) fn settle(
        &self,
        pass: Pass,
        is_dead: impl FnMut(usize) -> bool,
        prefetch: impl Fn(usize),
    ) -> usize {
        // Of a table without registrations cancelled ones may be left.
        if !self.is_in_use.load(Ordering::Relaxed) {
            return 0;
        }
        let (looked, queued) = self
            .change(self.table.lock(), |table| {
                let before = table.counts().1;
                (table.settle_all(pass, is_dead, prefetch), table.counts().1 - before)
            })
            .unwrap_or_default();
        self.ever_queued.fetch_add(queued as u64, Ordering::Relaxed);
        looked
    }

    /// Queues all entries.
    pub(crate) fn settle_at_end(&self) {
        self.settle(Pass::All, |_| true, |_| ());
    }
}

impl Mapped for Finalizers {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        if let Some(table) = self.table.lock().as_ref() {
            table.for_each_mapping(f);
        }
    }
}
