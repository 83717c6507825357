//! Background work, such as a scavenger's: a slice of it, a rest that keeps it to its share of one CPU, and so on until nothing is
//! left to do. Threads, clocks and the kernel are its owner's, so that it runs under any clock:
//!
//! ```text
//! slice --(its time is up)--> rest --> slice ..
//!       \-(nothing to release)--> rest --> its owner waits for a wakeup --> slice ..
//! ```
//!
//! Invariant: whatever the clock does, it rests what the duty cycle says before it works again.

use crate::duty_cycle::DutyCycle;
use core::time::Duration;

/// The longest it works between two rests: so long at most does it delay others that want its locks' cache lines.
pub const WORK_SLICE: Duration = Duration::from_millis(1);

/// The times that background work goes by.
pub trait Clock {
    /// CPU time that this thread has used.
    fn cpu(&self) -> Duration;
    /// Time that has passed.
    fn now(&self) -> Duration;
    /// Sleeps for at most so long.
    fn sleep(&self, at_most: Duration);
}

/// Background work between two slices.
#[derive(Clone, Copy, Debug)]
pub struct PacedWork {
    cycle: DutyCycle,
    /// When it last worked, or was last asked what it owes.
    since: Duration,
}

impl PacedWork {
    /// For a share of one in `parts` of a CPU.
    pub const fn new(parts: u32) -> Self {
        PacedWork { cycle: DutyCycle::new(parts), since: Duration::ZERO }
    }

    /// Calls `step`, which releases a run and says whether it has, until it has not or the slice's time is up; whether
    /// there may be more.
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

    /// What is still to be rested, for an owner that has other things to do meanwhile.
    pub fn owed(&mut self, clock: &impl Clock) -> Duration {
        let now = clock.now();
        self.cycle.rested(now.saturating_sub(self.since));
        self.since = now;
        self.cycle.owed()
    }

    /// Rests what is owed; ends early if `is_stopped` says so.
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
