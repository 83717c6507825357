//! The stop protocol, a handshake with each mutator: a collector asks, the mutator answers at its next poll.
//!
//! A mutator's gate has two words. The collector writes `poll`: 1 asks the mutator to stop. A mutator that sleeps until
//! the word is 0 makes it 2, so that the collector wakes only sleepers. Another bit is the program's, which no side waits for. The mutator's thread writes `state`:
//!
//! ```text
//!   RUNNING --poll seen, or the thread waits inside the library--> AT_SAFEPOINT --poll 0--> RUNNING
//!   RUNNING --blocking region--> IN_NATIVE --end of region, poll 0--> RUNNING
//! ```
//!
//! Invariant: from the time when the collector, after its `request`, sees a state other than RUNNING until its
//! `resume`, the mutator does not touch the heap. Both sides store their own word, pass a sequentially consistent
//! fence, and load the other's (Dekker's pattern): a mutator that goes back to RUNNING reads `poll` once more, and
//! withdraws if it is set. A thread changes the states of all its mutators around one fence (`thread_record`); this
//! file has the words of one mutator.

use core::time::Duration;
use heapwood_os::threads::sync::{Futex, Ordering, fence, wait, wait_for, wake};

/// May touch the heap.
pub(super) const RUNNING: u32 = 0;

const ASKED: u32 = 1;
/// Asked, and the mutator sleeps.
const SLEPT_ON: u32 = 2;
/// The bits of a collector.
const BY_COLLECTOR: u32 = ASKED | SLEPT_ON;
/// Beside those: the program wants this thread's next poll to take its slow path.
const BY_PROGRAM: u32 = 4;

/// Why a mutator may not touch its heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum ThreadState {
    /// Its thread waits inside the library, or collects.
    AtSafepoint = 1,
    /// Its thread is inside a blocking region, or has ended.
    InNative = 2,
}

/// Turns that a side spins before it sleeps: about ten microseconds, the length of most stops of small heaps. Waking a
/// thread takes longer.
const SPINS: u32 = if cfg!(loom) { 0 } else { 400 };

/// Spins until `done`; returns whether it soon was.
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

    /// For its thread: whether it may touch the heap. For others: whether it could a moment ago.
    #[inline(always)]
    pub(crate) fn is_running(self) -> bool {
        self.state.load(Ordering::Relaxed) == RUNNING
    }

    /// Whether it is inside a blocking region; for other threads, as `is_running`.
    pub(crate) fn is_blocked(self) -> bool {
        self.state.load(Ordering::Relaxed) == ThreadState::InNative as u32
    }

    /// Whether a collector asks it to stop.
    #[inline(always)]
    pub(crate) fn is_asked(self) -> bool {
        self.poll.load(Ordering::Acquire) & BY_COLLECTOR != 0
    }

    /// Wants the thread's next poll to take its slow path: on any thread, in a signal handler, too.
    pub(super) fn request_poll(self) {
        self.poll.fetch_or(BY_PROGRAM, Ordering::Relaxed);
    }

    /// Its thread polls.
    pub(crate) fn answer_program(self) {
        if self.poll.load(Ordering::Relaxed) & BY_PROGRAM != 0 {
            self.poll.fetch_and(!BY_PROGRAM, Ordering::Relaxed);
        }
    }

    /// Its thread: leaves the heap. A fence follows, and then `wake_collector`. The words that the collector must see
    /// were published before.
    pub(super) fn leave(self, how: ThreadState) {
        self.state.store(how as u32, Ordering::Release);
    }

    /// Its thread: wakes a collector that waits for it.
    pub(super) fn wake_collector(self) {
        if self.is_asked() {
            wake(self.state, i32::MAX);
        }
    }

    /// Its thread: enters the heap. A fence follows; if the mutator is asked to stop then, it must leave again.
    pub(super) fn enter(self) {
        self.state.store(RUNNING, Ordering::Relaxed);
    }

    /// Its thread, which has left: waits until no collector asks any more.
    pub(super) fn sleep_while_asked(self) {
        if spin_until(|| !self.is_asked()) {
            return;
        }
        loop {
            let word = self.poll.load(Ordering::Acquire);
            match word & BY_COLLECTOR {
                0 => return,
                ASKED => {
                    // If the collector no longer asks, the next turn sees that.
                    let slept_on = word & BY_PROGRAM | SLEPT_ON;
                    let _ = self.poll.compare_exchange(word, slept_on, Ordering::Relaxed, Ordering::Relaxed);
                }
                _ => wait(self.poll, word),
            }
        }
    }

    /// Collector: asks the mutator to stop.
    pub(super) fn request(self) {
        self.poll.fetch_or(ASKED, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Collector: whether the mutator has stopped, after a request.
    pub(super) fn has_stopped(self) -> bool {
        self.state.load(Ordering::Acquire) != RUNNING
    }

    /// Collector: waits until the mutator has stopped, but no longer than `at_most`; returns whether it has.
    pub(super) fn await_stopped_for(self, at_most: Duration) -> bool {
        if !at_most.is_zero() && !spin_until(|| self.has_stopped()) {
            wait_for(self.state, RUNNING, at_most);
        }
        self.has_stopped()
    }

    /// Collector: lets the mutator go on. Waking a thread is expensive, so it wakes only a sleeper.
    pub(super) fn resume(self) {
        if self.poll.fetch_and(!BY_COLLECTOR, Ordering::Release) & BY_COLLECTOR == SLEPT_ON {
            wake(self.poll, i32::MAX);
        }
    }
}
