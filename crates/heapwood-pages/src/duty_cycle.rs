//! The duty cycle of background work (scavenging, sweeping), which keeps it to a share of one CPU. Each nanosecond of
//! work owes N nanoseconds of rest, actual rest is subtracted, and the rest of the debt is slept next. So neither the
//! cost of a release nor the scheduler's delays are estimated; the self-paced scavenger of the Go page allocator
//! proposal uses a moving average instead. Invariant: over any period the work keeps to its share, up to one slice.
//!
//! Clocks may jump (a suspended machine, a debugger). Both measurements are bounded, so that a jump causes neither
//! hours of rest nor hours of uninterrupted work.

use core::time::Duration;

/// The longest time that one slice of work counts for.
const LONGEST_WORK: Duration = Duration::from_millis(100);

/// The debt of one kind of work.
#[derive(Clone, Copy, Debug)]
pub struct DutyCycle {
    /// Rest for each unit of work.
    rest_per_work: u32,
    owed: Duration,
}

impl DutyCycle {
    /// A duty cycle of one in `parts` of a CPU.
    pub const fn new(parts: u32) -> Self {
        assert!(parts >= 2, "a share of all is no share");
        DutyCycle { rest_per_work: parts - 1, owed: Duration::ZERO }
    }

    /// Adds the work of `took`; returns the rest that is due now.
    #[must_use]
    pub fn worked(&mut self, took: Duration) -> Duration {
        self.owed = self.owed.saturating_add(took.min(LONGEST_WORK) * self.rest_per_work);
        self.owed
    }

    /// Subtracts the rest that was actually taken. Rest beyond the debt earns no credit.
    pub fn rested(&mut self, took: Duration) {
        self.owed = self.owed.saturating_sub(took);
    }

    /// The remaining debt.
    pub fn owed(&self) -> Duration {
        self.owed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// The share of time worked, under a clock where rests take `late` times as long as requested, and at most `cut`.
    fn share(late: f64, cut: Duration, work: impl Fn(u32) -> Duration) -> f64 {
        let (mut cycle, mut worked, mut all) = (DutyCycle::new(100), 0.0, 0.0);
        for slice in 0..1000 {
            let took = work(slice);
            let mut rest = cycle.worked(took);
            worked += took.as_secs_f64();
            all += took.as_secs_f64();
            // If it is cut short repeatedly, the remainder is taken.
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
    fn the_share_is_kept_for_any_cost_of_work() {
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
        // The machine was suspended for a day during work.
        assert!(cycle.worked(Duration::from_secs(86_400)) < Duration::from_secs(10));
        // The machine was suspended for a day during rest: that earns no credit.
        cycle.rested(Duration::from_secs(86_400));
        assert_eq!(cycle.owed(), Duration::ZERO);
        assert_eq!(cycle.worked(MS), 99 * MS);
        // A clock that stands still subtracts nothing, and the debt does not overflow.
        cycle.rested(Duration::ZERO);
        for _ in 0..1000 {
            let _ = cycle.worked(Duration::MAX);
        }
        assert!(cycle.owed() < Duration::from_secs(100_000));
    }
}
