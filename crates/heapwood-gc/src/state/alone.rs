//! Whether a heap has had one mutator at a time so far. Then no other thread frees or reuses a cell at the same time, and a
//! free needs no read-modify-write, which takes longer than all else that it does. (glibc's malloc asks the same of the
//! process.) The second mutator ends this for good: it says so, has all threads pass a fence, and waits until the other has
//! left the region of a free that may have asked before.
//!
//! Invariant: once [`Alone::end`] has returned, every free that asked before it has ended, and the caller sees what that wrote.

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use heapwood_os::threads::{cancellation::sleep, membarrier};
use std::thread::yield_now;

const ALONE: u32 = 0;
/// A second mutator waits for the first.
const ENDING: u32 = 1;
const OVER: u32 = 2;

/// The state of a heap.
pub(crate) struct Alone(AtomicU32);

impl Alone {
    /// The state of a heap that is being made.
    pub(crate) fn new() -> Self {
        Alone(AtomicU32::new(OVER))
    }

    /// Begins it, before a mutator is attached. Without a membarrier mutators are never taken to be alone.
    pub(crate) fn begin(&self, has_membarrier: bool) {
        if has_membarrier {
            self.0.store(ALONE, Ordering::Relaxed);
        }
    }

    /// Whether the heap has one mutator; asked in a no-preempt region that lasts until the answer was used.
    #[inline(always)]
    pub(crate) fn is(&self) -> bool {
        self.0.load(Ordering::Relaxed) == ALONE
    }

    /// Ends it, for a second mutator that was attached just now. `is_inside` tells whether another mutator's thread is in a
    /// no-preempt region.
    pub(crate) fn end(&self, mut is_inside: impl FnMut() -> bool) {
        if self.0.load(Ordering::Acquire) == OVER {
            return;
        }
        self.0.fetch_max(ENDING, Ordering::SeqCst);
        if !membarrier::barrier() {
            // It did when the heap was made. A store that other processors do not see yet becomes visible after far less
            // time than this.
            sleep(Duration::from_millis(1));
        }
        while is_inside() {
            yield_now();
        }
        self.0.fetch_max(OVER, Ordering::AcqRel);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicU64, compiler_fence};

    /// A first thread sets a bit of a word by a load and a store, as long as it is alone. A second one ends that between the two,
    /// and sets another bit: it waits for the store. (`membarrier` has a test of the fence.)
    #[test]
    fn a_second_thread_waits_for_what_the_first_does_alone() {
        const ROUNDS: u32 = 50;
        let mut waited = 0;
        for round in 0..ROUNDS {
            let (alone, word) = (Alone::new(), AtomicU64::new(0));
            alone.begin(membarrier::register());
            let (inside, began, looked) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    // As a no-preempt region begins and ends.
                    inside.store(1, Ordering::Relaxed);
                    compiler_fence(Ordering::SeqCst);
                    let (is_alone, before) = (alone.is(), word.load(Ordering::Relaxed));
                    began.store(1, Ordering::Relaxed);
                    // The other looks as long as this is inside.
                    while is_alone && looked.load(Ordering::Relaxed) == 0 {
                        yield_now();
                    }
                    if is_alone {
                        word.store(before | 1, Ordering::Relaxed);
                    } else {
                        word.fetch_or(1, Ordering::Relaxed);
                    }
                    inside.store(0, Ordering::Release);
                });
                while began.load(Ordering::Relaxed) == 0 {
                    yield_now();
                }
                alone.end(|| {
                    let is_inside = inside.load(Ordering::Acquire) != 0;
                    waited += u32::from(is_inside);
                    looked.store(1, Ordering::Relaxed);
                    is_inside
                });
                assert!(!alone.is());
                word.fetch_or(2, Ordering::Relaxed);
            });
            assert_eq!(word.load(Ordering::Relaxed), 3, "round {round}");
        }
        assert!(waited > 0 || !membarrier::register());
    }
}
