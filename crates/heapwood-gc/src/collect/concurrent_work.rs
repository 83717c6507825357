//! What collections note for markings beside the program. Invariant: only the holder of the collector's lock uses it.

use super::cause::Cause;
use super::concurrent_rule::{ConcurrentRule, InStop};
use crate::observe::Floating;
use crate::policy::{MarkCycle, MarkPace, StartPolicy};
use crate::settings::options::Config;
use crate::state::State;
use heapwood_os::process::clock;

/// Notes for markings beside the program.
pub(super) struct ConcurrentWork {
    /// When they start.
    pub(super) start: StartPolicy,
    /// The budget ends where one is to start.
    pub(super) starts_next: bool,
    /// Why the next full collection is made in a stop, if it is.
    pub(super) in_stop: Option<InStop>,
    /// How much may be allocated while the active one lasts, and the part of what is allocated that has survived lately.
    pub(super) pace: MarkPace,
    pub(super) survival: f64,
    /// A marker thread drives it.
    pub(super) is_paced: bool,
    /// CPU time of the marker beside the program since the last full collection.
    pub(super) beside: u64,
    /// The marking that this full collection ends, if it does, and the bytes that were promoted during it.
    pub(super) ended: Option<(MarkCycle, usize)>,
    /// The floating garbage of the last that ended, in verify mode.
    pub(super) floating: Option<Floating>,
    /// The cause of the collection that ends one in a stop, before the marker could end it.
    pub(super) overtaken_by: Option<Cause>,
    /// When the last full collection ended, in nanoseconds of the monotonic clock.
    pub(super) full_ended: u64,
}

impl ConcurrentWork {
    /// Of a heap in which nothing was collected.
    pub(super) fn new(config: &Config) -> Self {
        let why = ConcurrentRule::new(config).may().err();
        ConcurrentWork {
            start: StartPolicy::default(),
            starts_next: false,
            in_stop: why.or(Some(InStop::Short)),
            pace: MarkPace { start: 0, goal: 0, expected: 0 },
            survival: 1.0,
            is_paced: false,
            beside: 0,
            ended: None,
            floating: None,
            overtaken_by: None,
            full_ended: clock::monotonic_ns(),
        }
    }

    /// Grants the mutators as much of the room as the active marking has earned by `marked` bytes, and wakes those that wait. None
    /// is active: all of it.
    pub(super) fn grant(&self, state: &State, marked: Option<usize>, size: usize) {
        let waiters = state.pace_waiters();
        match marked {
            Some(_) if waiters.is_always_behind() => state.space().set_pace(0),
            Some(marked) if self.is_paced => {
                state.space().set_pace(self.pace.budget(marked, size, self.survival));
            }
            _ => {}
        }
        waiters.grant();
    }

    /// A pause that was no full collection has left so much of what was allocated.
    pub(super) fn after_young(&mut self, survived: usize, allocated: usize) {
        if allocated > 0 {
            let survival = (survived as f64 / allocated as f64).min(1.0);
            self.survival = survival.max((self.survival + survival) / 2.0);
        }
    }
}
