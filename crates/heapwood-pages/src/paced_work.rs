//! Paced background work, such as scavenging: a slice of work, then a rest that keeps it to its share of one CPU, and
//! so on until nothing is left to do. The owner has the thread, the clock and the kernel, so it runs under any clock:
//!
//! ```text
//! slice --(time is up)--> rest --> slice ..
//!       \-(nothing to do)--> rest --> the owner waits for a wakeup --> slice ..
//! ```
//!
//! Each nanosecond of work owes N nanoseconds of rest, actual rest is subtracted, and the rest of the debt is slept next.
//! So neither the cost of a release nor the scheduler's delays are estimated; the self-paced scavenger of the Go page
//! allocator proposal uses a moving average instead. Clocks may jump (a suspended machine, a debugger): both measurements
//! are bounded, so that a jump causes neither hours of rest nor hours of uninterrupted work. Invariant: over any period the
//! work keeps to its share, up to one slice.

use core::time::Duration;

/// The longest slice, which bounds the delay of other threads that need the same locks and cache lines.
pub const WORK_SLICE: Duration = Duration::from_millis(1);
/// The longest time that one slice counts for.
const LONGEST_WORK: Duration = Duration::from_millis(100);

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
    /// Rest for each unit of work.
    rest_per_work: u32,
    /// The rest that is due.
    owed: Duration,
    /// The time of the last work or rest.
    since: Duration,
}

impl PacedWork {
    /// Work that takes one in `parts` of a CPU.
    pub const fn new(parts: u32) -> Self {
        assert!(parts >= 2, "a share of all is no share");
        PacedWork { rest_per_work: parts - 1, owed: Duration::ZERO, since: Duration::ZERO }
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
        self.owed = self.owed.saturating_add(took.min(LONGEST_WORK) * self.rest_per_work);
        self.since = clock.now();
        more
    }

    /// The remaining rest, for an owner that does other things meanwhile. Rest beyond the debt earns no credit.
    pub fn owed(&mut self, clock: &impl Clock) -> Duration {
        let now = clock.now();
        self.owed = self.owed.saturating_sub(now.saturating_sub(self.since));
        self.since = now;
        self.owed
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
