//! No-preempt regions: changes of a heap by more than one store, such as a refill, page work, or a change of the
//! thread's own record. No signal stops a thread in a region; the thread stops when it leaves. Regions nest, are short,
//! and run no user code. In a region a thread waits only for locks that are held in regions only, so a thread that
//! waits for a region to end waits only for work. (Go's `m.locks` and HotSpot's `NoSafepointVerifier` mark such
//! regions.)
//!
//! A fork waits until no thread is in a region, and lets none begin (`fork`): so the child finds each heap between two
//! regions. A thread begins a region with a plain store and a load; the forking thread issues a barrier on all
//! processors (membarrier). Either the fork sees the region, or the region sees the fork. A thread that sees the end of
//! a region sees its stores.
//!
//! Invariant: only its thread writes the count; a handler that interrupts the thread leaves the count unchanged.

use core::sync::atomic::{AtomicU32, Ordering, compiler_fence};
use heapwood_os::threads::futex;

/// The depth of a thread's no-preempt regions, and whether it may begin one.
pub(crate) struct NoPreempt {
    depth: AtomicU32,
    /// Not 0 while the process forks.
    forking: &'static AtomicU32,
}

/// A region; no signal stops the thread until it goes. Unlike [`super::interrupt::NoPreemptGuard`], it does not stop
/// the thread at its end.
pub(crate) struct Deferred<'s>(&'s NoPreempt);

impl Drop for Deferred<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.step(u32::MAX);
    }
}

impl NoPreempt {
    pub(super) const fn new(forking: &'static AtomicU32) -> Self {
        NoPreempt { depth: AtomicU32::new(0), forking }
    }

    /// The store is a release: a fork that sees the end of a region sees the region's stores. Its barrier orders only
    /// the stores before the barrier, and the region may have ended later.
    #[inline(always)]
    fn step(&self, by: u32) {
        compiler_fence(Ordering::SeqCst);
        self.depth.store(self.depth.load(Ordering::Relaxed).wrapping_add(by), Ordering::Release);
        compiler_fence(Ordering::SeqCst);
    }

    /// Whether the thread is in a region; for other threads, whether it was a moment ago.
    #[inline(always)]
    pub(crate) fn is_inside(&self) -> bool {
        self.depth.load(Ordering::Acquire) != 0
    }

    /// Whether the process forks.
    #[inline(always)]
    fn is_forking(&self) -> bool {
        self.forking.load(Ordering::Relaxed) != 0
    }

    /// Begins a region for a few stores to the thread's own record. A child has no record but that of its forking
    /// thread, so such a region may begin during a fork.
    #[inline(always)]
    pub(super) fn defer(&self) -> Deferred<'_> {
        self.step(1);
        Deferred(self)
    }

    /// A region whose guard was forgotten.
    pub(super) fn forgotten(&self) -> Deferred<'_> {
        Deferred(self)
    }

    /// Begins a region.
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
    fn wait_for_fork(&self) {
        loop {
            match self.forking.load(Ordering::Acquire) {
                0 => return,
                number => futex::wait(self.forking, number),
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use core::cell::UnsafeCell;
    use heapwood_os::threads::membarrier;

    /// The words that a region changes.
    struct Heap(UnsafeCell<[u32; 2]>);

    // SAFETY: regions write it, and the forking thread reads it while there is none.
    unsafe impl Sync for Heap {}

    impl Heap {
        fn words(&self) -> *mut [u32; 2] {
            self.0.get()
        }
    }

    /// The words by which the two threads meet are relaxed, so only the region orders its stores. Without that order
    /// ThreadSanitizer reports the read, and a weakly ordered processor may show an old value.
    #[test]
    fn the_stores_of_a_region_are_seen_when_it_has_ended() {
        if !membarrier::register() {
            println!("skipped: this kernel has no membarrier");
            return;
        }
        static FORKING: AtomicU32 = AtomicU32::new(0);
        const ROUNDS: u32 = 300;
        let (regions, heap) = (NoPreempt::new(&FORKING), Heap(UnsafeCell::new([0; 2])));
        let (began, looked) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1..=ROUNDS {
                    while looked.load(Ordering::Acquire) != round - 1 {
                        std::thread::yield_now();
                    }
                    let _inside = regions.begin();
                    began.store(round, Ordering::Relaxed);
                    // SAFETY: this thread is in a region.
                    unsafe { *heap.words() = [round, !round] };
                }
            });
            for round in 1..=ROUNDS {
                while began.load(Ordering::Relaxed) != round {
                    std::thread::yield_now();
                }
                FORKING.store(1, Ordering::SeqCst);
                assert!(membarrier::barrier());
                while regions.is_inside() {
                    core::hint::spin_loop();
                }
                // SAFETY: the thread has ended its region, and begins none before `looked` changes.
                assert_eq!(unsafe { *heap.words() }, [round, !round]);
                FORKING.store(0, Ordering::SeqCst);
                futex::wake(&FORKING, i32::MAX);
                looked.store(round, Ordering::Release);
            }
        });
    }
}
