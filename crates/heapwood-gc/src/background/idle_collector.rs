//! Collects an idle heap (`policy/idle` says when). It is a try: begun only if all mutators are blocked or at a safepoint,
//! and withdrawn after a millisecond if one runs that does not answer; that one is named in the statistics, and the next try
//! comes when a thread leaves the heap, later and later. A collection is one stop, or a marking beside the program: then
//! this thread begins it, and learns when it next looks how it ended. While collections call the program, the heap is left alone.
//! Invariant: no thread waits for a try that is withdrawn.

use super::figures::Figures;
use super::marker_thread::MarkerThread;
use crate::collect::{Collector, TryCollect};
use crate::policy::{IdleDecision, IdlePolicy, IdleSample};
use crate::state::State;
use core::time::Duration;
use heapwood_pages::Clock;

/// The collector of one idle heap.
pub(super) struct IdleCollector<'h> {
    policy: IdlePolicy,
    marker: &'h MarkerThread,
    /// What was known when it began the marking that goes on.
    marking: Option<IdleSample>,
}

impl<'h> IdleCollector<'h> {
    /// Of a heap that has not been collected, with this marker.
    pub(super) fn new(now: Duration, marker: &'h MarkerThread) -> Self {
        IdleCollector { policy: IdlePolicy::new(now), marker, marking: None }
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
        if self.marking.is_none() && !collector.calls_program() {
            // As each collection wakes this thread, it takes no lock to learn that the heap is in use.
            let counts = (state.cycles().collections(), state.cycles().full_collections());
            if let Some(wait) = self.policy.just_collected(now, counts) {
                return Some(wait);
            }
        }
        let space = state.space().stats();
        let look = IdleSample {
            now,
            collections: state.cycles().collections(),
            full_collections: state.cycles().full_collections(),
            allocated: space.total_allocated,
            since: (state.cycles().since_full() + space.allocated_in_cycle) as u64,
            live: state.cycles().live() as u64,
        };
        if let Some(begun) = self.marking {
            if look.full_collections == begun.full_collections {
                // Its end wakes this thread, as every collection does.
                return None;
            }
            self.marking = None;
            if state.cycles().last_idle() == look.full_collections {
                figures.count_collection();
                self.policy.marked(begun, look);
            }
        }
        if collector.calls_program() {
            // Which is not done here. Who removes what is called wakes this thread.
            return None;
        }
        match self.policy.next(look) {
            IdleDecision::Nothing => None,
            IdleDecision::Wait(at_most) => Some(at_most),
            IdleDecision::Collect => {
                let seen = look.collections;
                let has_marker = || self.marker.takes_requests(state, collector);
                match collector.try_collect(state, || state.cycles().collections() == seen, has_marker) {
                    TryCollect::Collected => {
                        figures.count_collection();
                        let took = clock.now().saturating_sub(now);
                        let counts = (state.cycles().collections(), state.cycles().full_collections());
                        self.policy.collected(now + took, counts, took);
                        None
                    }
                    TryCollect::Begun => {
                        self.marking = Some(look);
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
