//! Copies of the counts of a table of finalisers, for those who have no need of its lock. Invariant: they are those of the table
//! whenever its lock is free.

use super::table::Table;
use super::telling::Untold;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The counts of one heap's finalisers.
#[derive(Default)]
pub(super) struct Counts {
    registered: AtomicUsize,
    queued: AtomicUsize,
    /// All that were ever queued.
    ever_queued: AtomicU64,
    /// Circles of waiting objects that the last full collection has found.
    circles: AtomicUsize,
    pub(super) untold: Untold,
}

impl Counts {
    /// Registrations.
    #[inline(always)]
    pub(super) fn registered(&self) -> usize {
        self.registered.load(Ordering::Relaxed)
    }

    /// Entries on queues.
    #[inline(always)]
    pub(super) fn queued(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }

    /// Entries that were ever queued.
    pub(super) fn ever_queued(&self) -> u64 {
        self.ever_queued.load(Ordering::Relaxed)
    }

    /// Circles of waiting objects that the last full collection has found.
    pub(super) fn circles(&self) -> usize {
        self.circles.load(Ordering::Relaxed)
    }

    /// A full collection has found so many.
    pub(super) fn set_circles(&self, circles: usize) {
        self.circles.store(circles, Ordering::Relaxed);
    }

    /// Takes those of a table, of which this many more were queued.
    pub(super) fn copy(&self, table: &Table, more_queued: usize) {
        let (registered, queued) = table.counts();
        self.registered.store(registered, Ordering::Relaxed);
        self.queued.store(queued, Ordering::Relaxed);
        if more_queued != 0 {
            self.ever_queued.fetch_add(more_queued as u64, Ordering::Relaxed);
            self.untold.note();
        }
    }
}
