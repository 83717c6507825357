//! What a process that forks waits for in a heap: work of the library's own threads, and of threads that collect, during which
//! no fork may come. Each such slice of work is short, and between two the heap is whole: so a child finds it. During a full
//! marking a fork may come, however long the marking takes: what it writes can be forgotten (`fork.rs`).
//!
//! Invariant: while the process forks no slice begins; the fork goes on when none is under way. Both sides write their word and
//! then read the other's, sequentially consistently.

use core::sync::atomic::{AtomicU32, Ordering};
use heapwood_os::futex;

/// The registry's lock is held for a stop.
pub(crate) const REGISTRY: u32 = 1;
/// Those of the roots are, too.
pub(crate) const ROOTS: u32 = 2;

/// The gate of one heap.
pub(crate) struct ForkGate {
    /// Slices under way.
    slices: AtomicU32,
    /// What a collection holds between two slices. Changes in a slice.
    held: AtomicU32,
    /// Not 0 while the process forks.
    forking: &'static AtomicU32,
}

/// As long as this exists the process does not fork.
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

    /// Calls `f`, during which no fork comes.
    pub(crate) fn without_fork<R>(&self, f: impl FnOnce() -> R) -> R {
        let _no_fork = self.no_fork();
        f()
    }

    /// Begins a slice of work, once a fork under way has ended.
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

    /// Says, during a slice, what the collection holds from now on.
    pub(crate) fn set_held(&self, held: u32) {
        self.held.store(held, Ordering::Relaxed);
    }

    /// What a collection holds; exact while no slice is under way and none can begin.
    pub(crate) fn held(&self) -> u32 {
        self.held.load(Ordering::Relaxed)
    }

    /// Whether slices are under way, for the thread that forks.
    pub(crate) fn has_slices(&self) -> bool {
        self.slices.load(Ordering::SeqCst) != 0
    }

    /// In a forked child: no collection is under way.
    pub(crate) fn forget(&self) {
        self.slices.store(0, Ordering::Relaxed);
        self.held.store(0, Ordering::Relaxed);
    }
}
