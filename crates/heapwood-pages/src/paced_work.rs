//! Paced background work, such as scavenging: a slice of work, then a rest that keeps it to its share of one CPU, and
//! so on until nothing is left to do. The owner has the thread, the clock and the kernel, so it runs under any clock:
//!
//! ```text
//! slice --(time is up)--> rest --> slice ..
//!       \-(nothing to do)--> rest --> the owner waits for a wakeup --> slice ..
//! ```
//!
//! Invariant: whatever the clock does, the rest that the duty cycle demands precedes the next slice.

use crate::duty_cycle::DutyCycle;
use core::time::Duration;

/// The longest slice, which bounds the delay of other threads that need the same locks and cache lines.
pub const WORK_SLICE: Duration = Duration::from_millis(1);

/// The clock of background work.
pub trait Clock {
    /// CPU time of this thread.
    fn cpu(&self) -> Duration;
    /// Monotonic time.
    fn now(&self) -> Duration;
    /// Sleeps for at most this long.
    fn sleep(&self, at_most: Duration);
}

/// The state of background work between two slices.
#[derive(Clone, Copy, Debug)]
pub struct PacedWork {
    cycle: DutyCycle,
    /// The time of the last work or rest.
    since: Duration,
}

impl PacedWork {
    /// Work that takes one in `parts` of a CPU.
    pub const fn new(parts: u32) -> Self {
        PacedWork { cycle: DutyCycle::new(parts), since: Duration::ZERO }
    }

    /// Calls `step`, which does some work and returns whether there was any, until there is none or the slice's time
    /// is up. Returns whether there may be more.
    pub fn work_slice(&mut self, clock: &impl Clock, mut step: impl FnMut() -> bool) -> bool {
        let began = clock.cpu();
        let (mut took, mut more) = (Duration::ZERO, true);
        while more && took < WORK_SLICE {
            more = step();
            took = clock.cpu().saturating_sub(began);
        }
        let _ = self.cycle.worked(took);
        self.since = clock.now();
        more
    }

    /// The remaining rest, for an owner that does other things meanwhile.
    pub fn owed(&mut self, clock: &impl Clock) -> Duration {
        let now = clock.now();
        self.cycle.rested(now.saturating_sub(self.since));
        self.since = now;
        self.cycle.owed()
    }

    /// Rests for the time that is due, or until `is_stopped`.
    pub fn rest(&mut self, clock: &impl Clock, is_stopped: impl Fn() -> bool) {
        loop {
            let owed = self.owed(clock);
            if owed.is_zero() || is_stopped() {
                return;
            }
            clock.sleep(owed);
        }
    }
}
