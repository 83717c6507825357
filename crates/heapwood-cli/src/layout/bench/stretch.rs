//! What is timed: a stretch of the same work again and again, long enough that the clock does not count. How often is
//! found out while warming up and stays.

use crate::bench::spread::Spread;
use std::time::Instant;

/// The least time that is divided by operations.
const LEAST_NS: f64 = 500_000.0;
/// However little an operation seems to take.
const MOST_TIMES: usize = 1 << 24;

/// One kind of work, and what it took in each round.
pub(super) struct Stretch {
    /// How often it is done in a round.
    times: usize,
    ns: Vec<f64>,
}

impl Stretch {
    pub(super) fn new() -> Stretch {
        Stretch { times: 1, ns: Vec::new() }
    }

    /// Does the work of a round: `work` does it as often as it is told. Without `measuring` finds out how often that is.
    pub(super) fn round(&mut self, measuring: bool, mut work: impl FnMut(usize)) {
        loop {
            let begin = Instant::now();
            work(self.times);
            let ns = begin.elapsed().as_nanos() as f64;
            if measuring {
                self.ns.push(ns / self.times as f64);
                return;
            }
            if ns >= LEAST_NS || self.times >= MOST_TIMES {
                return;
            }
            let more = (LEAST_NS * 1.2 / ns.max(1.0)).clamp(2.0, 64.0);
            self.times = (self.times as f64 * more) as usize;
        }
    }

    /// Takes a round that was timed elsewhere.
    pub(super) fn push(&mut self, ns: f64) {
        self.ns.push(ns);
    }

    /// Nanoseconds an operation.
    pub(super) fn spread(&self) -> Spread {
        Spread::of(self.ns.iter().copied())
    }

    /// How many of `count` are done in a nanosecond.
    pub(super) fn rate(&self, count: f64) -> Spread {
        Spread::of(self.ns.iter().map(|ns| count / ns.max(f64::MIN_POSITIVE)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_work_is_repeated_and_then_as_often_every_time() {
        let (mut stretch, mut done) = (Stretch::new(), Vec::new());
        for measuring in [false, true, true] {
            stretch.round(measuring, |times| {
                let begin = Instant::now();
                while begin.elapsed().as_nanos() < 10_000 * times as u128 {}
                done.push(times);
            });
        }
        let times = done[done.len() - 1];
        assert!((2..=100).contains(&times) && done[done.len() - 2..] == [times; 2], "{done:?}");
        assert!(stretch.ns.len() == 2 && stretch.spread().min >= 10_000.0, "{:?}", stretch.ns);
        assert!(stretch.rate(1e6).max <= 100.0);
    }
}
