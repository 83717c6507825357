//! Before the stop: the collecting thread sweeps what is left of the last cycle and does all that can be done while nobody
//! waits. Invariant: when it ends nothing is unswept, and nothing is swept until the collection ends.

use super::super::cause::Cause;
use super::super::collector::{Collector, Work};
use crate::inject::Fault;
use crate::lock_order::SWEEPING;
use crate::policy::Bounds;
use crate::state::State;
use heapwood_heap::{Collection, Space, Sweeping};
use heapwood_os::LockGuard;

/// What was prepared.
pub(in crate::collect) struct Prepared<'c> {
    expected: Collection,
    /// What bounds the heap's goal, if a full collection is to set one.
    bounds: Option<Bounds>,
    /// The background sweeper's lock: it has no batch in hand, and takes none.
    _sweeping: LockGuard<'c, (), SWEEPING>,
}

impl Prepared<'_> {
    /// The collection that was prepared for.
    pub(in crate::collect) fn expected(&self) -> Collection {
        self.expected
    }

    /// What bounds the heap's goal, if that is known.
    pub(super) fn bounds(&self) -> Option<Bounds> {
        self.bounds
    }
}

impl Collector {
    pub(in crate::collect) fn prepare(&self, state: &State, cause: Cause, work: &mut Work) -> Prepared<'_> {
        let (space, gate) = (state.space(), state.fork_gate());
        let starts = matches!(cause, Cause::StartMarking { .. });
        let sweeps = !(starts && state.faults().fails(Fault::StartedUnswept));
        // Between two batches the process may fork.
        while sweeps && gate.without_fork(|| space.sweep_some(Sweeping::Collector)) {}
        let _no_fork = gate.no_fork();
        if sweeps {
            space.finish_sweep();
        }
        // If the background sweeper has a batch in hand, that is waited for now; it takes no other.
        let _sweeping = self.sweeping.lock();
        self.forget_given_up(state, work);
        let expected = cause.expected(state, &work.nursery);
        let mut bounds = None;
        if expected == Collection::Full || starts {
            bounds = Some(self.bounds(space));
        }
        if expected == Collection::Full {
            let helpers = work.marking.prepare(space, state.mark_threads());
            match helpers {
                Some(_) if self.stops_by_signals() => self.ask_for_helpers(),
                Some(helpers) => work.marking.set_workers(helpers.start()),
                None => {}
            }
        }
        Prepared { expected, bounds, _sweeping }
    }

    /// What bounds the goal. May ask the kernel.
    pub(super) fn bounds(&self, space: &Space) -> Bounds {
        self.pacer().bounds(space.memory().resident_bytes())
    }
}
