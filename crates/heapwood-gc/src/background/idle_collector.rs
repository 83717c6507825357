//! Collects an idle heap (`policy/idle` says when). It is a try: begun only if all mutators are blocked or at a safepoint, and
//! withdrawn after a millisecond if one runs that does not answer; that one is named in the statistics, and the next try comes
//! when a thread leaves the heap, later and later. Invariant: no thread waits for a try that is withdrawn.

use super::figures::Figures;
use crate::collect::{Collector, TryCollect};
use crate::policy::{IdleDecision, IdlePolicy, IdleSample};
use crate::state::State;
use core::time::Duration;
use heapwood_pages::Clock;

/// The collector of one idle heap.
#[derive(Debug)]
pub(super) struct IdleCollector {
    policy: IdlePolicy,
}

impl IdleCollector {
    /// Of a heap that has not been collected.
    pub(super) fn new(now: Duration) -> Self {
        IdleCollector { policy: IdlePolicy::new(now) }
    }

    /// Whether it waits for threads to leave the heap.
    pub(super) fn waits_for_threads(&self) -> bool {
        self.policy.waits_for_threads()
    }

    /// Collects, if it is time; when it looks again, if that is not when something happens.
    pub(super) fn step(
        &mut self,
        clock: &impl Clock,
        (state, collector, figures): (&State, &Collector, &Figures),
    ) -> Option<Duration> {
        let now = clock.now();
        let space = state.space().stats();
        let look = IdleSample {
            now,
            collections: state.collections(),
            full_collections: state.full_collections(),
            allocated: space.total_allocated,
            since: (state.since_full() + space.allocated_in_cycle) as u64,
            live: state.live() as u64,
        };
        match self.policy.next(look) {
            IdleDecision::Nothing => None,
            IdleDecision::Wait(at_most) => Some(at_most),
            IdleDecision::Collect => {
                let seen = look.collections;
                match collector.try_collect(state, || state.collections() == seen) {
                    TryCollect::Collected => {
                        figures.count_collection();
                        let took = clock.now().saturating_sub(now);
                        let counts = (state.collections(), state.full_collections());
                        self.policy.collected(now + took, counts, took);
                        None
                    }
                    TryCollect::Withdrawn(thread) => {
                        figures.count_withdrawn(thread);
                        self.policy.withdrawn(now);
                        None
                    }
                    // Someone else collects.
                    TryCollect::NotNeeded => Some(IdlePolicy::LOOK_AGAIN),
                }
            }
        }
    }
}
