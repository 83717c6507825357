//! NoPreempt: what a thread does in a heap that is not one store, such as a refill, page work, or a change of its own record.
//! No signal stops a thread in one; it stops as it comes out. NoPreempt nest, are short, and hold no user code and no wait but for
//! locks that are held in sections only. So who waits for a section to end waits for work alone.
//!
//! A process that forks waits until no thread is in a section, and lets none begin (`fork`): the child finds each heap between
//! two of them. For that a section is begun by a plain store and a look here, and a barrier on all processors there
//! (membarrier): either the thread that forks sees the section, or the section sees that the process forks. What was done in a section is
//! seen by who sees that it has ended.
//!
//! Invariant: the count is the thread's own to write; a handler that interrupts the thread leaves it as it found it.

use core::sync::atomic::{AtomicU32, Ordering, compiler_fence};
use heapwood_os::futex;

/// How deep a thread is in sections, and whether it may begin one.
pub(crate) struct NoPreempt {
    depth: AtomicU32,
    /// Not 0 while the process forks.
    forking: &'static AtomicU32,
}

/// The thread is not stopped by a signal as long as this exists.
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

    /// Released: the thread that forks and sees that a section has ended sees what was done in it. The barrier orders what came before it,
    /// and the section may have ended after that.
    #[inline(always)]
    fn step(&self, by: u32) {
        compiler_fence(Ordering::SeqCst);
        self.depth.store(self.depth.load(Ordering::Relaxed).wrapping_add(by), Ordering::Release);
        compiler_fence(Ordering::SeqCst);
    }

    /// Whether the thread is in one; for others, whether it was a moment ago.
    #[inline(always)]
    pub(crate) fn is_inside(&self) -> bool {
        self.depth.load(Ordering::Acquire) != 0
    }

    /// Whether the process forks.
    #[inline(always)]
    fn is_forking(&self) -> bool {
        self.forking.load(Ordering::Relaxed) != 0
    }

    /// A few stores that belong together, to the thread's own record, which no child has but that of the thread that forks. So they
    /// are begun while the process forks, too.
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
    use heapwood_os::membarrier;

    /// What a section changes.
    struct Heap(UnsafeCell<[u32; 2]>);

    // SAFETY: sections write it, and the thread that forks reads it while there is none.
    unsafe impl Sync for Heap {}

    impl Heap {
        fn words(&self) -> *mut [u32; 2] {
            self.0.get()
        }
    }

    /// The words by which the two threads meet are relaxed, so that nothing but the section orders what is written in it:
    /// ThreadSanitizer reports the read if nothing does, and on a processor that orders stores weakly an old value may be seen.
    #[test]
    fn what_was_done_in_a_section_is_seen_when_it_has_ended() {
        if !membarrier::register() {
            println!("skipped: this kernel has no membarrier");
            return;
        }
        static FORKING: AtomicU32 = AtomicU32::new(0);
        const ROUNDS: u32 = 2000;
        let (sections, heap) = (NoPreempt::new(&FORKING), Heap(UnsafeCell::new([0; 2])));
        let (began, looked) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1..=ROUNDS {
                    while looked.load(Ordering::Acquire) != round - 1 {
                        std::thread::yield_now();
                    }
                    let _inside = sections.begin();
                    began.store(round, Ordering::Relaxed);
                    // SAFETY: this thread is in a section.
                    unsafe { *heap.words() = [round, !round] };
                }
            });
            for round in 1..=ROUNDS {
                while began.load(Ordering::Relaxed) != round {
                    std::thread::yield_now();
                }
                FORKING.store(1, Ordering::SeqCst);
                assert!(membarrier::barrier());
                while sections.is_inside() {
                    core::hint::spin_loop();
                }
                // SAFETY: the thread has ended its section, and begins none before it is told.
                assert_eq!(unsafe { *heap.words() }, [round, !round]);
                FORKING.store(0, Ordering::SeqCst);
                futex::wake(&FORKING, i32::MAX);
                looked.store(round, Ordering::Release);
            }
        });
    }
}
