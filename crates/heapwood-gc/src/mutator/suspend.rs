//! A thread that the program has suspended: it stays stopped when the others go on, until the program lets it go on, too. To the stop
//! protocol it is a thread that was asked to stop and not told to go on: so collections find it stopped, wherever that was, and its
//! words in use are known. libgc's GC_suspend_thread does the same. Invariant: it has no lock that a collection or a resumption
//! takes, since it was suspended in a stop that took them all.

use super::Mutator;
use super::registry::Member;

impl Mutator {
    /// Whether it stays stopped. The caller holds the registry's lock.
    pub(crate) fn is_suspended(&self) -> bool {
        self.thread.suspended().get()
    }

    /// Has it stay stopped when the others go on. The caller has stopped all.
    pub(crate) fn suspend(&self) {
        self.thread.suspended().set(true);
    }

    /// Lets it go on, if it was suspended. The caller holds the registry's lock, and no collection is under way.
    pub(crate) fn unsuspend(&self) {
        if self.thread.suspended().replace(false) {
            self.gate().resume();
        }
    }
}
