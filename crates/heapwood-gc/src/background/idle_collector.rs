//! Collects an idle heap: `policy/idle` says when. While a mutator runs, or collections call the program, it is left alone, and looked at
//! again ten seconds later, or when something happens. Invariant: no thread is asked to stop by a look.

use super::figures::Figures;
use super::marker_thread::MarkerThread;
use crate::collect::Collector;
use crate::policy::idle_limits::QUIET;
use crate::policy::{IdlePolicy, IdleSample};
use crate::state::State;
use core::time::Duration;

/// The collector of one idle heap.
pub(super) struct IdleCollector<'h> {
    policy: IdlePolicy,
    marker: &'h MarkerThread,
}

impl<'h> IdleCollector<'h> {
    /// Of a heap that has not been collected, with this marker.
    pub(super) fn new(now: Duration, marker: &'h MarkerThread) -> Self {
        IdleCollector { policy: IdlePolicy::new(now), marker }
    }

    /// Collects, or asks the marker to, if it is time; when it looks again, if that is not when something happens.
    pub(super) fn step(
        &mut self,
        now: Duration,
        (state, collector, figures): (&State, &Collector, &Figures),
    ) -> Option<Duration> {
        if collector.calls_program() {
            // Who removes what is called wakes this thread.
            return None;
        }
        let cycles = state.cycles();
        let full_collections = cycles.full_collections();
        let left = self.policy.due(IdleSample {
            now,
            collections: cycles.collections(),
            full_collections,
            since: (cycles.since_full() + state.space().stats().allocated_in_cycle) as u64,
            live: cycles.live() as u64,
        })?;
        if !left.is_zero() {
            return Some(left);
        }
        if !collector.collect_idle(state, || self.marker.takes_requests(state, collector)) {
            return Some(QUIET);
        }
        figures.count_idle_collection();
        self.policy.asked(now, full_collections);
        None
    }
}
