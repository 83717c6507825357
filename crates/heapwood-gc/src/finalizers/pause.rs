//! Finalisers in a pause: the table under its lock, from the first look at entries to the last that is queued. Invariant: when it
//! ends no entry is between two lists.

use super::counts::Counts;
use super::table::{Dying, Pass, Table};
use crate::lock_order::FINALIZERS;
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

    fn table(&self) -> &Table {
        self.guard.as_ref().unwrap_or_else(|| unreachable!("a table in use stays"))
    }

    /// Takes the entries of dead objects off their lists. `prefetch` is told of objects that are looked at soon.
    pub(crate) fn look(
        &self,
        pass: Pass,
        is_dead: &mut dyn FnMut(usize) -> bool,
        prefetch: impl Fn(usize),
    ) -> Dying {
        self.table().look(pass, is_dead, prefetch)
    }

    /// Whether objects may be on a queue that the marking which has ended has not seen there.
    pub(crate) fn has_unseen_queued(&self, pass: Pass) -> bool {
        self.table().has_unseen_queued(pass)
    }

    /// Calls `f` with the address of each word that holds an object on a queue.
    pub(crate) fn for_each_queued(&self, f: impl FnMut(usize)) {
        self.table().for_each_root(false, f);
    }

    /// A marking beside the program begins.
    pub(crate) fn begin_marking(&self) {
        self.table().begin_marking();
    }

    /// Calls `f` with each dying object that may wait for others.
    pub(crate) fn for_each_ordered(&self, dying: &Dying, f: &mut dyn FnMut(usize)) {
        self.table().for_each_ordered(dying, f);
    }

    /// Lets those wait of an order that are not ready: they are registered as before.
    pub(crate) fn let_wait(&self, dying: &mut Dying, is_ready: impl FnMut(usize) -> bool) {
        self.table().let_wait(dying, is_ready);
    }

    /// A full collection has found so many circles of those.
    pub(crate) fn set_circles(&self, circles: usize) {
        self.counts.set_circles(circles);
    }

    /// Calls `f` with the address of each word that holds an object which comes.
    pub(crate) fn for_each_dying(&self, dying: &Dying, f: impl FnMut(usize)) {
        self.table().for_each_dying(dying, f);
    }

    /// Calls `f` with each dead object.
    pub(crate) fn for_each_dead(&self, dying: &Dying, f: impl FnMut(usize)) {
        self.table().for_each_dead(dying, f);
    }

    /// Queues objects that come.
    pub(crate) fn queue_objects(&self, dying: &Dying) {
        self.table().queue_objects(dying);
    }

    /// Queues data whose object is dead still.
    pub(crate) fn queue_data(&self, dying: &Dying, is_dead: &mut dyn FnMut(usize) -> bool) {
        self.table().queue_data(dying, is_dead);
    }

    /// What is wrong with the table, if anything is.
    pub(crate) fn check(&self) -> Option<&'static str> {
        self.table().check()
    }
}

impl Drop for FinalizersInPause<'_> {
    fn drop(&mut self) {
        let queued = self.table().counts().1 - self.queued;
        self.counts.copy(self.table(), queued);
    }
}
