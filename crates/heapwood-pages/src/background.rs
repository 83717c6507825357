//! A background scavenger's day: a slice of work, a rest that keeps it to its share of one CPU, and so on until nothing is
//! left to do. Threads, clocks and the kernel are its owner's, so that it runs under any clock:
//!
//! ```text
//! slice --(its time is up)--> rest --> slice ..
//!       \-(nothing to release)--> rest --> its owner waits for a wakeup --> slice ..
//! ```
//!
//! Invariant: whatever the clock does, it rests what the pacer says before it works again.

use crate::pacer::Pacer;
use core::time::Duration;

/// The longest it works between two rests: so long at most does it delay others that want its locks' cache lines.
pub const WORK_SLICE: Duration = Duration::from_millis(1);

/// The times a scavenger goes by.
pub trait Clock {
    /// CPU time that this thread has used.
    fn cpu(&self) -> Duration;
    /// Time that has passed.
    fn now(&self) -> Duration;
    /// Sleeps for at most so long.
    fn sleep(&self, at_most: Duration);
}

/// A scavenger between two slices of work.
#[derive(Clone, Copy, Debug)]
pub struct Background {
    pacer: Pacer,
}

impl Background {
    /// For a share of one in `parts` of a CPU.
    pub const fn new(parts: u32) -> Self {
        Background { pacer: Pacer::new(parts) }
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
        let _ = self.pacer.worked(took);
        more
    }

    /// Rests what is owed; ends early if `is_stopped` says so.
    pub fn rest(&mut self, clock: &impl Clock, is_stopped: impl Fn() -> bool) {
        while self.pacer.owed() > Duration::ZERO && !is_stopped() {
            let began = clock.now();
            clock.sleep(self.pacer.owed());
            self.pacer.rested(clock.now().saturating_sub(began));
        }
    }
}
