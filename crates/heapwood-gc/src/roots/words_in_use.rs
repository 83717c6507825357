//! The words in use of a stack. Invariant: of a stack without a thread, these are the words from where it was left; of
//! a stack whose thread is stopped, those from where it was stopped; while its thread runs, nobody asks.

use core::cell::Cell;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The lowest word in use of one stack.
#[derive(Debug)]
pub(super) struct WordsInUse {
    /// The lowest word in use when it was left.
    left_at: Cell<usize>,
    /// The lowest word in use when its thread was stopped; 0 while it runs, or if no thread is on it.
    stopped_at: AtomicUsize,
}

impl WordsInUse {
    /// For a stack with this end, without words in use.
    pub(super) const fn none(end: usize) -> Self {
        WordsInUse { left_at: Cell::new(end), stopped_at: AtomicUsize::new(0) }
    }

    /// Its thread leaves it, and will return to it here.
    pub(super) fn suspend_at(&self, lowest: usize) {
        self.left_at.set(lowest);
    }

    /// Its thread is stopped on it.
    pub(super) fn stop_at(&self, lowest: usize) {
        self.stopped_at.store(lowest, Ordering::Relaxed);
    }

    /// The thread that was stopped here goes on. If another has been stopped on the stack meanwhile, this changes
    /// nothing.
    pub(super) fn go_on_from(&self, lowest: usize) {
        let _ = self.stopped_at.compare_exchange(lowest, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Makes all words unused, up to its end.
    pub(super) fn clear(&self, end: usize) {
        self.left_at.set(end);
        self.stopped_at.store(0, Ordering::Relaxed);
    }

    /// Where its thread is stopped on it.
    pub(super) fn stopped_at(&self) -> Option<usize> {
        Some(self.stopped_at.load(Ordering::Relaxed)).filter(|&at| at != 0)
    }

    /// The lowest word in use.
    pub(super) fn lowest(&self) -> usize {
        match self.stopped_at.load(Ordering::Relaxed) {
            0 => self.left_at.get(),
            at => at,
        }
    }
}
