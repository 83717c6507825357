//! The stop protocol, a handshake with each mutator: a collector asks, the mutator answers at its next poll.
//!
//! A mutator's gate has two words. `poll` is written by the collector: 1 asks the mutator to stop; a mutator that sleeps
//! until it no longer does makes it 2, so that only those are woken. `state` is written by the mutator:
//!
//! ```text
//!   RUNNING --poll seen--> PARKED --poll gone--> RUNNING
//!   RUNNING --blocking region--> BLOCKED --end of region, poll 0--> RUNNING
//! ```
//!
//! Invariant: between the collector's `request` having seen a state other than RUNNING and its `resume`, the
//! mutator does not touch the heap. Both sides store their own word, pass a sequentially consistent fence, and load
//! the other's (Dekker's pattern): a mutator that goes back to RUNNING looks at `poll` once more, and withdraws. The
//! model below runs under loom.

use core::time::Duration;
use heapwood_os::sync::{Futex, Ordering, fence, wait, wait_for, wake};

const RUNNING: u32 = 0;
const PARKED: u32 = 1;
const BLOCKED: u32 = 2;

const ASKED: u32 = 1;
/// Asked, and the mutator sleeps meanwhile.
const SLEPT_ON: u32 = 2;

/// The two words of one mutator.
#[derive(Clone, Copy)]
pub(crate) struct Gate<'a> {
    /// Not 0 while a collector wants the mutator stopped.
    poll: &'a Futex,
    /// Whether the mutator may touch the heap.
    state: &'a Futex,
}

impl<'a> Gate<'a> {
    pub(super) fn new(poll: &'a Futex, state: &'a Futex) -> Self {
        Gate { poll, state }
    }

    /// Mutator: stops until no collector asks any more. What the collector must see has been published.
    pub(crate) fn park(self) {
        self.leave(PARKED);
        self.enter(PARKED);
    }

    /// Mutator: whether it is inside a region in which it does not touch the heap.
    pub(crate) fn is_blocked(self) -> bool {
        self.state.load(Ordering::Relaxed) == BLOCKED
    }

    /// Mutator: begins a region in which it does not touch the heap. What the collector must see has been
    /// published.
    pub(crate) fn block(self) {
        self.leave(BLOCKED);
    }

    /// Mutator: ends such a region, waiting for a collector that is at work.
    pub(crate) fn unblock(self) {
        self.enter(BLOCKED);
    }

    fn leave(self, to: u32) {
        self.state.store(to, Ordering::Release);
        fence(Ordering::SeqCst);
        if self.poll.load(Ordering::Acquire) != 0 {
            wake(self.state, i32::MAX);
        }
    }

    fn enter(self, from: u32) {
        loop {
            self.sleep_while_asked();
            self.state.store(RUNNING, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            if self.poll.load(Ordering::Acquire) == 0 {
                return;
            }
            self.leave(from);
        }
    }

    fn sleep_while_asked(self) {
        loop {
            match self.poll.load(Ordering::Acquire) {
                0 => return,
                ASKED => {
                    // If the collector asks no more, that shows in the next turn.
                    let _ = self.poll.compare_exchange(ASKED, SLEPT_ON, Ordering::Relaxed, Ordering::Relaxed);
                }
                _ => wait(self.poll, SLEPT_ON),
            }
        }
    }

    /// Collector: asks the mutator to stop.
    pub(crate) fn request(self) {
        self.poll.store(ASKED, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Collector: waits until the mutator has stopped, for at most so long; whether it has.
    pub(crate) fn await_stopped_for(self, at_most: Duration) -> bool {
        if self.state.load(Ordering::Acquire) == RUNNING {
            wait_for(self.state, RUNNING, at_most);
        }
        self.state.load(Ordering::Acquire) != RUNNING
    }

    /// Collector: lets the mutator go on. Waking threads is what costs, so none is that does not sleep.
    pub(crate) fn resume(self) {
        if self.poll.swap(0, Ordering::Release) == SLEPT_ON {
            wake(self.poll, i32::MAX);
        }
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    struct World {
        poll: Futex,
        state: Futex,
        heap: UnsafeCell<u32>,
    }

    impl World {
        fn gate(&self) -> Gate<'_> {
            Gate::new(&self.poll, &self.state)
        }
    }

    fn model(mutator: fn(&World), rounds: u32) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let world =
                Arc::new(World { poll: Futex::new(0), state: Futex::new(RUNNING), heap: UnsafeCell::new(0) });
            let theirs = world.clone();
            let thread = loom::thread::spawn(move || mutator(&theirs));
            for _ in 0..rounds {
                world.gate().request();
                while !world.gate().await_stopped_for(Duration::from_secs(1)) {}
                // SAFETY: the pointer is the cell's; loom reports an access that is not the only one.
                world.heap.with_mut(|p| unsafe { *p += 1 });
                world.gate().resume();
            }
            thread.join().unwrap();
        });
    }

    fn touch(world: &World) {
        // SAFETY: as above.
        world.heap.with_mut(|p| unsafe { *p += 1 });
    }

    #[test]
    fn a_polling_mutator_never_touches_the_heap_while_stopped() {
        model(
            |w| {
                touch(w);
                if w.poll.load(Ordering::Relaxed) != 0 {
                    w.gate().park();
                }
                touch(w);
                w.gate().block();
            },
            2,
        );
    }

    #[test]
    fn a_blocking_region_is_a_stop() {
        model(
            |w| {
                touch(w);
                w.gate().block();
                w.gate().unblock();
                touch(w);
                w.gate().block();
            },
            2,
        );
    }
}
