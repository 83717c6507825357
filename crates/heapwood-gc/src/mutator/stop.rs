//! The stop protocol, a handshake with each mutator: a collector asks, the mutator answers at its next poll.
//!
//! A mutator's gate has two words. `poll` is written by the collector: 1 asks the mutator to stop; a mutator that sleeps
//! until it no longer does makes it 2, so that only those are woken. `state` is written by the mutator's thread:
//!
//! ```text
//!   RUNNING --poll seen, or the thread waits inside the library--> PARKED --poll 0--> RUNNING
//!   RUNNING --blocking region--> BLOCKED --end of region, poll 0--> RUNNING
//! ```
//!
//! Invariant: between the collector's `request` having seen a state other than RUNNING and its `resume`, the
//! mutator does not touch the heap. Both sides store their own word, pass a sequentially consistent fence, and load
//! the other's (Dekker's pattern): a mutator that goes back to RUNNING looks at `poll` once more, and withdraws. A thread
//! changes the states of all its mutators around one fence, as `thread_record` says; the words of one are here.

use core::time::Duration;
use heapwood_os::sync::{Futex, Ordering, fence, wait, wait_for, wake};

/// May touch the heap.
pub(super) const RUNNING: u32 = 0;

const ASKED: u32 = 1;
/// Asked, and the mutator sleeps meanwhile.
const SLEPT_ON: u32 = 2;

/// How a mutator that may not touch its heap has left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum ThreadState {
    /// Its thread waits inside the library, or collects.
    AtSafepoint = 1,
    /// Its thread is inside a blocking region, or has ended.
    InNative = 2,
}

/// How often a side looks again before it sleeps: some ten microseconds, which most stops of small heaps take. Waking a thread
/// takes longer.
const SPINS: u32 = if cfg!(loom) { 0 } else { 400 };

/// Whether it soon became so.
fn spin_until(done: impl Fn() -> bool) -> bool {
    for _ in 0..SPINS {
        if done() {
            return true;
        }
        core::hint::spin_loop();
    }
    done()
}

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

    /// Its thread: whether it may touch the heap. Others: whether it may have been able to a moment ago.
    #[inline(always)]
    pub(crate) fn is_running(self) -> bool {
        self.state.load(Ordering::Relaxed) == RUNNING
    }

    /// Whether it is inside a blocking region; for others, as `is_running`.
    pub(crate) fn is_blocked(self) -> bool {
        self.state.load(Ordering::Relaxed) == ThreadState::InNative as u32
    }

    /// Whether a collector asks it to stop.
    #[inline(always)]
    pub(crate) fn is_asked(self) -> bool {
        self.poll.load(Ordering::Acquire) != 0
    }

    /// Its thread: touches the heap no more. A fence follows, and then `wake_collector`. What the collector must see has
    /// been published.
    pub(super) fn leave(self, how: ThreadState) {
        self.state.store(how as u32, Ordering::Release);
    }

    /// Its thread: tells a collector that waits for it.
    pub(super) fn wake_collector(self) {
        if self.is_asked() {
            wake(self.state, i32::MAX);
        }
    }

    /// Its thread: would touch the heap again. A fence follows, and then it must not be asked to stop.
    pub(super) fn enter(self) {
        self.state.store(RUNNING, Ordering::Relaxed);
    }

    /// Its thread, which has left: waits until no collector asks any more.
    pub(super) fn sleep_while_asked(self) {
        if spin_until(|| self.poll.load(Ordering::Acquire) == 0) {
            return;
        }
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
    pub(super) fn request(self) {
        self.poll.store(ASKED, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Collector: whether the mutator, which was asked, has stopped.
    pub(super) fn has_stopped(self) -> bool {
        self.state.load(Ordering::Acquire) != RUNNING
    }

    /// Collector: waits until the mutator has stopped, for at most so long; whether it has.
    pub(super) fn await_stopped_for(self, at_most: Duration) -> bool {
        if !at_most.is_zero() && !spin_until(|| self.has_stopped()) {
            wait_for(self.state, RUNNING, at_most);
        }
        self.has_stopped()
    }

    /// Collector: lets the mutator go on. Waking threads is what costs, so none is that does not sleep.
    pub(super) fn resume(self) {
        if self.poll.swap(0, Ordering::Release) == SLEPT_ON {
            wake(self.poll, i32::MAX);
        }
    }
}
