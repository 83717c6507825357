//! Finalisers in a pause: the table under its lock, from the first look at entries to the last that is queued. Invariant: when it
//! ends no entry is between two lists.

use super::counts::Counts;
use super::table::Table;
use crate::lock_order::FINALIZERS;
use core::ops::Deref;
use heapwood_os::LockGuard;

/// The finalisers of a stopped heap.
pub(crate) struct FinalizersInPause<'f> {
    counts: &'f Counts,
    guard: LockGuard<'f, Option<Table>, FINALIZERS>,
    queued: usize,
}

impl<'f> FinalizersInPause<'f> {
    pub(super) fn new(counts: &'f Counts, guard: LockGuard<'f, Option<Table>, FINALIZERS>) -> Self {
        let queued = guard.as_ref().map_or(0, |table| table.counts().1);
        FinalizersInPause { counts, guard, queued }
    }

    /// A full collection has found so many circles of those.
    pub(crate) fn set_circles(&self, circles: usize) {
        self.counts.set_circles(circles);
    }
}

impl Deref for FinalizersInPause<'_> {
    type Target = Table;

    fn deref(&self) -> &Table {
        self.guard.as_ref().unwrap_or_else(|| unreachable!("a table in use stays"))
    }
}

impl Drop for FinalizersInPause<'_> {
    fn drop(&mut self) {
        let queued = Table::counts(self).1 - self.queued;
        self.counts.copy(self, queued);
    }
}
