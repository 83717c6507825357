//! How long background work (the scavenger's, the sweeper's) rests, so that it takes no more than its share of one CPU. It
//! keeps account: work of a nanosecond owes N of rest, rest that was really taken pays, and what is owed is slept
//! next. So neither the cost of a release nor the scheduler's delays have to be guessed, as in the self-paced scavenger
//! of the Go page allocator proposal, whose moving average this replaces. Invariant: over any time the share is kept,
//! up to one slice of work.
//!
//! The clock may lie (a machine that slept, a debugger). Both measurements are bounded, so that a jump neither makes
//! the work rest for hours nor lets it go on for hours without rest.

use core::time::Duration;

/// The longest that one slice of work counts for.
const LONGEST_WORK: Duration = Duration::from_millis(100);

/// The account of one kind of work.
#[derive(Clone, Copy, Debug)]
pub struct DutyCycle {
    /// Rest owed for each part of work.
    rest_per_work: u32,
    owed: Duration,
}

impl DutyCycle {
    /// For a share of one in `parts` of a CPU.
    pub const fn new(parts: u32) -> Self {
        assert!(parts >= 2, "a share of all is no share");
        DutyCycle { rest_per_work: parts - 1, owed: Duration::ZERO }
    }

    /// Work took so long; returns how long to rest now.
    #[must_use]
    pub fn worked(&mut self, took: Duration) -> Duration {
        self.owed = self.owed.saturating_add(took.min(LONGEST_WORK) * self.rest_per_work);
        self.owed
    }

    /// Of a rest that was asked for, so much was really taken. More than was owed pays nothing in advance.
    pub fn rested(&mut self, took: Duration) {
        self.owed = self.owed.saturating_sub(took);
    }

    /// What is still owed.
    pub fn owed(&self) -> Duration {
        self.owed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// The share of the time worked, by a clock under which rests take `late` times as long as asked, and at most `cut`.
    fn share(late: f64, cut: Duration, work: impl Fn(u32) -> Duration) -> f64 {
        let (mut cycle, mut worked, mut all) = (DutyCycle::new(100), 0.0, 0.0);
        for slice in 0..1000 {
            let took = work(slice);
            let mut rest = cycle.worked(took);
            worked += took.as_secs_f64();
            all += took.as_secs_f64();
            // Cut short again and again, it takes what is left.
            while rest > Duration::ZERO {
                let took = rest.mul_f64(late).min(cut);
                cycle.rested(took);
                all += took.as_secs_f64();
                rest = cycle.owed();
            }
        }
        worked / all
    }

    #[test]
    fn the_share_is_kept_whatever_work_costs() {
        for work in [MS / 1000, MS, MS * 50] {
            let share = share(1.0, Duration::MAX, |_| work);
            assert!((0.0099..=0.0101).contains(&share), "{share}");
        }
        let uneven = share(1.0, Duration::MAX, |slice| MS * (slice % 7) + MS / 100);
        assert!((0.0099..=0.0101).contains(&uneven), "{uneven}");
    }

    #[test]
    fn a_late_or_early_wake_up_never_makes_it_more() {
        for (late, cut) in [(1.5, Duration::MAX), (10.0, Duration::MAX), (1.0, MS), (1.0, 7 * MS)] {
            let share = share(late, cut, |_| MS);
            assert!(share <= 0.0101 && share > 0.0005, "late {late} cut {cut:?}: {share}");
        }
    }

    #[test]
    fn a_clock_that_jumps_is_bounded_both_ways() {
        let mut cycle = DutyCycle::new(100);
        // The machine slept for a day while the scavenger worked.
        assert!(cycle.worked(Duration::from_secs(86_400)) < Duration::from_secs(10));
        // And for another while it rested: nothing is paid in advance.
        cycle.rested(Duration::from_secs(86_400));
        assert_eq!(cycle.owed(), Duration::ZERO);
        assert_eq!(cycle.worked(MS), 99 * MS);
        // A clock that stands still pays nothing, and what is owed does not overflow.
        cycle.rested(Duration::ZERO);
        for _ in 0..1000 {
            let _ = cycle.worked(Duration::MAX);
        }
        assert!(cycle.owed() < Duration::from_secs(100_000));
    }
}
