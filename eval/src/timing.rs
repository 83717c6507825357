//! The timing of all measurements. A round does everything that is compared once, so that a slow moment of the machine
//! affects all alike. The first round only warms up. Each kind of work is timed as a stretch, or as a pass of stretches
//! if each needs a prepared state. The cost of reading the clock is subtracted. Invariant: a time that is divided by
//! operations is long enough that the clock does not matter. Every stretch does the same amount of work; otherwise the
//! report is an error.

use heapwood_report::{CommandError, Progress, Spread};
use std::time::{Duration, Instant};

/// Runs a round that warms up, and then `rounds` measured ones. `round` gets the kind. Each round advances the bar by
/// `steps`.
pub(crate) fn rounds(
    runs: u32,
    bar: &Progress,
    steps: usize,
    mut round: impl FnMut(bool) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    bar.expect((u64::from(runs) + 1) * steps as u64);
    (0..=runs).try_for_each(|k| round(k > 0))
}

/// A clock that knows the cost of reading it.
pub(crate) struct Clock {
    own_ns: f64,
}

impl Clock {
    pub(crate) fn new() -> Clock {
        let mut looks: Vec<f64> = (0..10_001).map(|_| Instant::now().elapsed().as_nanos() as f64).collect();
        looks.sort_by(f64::total_cmp);
        Clock { own_ns: looks[looks.len() / 2] }
    }

    /// The time of an empty stretch.
    pub(crate) fn own_ns(&self) -> f64 {
        self.own_ns
    }

    /// The nanoseconds of the work.
    pub(crate) fn time<T>(&self, work: impl FnOnce() -> T) -> (f64, T) {
        let start = Instant::now();
        let result = work();
        let took = start.elapsed().as_nanos() as f64;
        ((took - self.own_ns).max(0.0), result)
    }

    /// Times stretches of `work`, which returns its number of operations. `undo` restores the state after each, and is
    /// not timed. A short stretch is repeated until the time is long enough.
    pub(crate) fn pass<S>(
        &self,
        enough: PassEnd,
        state: &mut S,
        operations: usize,
        mut work: impl FnMut(&mut S) -> usize,
        mut undo: impl FnMut(&mut S) -> Result<(), CommandError>,
    ) -> Result<Pass, CommandError> {
        let (begin, mut ns, mut stretches) = (Instant::now(), 0.0, 0);
        loop {
            let (took, done) = self.time(|| work(state));
            if done != operations {
                return Err(CommandError::run(format!(
                    "a pass that is repeated did {done} operations instead of {operations}"
                )));
            }
            ns += took;
            stretches += 1;
            undo(state)?;
            if ns >= enough.ns || stretches == PassEnd::MOST_STRETCHES || begin.elapsed() >= enough.wall {
                return Ok(Pass { operations, ns: ns / (operations * stretches) as f64 });
            }
        }
    }
}

/// The end of a pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassEnd {
    /// The least time that is divided by operations,
    pub(crate) ns: f64,
    /// unless it takes so long with all that is not timed.
    pub(crate) wall: Duration,
}

impl PassEnd {
    /// The most stretches of a pass.
    const MOST_STRETCHES: usize = 10_000;
}

/// The result of one pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pass {
    /// Operations of a stretch.
    pub(crate) operations: usize,
    /// Nanoseconds an operation.
    pub(crate) ns: f64,
}

/// One kind of work, and the nanoseconds of an operation in each round.
#[derive(Debug)]
pub(crate) struct Series {
    /// The operations of a stretch, which the warm-up determines.
    times: usize,
    ns: Vec<f64>,
}

impl Series {
    /// The least time of a stretch.
    const LEAST_NS: f64 = 500_000.0;
    /// The most operations of a stretch.
    const MOST_TIMES: usize = 1 << 24;

    pub(crate) fn new() -> Series {
        Series { times: 1, ns: Vec::new() }
    }

    /// Does the work of a round: `work` does the operation N times. Without `measuring`, determines N.
    pub(crate) fn round(&mut self, clock: &Clock, measuring: bool, mut work: impl FnMut(usize)) {
        loop {
            let (ns, ()) = clock.time(|| work(self.times));
            if measuring {
                self.ns.push(ns / self.times as f64);
                return;
            }
            if ns >= Self::LEAST_NS || self.times >= Self::MOST_TIMES {
                return;
            }
            let more = (Self::LEAST_NS * 1.2 / ns.max(1.0)).clamp(2.0, 64.0);
            self.times = (self.times as f64 * more) as usize;
        }
    }

    /// Adds a time of an operation that was measured elsewhere.
    pub(crate) fn push(&mut self, ns: f64) {
        self.ns.push(ns);
    }

    /// Whether no round was measured.
    pub(crate) fn is_empty(&self) -> bool {
        self.ns.is_empty()
    }

    /// Nanoseconds an operation.
    pub(crate) fn spread(&self) -> Spread {
        Spread::of(self.ns.iter().copied())
    }

    /// `count` over the nanoseconds: items a nanosecond.
    pub(crate) fn rate(&self, count: f64) -> Spread {
        Spread::of(self.ns.iter().map(|ns| count / ns.max(f64::MIN_POSITIVE)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENOUGH: PassEnd = PassEnd { ns: 50_000.0, wall: Duration::MAX };

    fn busy(ns: u128) {
        let begin = Instant::now();
        while begin.elapsed().as_nanos() < ns {}
    }

    #[test]
    fn the_first_round_warms_up() {
        let mut seen = Vec::new();
        rounds(3, &Progress::new(), 1, |measuring| {
            seen.push(measuring);
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, [false, true, true, true]);
        assert!(
            rounds(3, &Progress::new(), 1, |measuring| match measuring {
                true => Err(CommandError::run("no")),
                false => Ok(()),
            })
            .is_err()
        );
    }

    #[test]
    #[ignore = "of the long suite: it goes by the clock"]
    fn short_stretches_are_repeated_and_undone() {
        let (mut done, mut undone) = (0, 0);
        let pass = Clock::new().pass(
            ENOUGH,
            &mut done,
            10,
            |done| {
                busy(20_000);
                *done += 1;
                10
            },
            |_| {
                undone += 1;
                Ok(())
            },
        );
        let pass = pass.unwrap();
        assert!((1..=3).contains(&done) && done == undone, "{done} {undone}");
        assert!(pass.operations == 10 && pass.ns >= 1900.0, "{pass:?}");
    }

    #[test]
    fn a_mostly_untimed_pass_ends() {
        let enough = PassEnd { wall: Duration::from_millis(2), ..ENOUGH };
        let mut stretches = 0;
        let slow = |_: &mut ()| {
            stretches += 1;
            busy(3_000_000);
            Ok(())
        };
        assert!(Clock::new().pass(enough, &mut (), 1, |()| 1, slow).is_ok());
        assert_eq!(stretches, 1);
    }

    #[test]
    fn different_amounts_of_work_are_an_error() {
        assert!(Clock::new().pass(ENOUGH, &mut (), 10, |()| 9, |()| Ok(())).is_err());
    }

    #[test]
    #[ignore = "of the long suite: it goes by the clock"]
    fn short_work_has_a_fixed_number_of_repetitions() {
        let (clock, mut series, mut done) = (Clock::new(), Series::new(), Vec::new());
        for measuring in [false, true, true] {
            series.round(&clock, measuring, |times| {
                busy(10_000 * times as u128);
                done.push(times);
            });
        }
        let times = done[done.len() - 1];
        assert!((2..=100).contains(&times) && done[done.len() - 2..] == [times; 2], "{done:?}");
        assert!(series.ns.len() == 2 && series.spread().min >= 9_900.0, "{:?}", series.ns);
        assert!(series.rate(1e6).max <= 102.0);
    }
}
