//! One collection while it runs: what its phases have found so far, each for those after it. Invariant: a field is read only after
//! the phase that its comment names.

use super::cause::Cause;
use super::collector::{Collector, Work};
use super::concurrent_rule::InStop;
use super::plan::PauseKind;
use crate::lock_order::SWEEPING;
use crate::mark::MarkTotals;
use crate::observe::{ConcurrentTotals, RootBytes, Times};
use crate::policy::{Bounds, Efficiency};
use crate::state::State;
use heapwood_heap::{Collection, ExternalChange};
use heapwood_os::LockGuard;

/// One collection.
pub(super) struct Cycle<'c> {
    /// What the collector keeps from one collection to the next.
    pub(super) work: &'c mut Work,
    /// Why there is one.
    pub(super) cause: Cause,
    /// Each is set by the phase that ends with it.
    pub(super) times: Times,
    /// `prepare`: the collection that it has prepared for.
    pub(super) expected: Collection,
    /// `prepare`: what bounds the heap's goal, if a full collection is to set one.
    pub(super) bounds: Option<Bounds>,
    /// `prepare`: verify mode looks at the whole heap.
    pub(super) checks: bool,
    /// `prepare`: the background sweeper's lock. It has no batch in hand, and takes none.
    pub(super) _sweeping: LockGuard<'c, (), SWEEPING>,
    /// `publish`: stores that took the slow half of the write barrier since the last collection.
    pub(super) stores: u64,
    /// `publish`: others are missing from the remembered set.
    pub(super) overflowed: bool,
    /// `count_roots`: bytes of roots, if they are to be reported.
    pub(super) roots: RootBytes,
    /// `plan_pause`: what the pause does.
    pub(super) kind: PauseKind,
    /// `mark`, `after_closure`: what was marked.
    pub(super) marked: MarkTotals,
    /// `after_closure`: the part of it that was dead, and waits for its finalisers.
    pub(super) revived: MarkTotals,
    /// `account`: the cause that is reported.
    pub(super) reported: Cause,
    /// `account`: why it is a full one in a stop, if it is.
    pub(super) in_stop: Option<InStop>,
    /// `account`.
    pub(super) totals: CollectionTotals,
    /// `account`: the concurrent marking that it ended.
    pub(super) ended: Option<ConcurrentTotals>,
    /// `set_goal`.
    pub(super) next: NextCycle,
    /// `begin_cycle`: the words that the pause has looked at.
    pub(super) words: usize,
}

impl<'c> Cycle<'c> {
    /// A collection that begins now. The caller has swept all, and has the background sweeper's lock.
    pub(super) fn new(
        state: &State,
        cause: Cause,
        work: &'c mut Work,
        times: Times,
        sweeping: LockGuard<'c, (), SWEEPING>,
    ) -> Self {
        let expected = cause.expected(state, &work.nursery, work.session.is_active());
        Cycle {
            work,
            cause,
            times,
            expected,
            bounds: None,
            checks: false,
            _sweeping: sweeping,
            stores: 0,
            overflowed: false,
            roots: RootBytes::default(),
            kind: PauseKind::Full,
            marked: MarkTotals::default(),
            revived: MarkTotals::default(),
            reported: cause,
            in_stop: None,
            totals: CollectionTotals::default(),
            ended: None,
            next: NextCycle::default(),
            words: 0,
        }
    }

    /// Why it is a full collection in a stop, if it is.
    pub(super) fn why_in_stop(&self) -> Option<InStop> {
        let concurrent = &self.work.concurrent;
        match (self.kind, self.reported) {
            (PauseKind::FinalMark(_), _) if concurrent.overtaken_by.is_none() => None,
            (PauseKind::Full | PauseKind::FinalMark(_), Cause::Program(_)) => Some(InStop::Asked),
            (PauseKind::Full | PauseKind::FinalMark(_), Cause::AllocationFailed) => Some(InStop::Limit),
            (PauseKind::FinalMark(_), _) => Some(InStop::Late),
            // A type has come since the marking was asked for.
            (PauseKind::Full, Cause::StartMarking { .. }) => Some(InStop::TraceFunctions),
            (PauseKind::Full, _) => concurrent.in_stop,
            (PauseKind::Young { .. } | PauseKind::Promote | PauseKind::InitialMark(_), _) => None,
        }
    }

    /// The collection that ends with it.
    pub(super) fn collection(&self) -> Collection {
        self.kind.collection()
    }

    /// What bounds the goal. Where the plan changed in the stop this asks the kernel now.
    pub(super) fn bounds(&self, collector: &Collector, state: &State) -> Bounds {
        self.bounds.unwrap_or_else(|| collector.bounds(state.space()))
    }
}

/// The totals of a collection, in bytes.
#[derive(Default)]
pub(super) struct CollectionTotals {
    /// Marking time in nanoseconds, without waiting for others; and the time since the last collection.
    pub(super) ns: u64,
    pub(super) since: u64,
    /// CPU time of the collection and its helpers, in nanoseconds.
    pub(super) cpu_ns: u64,
    /// Stacks that were scanned.
    pub(super) stacks: usize,
    /// What has come and gone outside the heap since the last collection.
    pub(super) external: ExternalChange,
    /// What counted as alive before, was handed out since, and is alive now.
    pub(super) old: usize,
    pub(super) allocated: usize,
    pub(super) live: usize,
    /// Mutators that allocate.
    pub(super) mutators: usize,
}

impl CollectionTotals {
    pub(super) fn freed(&self) -> usize {
        (self.old + self.allocated).saturating_sub(self.live)
    }

    /// What it freed for its time. Of memory outside the heap nobody knows yet what it will free: what the last one freed
    /// stands for that.
    pub(super) fn efficiency(&self) -> Efficiency {
        Efficiency {
            allocated: self.allocated + self.external.rose,
            freed: self.freed() + self.external.fell,
            ns: self.ns,
            since: self.since,
            stacks: self.stacks,
        }
    }
}

/// What the next cycle begins with, in bytes.
#[derive(Default)]
pub(super) struct NextCycle {
    /// The goal before this collection, and after it.
    pub(super) goal_before: usize,
    pub(super) goal: usize,
    /// How much may be allocated before the next collection.
    pub(super) budget: usize,
}
