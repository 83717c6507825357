//! How much of a stack is in use. Invariant: of a stack that no thread is on the words from where it was left on are; of one that
//! a thread is on that is stopped, those from where it was stopped; and of one whose thread runs nobody asks.

use core::cell::Cell;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The lowest word in use of one stack.
#[derive(Debug)]
pub(super) struct WordsInUse {
    /// Where it was left.
    left_at: Cell<usize>,
    /// Where its thread was stopped; 0 while it runs, or none is on it.
    stopped_at: AtomicUsize,
}

impl WordsInUse {
    /// Of a stack with this end, on which nothing is in use.
    pub(super) const fn none(end: usize) -> Self {
        WordsInUse { left_at: Cell::new(end), stopped_at: AtomicUsize::new(0) }
    }

    /// Its thread leaves it, and comes back to it here.
    pub(super) fn suspend_at(&self, lowest: usize) {
        self.left_at.set(lowest);
    }

    /// Its thread is on it, and is stopped.
    pub(super) fn stop_at(&self, lowest: usize) {
        self.stopped_at.store(lowest, Ordering::Relaxed);
    }

    /// The thread that was stopped there goes on. If another has been stopped on the stack meanwhile, this changes nothing.
    pub(super) fn go_on_from(&self, lowest: usize) {
        let _ = self.stopped_at.compare_exchange(lowest, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Nothing of it is in use any more, up to its end.
    pub(super) fn clear(&self, end: usize) {
        self.left_at.set(end);
        self.stopped_at.store(0, Ordering::Relaxed);
    }

    /// The lowest word in use.
    pub(super) fn lowest(&self) -> usize {
        match self.stopped_at.load(Ordering::Relaxed) {
            0 => self.left_at.get(),
            at => at,
        }
    }
}
