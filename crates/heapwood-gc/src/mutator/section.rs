//! Sections: what a thread does in a heap that is not one store, such as a refill, page work, or a change of its own record.
//! No signal stops a thread in one; it stops as it comes out. Sections nest, are short, and hold no user code and no wait but for locks that are held
//! in sections only. So who waits for a section to end waits for work alone.
//!
//! A process that forks waits until no thread is in a section, and lets none begin (`fork`): the child finds each heap between
//! two of them. For that a section is begun by two stores' worth of plain code here and a barrier on all processors there
//! (membarrier): either who forks sees the section, or the section sees that the process forks.
//!
//! Invariant: the count is the thread's own to write; a handler that interrupts the thread leaves it as it found it.

use core::sync::atomic::{AtomicU32, Ordering, compiler_fence};
use heapwood_os::futex;

/// How deep a thread is in sections, and whether it may begin one.
pub(crate) struct Sections {
    depth: AtomicU32,
    /// Not 0 while the process forks.
    forking: &'static AtomicU32,
}

/// The thread is not stopped by a signal as long as this exists.
pub(crate) struct Deferred<'s>(&'s Sections);

impl Drop for Deferred<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.step(u32::MAX);
    }
}

impl Sections {
    pub(super) const fn new(forking: &'static AtomicU32) -> Self {
        Sections { depth: AtomicU32::new(0), forking }
    }

    #[inline(always)]
    fn step(&self, by: u32) {
        compiler_fence(Ordering::SeqCst);
        self.depth.store(self.depth.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
    }

    /// Whether the thread is in one; for others, whether it was a moment ago.
    #[inline(always)]
    pub(crate) fn is_inside(&self) -> bool {
        self.depth.load(Ordering::Relaxed) != 0
    }

    /// Whether the process forks.
    #[inline(always)]
    pub(crate) fn is_forking(&self) -> bool {
        self.forking.load(Ordering::Relaxed) != 0
    }

    /// A few stores that belong together. Whoever forks does not wait for them, nor they for it: in the child they may have been
    /// cut short, unless the thread is the one that forks.
    #[inline(always)]
    pub(super) fn defer(&self) -> Deferred<'_> {
        self.step(1);
        Deferred(self)
    }

    /// One that was begun and forgotten.
    pub(super) fn forgotten(&self) -> Deferred<'_> {
        Deferred(self)
    }

    /// Begins a section.
    #[inline(always)]
    pub(crate) fn begin(&self) -> Deferred<'_> {
        let inside = self.defer();
        if self.is_forking() && self.depth.load(Ordering::Relaxed) == 1 {
            drop(inside);
            return self.begin_after_fork();
        }
        inside
    }

    #[cold]
    fn begin_after_fork(&self) -> Deferred<'_> {
        loop {
            self.wait_for_fork();
            let inside = self.defer();
            if !self.is_forking() {
                return inside;
            }
        }
    }

    /// Waits until the process has forked.
    pub(crate) fn wait_for_fork(&self) {
        loop {
            match self.forking.load(Ordering::Acquire) {
                0 => return,
                number => futex::wait(self.forking, number),
            }
        }
    }
}
