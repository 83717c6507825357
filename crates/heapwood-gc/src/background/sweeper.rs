//! The background sweeper: after a collection it sweeps what nobody else has, so that little is left for the thread that
//! collects next. It is of low priority by pacing: it takes a quarter of one CPU, a millisecond at a time. A lower scheduling
//! priority would let it be preempted while it holds the lock of the span lists, or a batch of spans, and those wait who are
//! to come first. Invariant: it has no batch in hand while the world is stopped, which `Collector::sweep_some` sees to.

use crate::collect::Collector;
use crate::policy::background::{SWEEP_DELAY, SWEEP_PART};
use crate::state::State;
use core::time::Duration;
use heapwood_pages::{Clock, PacedWork};

/// How far sweeping is.
pub(super) struct BackgroundSweeper {
    pacing: PacedWork,
    /// What the collection of this number left has been swept.
    done: u64,
    /// The last collection that it knows of, and when it learned of that.
    known: (u64, Duration),
}

impl BackgroundSweeper {
    pub(super) fn new() -> Self {
        BackgroundSweeper { pacing: PacedWork::new(SWEEP_PART), done: 0, known: (0, Duration::ZERO) }
    }

    /// Sweeps some, if there is something to sweep; how long it rests then.
    pub(super) fn step(
        &mut self,
        clock: &impl Clock,
        state: &State,
        collector: &Collector,
    ) -> Option<Duration> {
        let now = state.cycles().collections();
        if now == self.done {
            return None;
        }
        if now != self.known.0 {
            self.known = (now, clock.now());
        }
        let settled = clock.now().saturating_sub(self.known.1);
        if settled < SWEEP_DELAY {
            return Some(SWEEP_DELAY - settled);
        }
        let owed = self.pacing.owed(clock);
        if !owed.is_zero() {
            return Some(owed);
        }
        if self.pacing.work_slice(clock, || collector.sweep_some(state)) {
            return Some(self.pacing.owed(clock));
        }
        self.done = now;
        None
    }
}
