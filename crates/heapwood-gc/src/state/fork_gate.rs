//! The fork gate of a heap: a fork waits for slices of work of the library's own threads, and of threads that collect.
//! Each slice is short, and between two slices the heap is whole: so a child finds it. A fork may come during a full
//! marking, however long that takes: a child can discard the marking's writes (`process/fork.rs`).
//!
//! Invariant: no slice begins during a fork, and the fork goes on when no slice is active. Both sides write their word
//! and then read the other's, sequentially consistently.

use core::sync::atomic::{AtomicU32, Ordering};
use heapwood_os::threads::futex;

/// A stop holds the registry's lock.
pub(crate) const REGISTRY: u32 = 1;
/// It holds the roots' locks, too.
pub(crate) const ROOTS: u32 = 2;

/// The gate of one heap.
pub(crate) struct ForkGate {
    /// Active slices.
    slices: AtomicU32,
    /// The locks that a collection holds between two slices. Changes in a slice.
    held: AtomicU32,
    /// Not 0 while the process forks.
    forking: &'static AtomicU32,
}

/// A slice of work. While it exists the process does not fork.
pub(crate) struct NoFork<'g>(&'g ForkGate);

impl Drop for NoFork<'_> {
    fn drop(&mut self) {
        self.0.slices.fetch_sub(1, Ordering::SeqCst);
    }
}

impl ForkGate {
    pub(super) fn new(forking: &'static AtomicU32) -> Self {
        ForkGate { slices: AtomicU32::new(0), held: AtomicU32::new(0), forking }
    }

    /// Calls `f` in a slice of work.
    pub(crate) fn without_fork<R>(&self, f: impl FnOnce() -> R) -> R {
        let _no_fork = self.no_fork();
        f()
    }

    /// Begins a slice of work, after an active fork.
    pub(crate) fn no_fork(&self) -> NoFork<'_> {
        loop {
            self.slices.fetch_add(1, Ordering::SeqCst);
            let slice = NoFork(self);
            let forking = self.forking.load(Ordering::SeqCst);
            if forking == 0 {
                return slice;
            }
            drop(slice);
            futex::wait(self.forking, forking);
        }
    }

    /// Sets the locks that the collection holds from now on; called in a slice.
    pub(crate) fn set_held(&self, held: u32) {
        self.held.store(held, Ordering::Relaxed);
    }

    /// The locks that a collection holds; exact while no slice is active and none can begin.
    pub(crate) fn held(&self) -> u32 {
        self.held.load(Ordering::Relaxed)
    }

    /// Whether the process forks, or wants to: a slice that could end later ends now.
    #[inline]
    pub(crate) fn is_forking(&self) -> bool {
        self.forking.load(Ordering::Relaxed) != 0
    }

    /// Whether slices are active, for the forking thread.
    pub(crate) fn has_slices(&self) -> bool {
        self.slices.load(Ordering::SeqCst) != 0
    }

    /// In a forked child: no collection is active.
    pub(crate) fn forget(&self) {
        self.slices.store(0, Ordering::Relaxed);
        self.held.store(0, Ordering::Relaxed);
    }
}
