//! The clock, and what is timed with it: a stretch of work on a heap that is made ready before and brought back after,
//! neither of which counts. A stretch that is over in a moment, as on a tiny heap, is repeated until the sum can be
//! relied on. Invariant: a heap is in the same state before every stretch, so every stretch does as much work; if one
//! does not, nothing is reported.

use crate::failure::Failure;
use std::time::Instant;

/// The least time that is divided by operations.
const LEAST_NS: f64 = 50_000.0;

/// However little a stretch seems to take.
const MOST_STRETCHES: usize = 10_000;

/// What one pass over a heap came to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    /// Of a stretch.
    pub(super) operations: usize,
    /// An operation.
    pub(super) ns: f64,
}

/// A clock that knows what it costs to look at it.
pub(super) struct Clock {
    own_ns: f64,
}

impl Clock {
    pub(super) fn new() -> Clock {
        let mut looks: Vec<f64> = (0..10_001).map(|_| Instant::now().elapsed().as_nanos() as f64).collect();
        looks.sort_by(f64::total_cmp);
        Clock { own_ns: looks[looks.len() / 2] }
    }

    /// What an empty stretch would seem to take.
    pub(super) fn own_ns(&self) -> f64 {
        self.own_ns
    }

    /// What the work takes in nanoseconds, all of it.
    pub(super) fn time<T>(&self, work: impl FnOnce() -> T) -> (f64, T) {
        let start = Instant::now();
        let result = work();
        let took = start.elapsed().as_nanos() as f64;
        ((took - self.own_ns).max(0.0), result)
    }

    /// Times stretches of `work`, which says how many operations it did, each of them brought back by `undo`.
    pub(super) fn pass<S>(
        &self,
        state: &mut S,
        operations: usize,
        mut work: impl FnMut(&mut S) -> usize,
        mut undo: impl FnMut(&mut S) -> Result<(), Failure>,
    ) -> Result<Pass, Failure> {
        let (mut ns, mut stretches) = (0.0, 0);
        loop {
            let (took, done) = self.time(|| work(state));
            if done != operations {
                return Err(Failure::run(format!(
                    "a pass that is repeated did {done} operations instead of {operations}"
                )));
            }
            ns += took;
            stretches += 1;
            undo(state)?;
            if ns >= LEAST_NS || stretches == MOST_STRETCHES {
                return Ok(Pass { operations, ns: ns / (operations * stretches) as f64 });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_work_is_repeated_and_brought_back_each_time() {
        let (mut done, mut undone) = (0, 0);
        let pass = Clock::new().pass(
            &mut done,
            10,
            |done| {
                let start = Instant::now();
                while start.elapsed().as_nanos() < 20_000 {}
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
    fn work_that_differs_is_refused() {
        assert!(Clock::new().pass(&mut (), 10, |()| 9, |()| Ok(())).is_err());
    }
}
