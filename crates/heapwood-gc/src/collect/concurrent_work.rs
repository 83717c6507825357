//! What collections note for markings beside the program. Invariant: only the holder of the collector's lock uses it.

use super::cause::Cause;
use crate::mark::MarkSession;
use crate::observe::Floating;
use crate::policy::{AssistPolicy, MarkCycle, Progress, StartPolicy};
use crate::state::State;
use core::sync::atomic::Ordering;
use heapwood_os::process::clock;

/// Notes for markings beside the program.
pub(super) struct ConcurrentWork {
    /// When they start.
    pub(super) start: StartPolicy,
    /// The budget ends where one is to start.
    pub(super) starts_next: bool,
    /// When others help with one, how often they have, and the size of the heap at its start.
    pub(super) assist: AssistPolicy,
    pub(super) assists: u64,
    pub(super) started_at: usize,
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
    pub(super) fn new() -> Self {
        ConcurrentWork {
            start: StartPolicy::default(),
            starts_next: false,
            assist: AssistPolicy::default(),
            assists: 0,
            started_at: 0,
            beside: 0,
            ended: None,
            floating: None,
            overtaken_by: None,
            full_ended: clock::monotonic_ns(),
        }
    }

    /// How far the active marking has come in a heap of so many bytes.
    pub(super) fn progress(&self, state: &State, session: &MarkSession, size: usize) -> Progress {
        let goal = state.cycles().goal().load(Ordering::Relaxed);
        let (marked, expected) = (session.marked(), state.cycles().live_in_full());
        Progress { marked, expected, start: self.started_at, size, goal }
    }
}
