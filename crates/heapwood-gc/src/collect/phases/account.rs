//! What the marking has found, and what follows: the nursery's next size, the heap's growth and its goal, and the budget until
//! the next collection. The decisions are the policies' (`policy`); here they are fed. Invariant: sizes in bytes are those of
//! cells and pages, without what arenas hold.

use super::super::collector::{Collector, Work};
use super::super::plan::PauseKind;
use super::prepare::Prepared;
use super::publish::Published;
use crate::mark::MarkTotals;
use crate::observe::Times;
use crate::pause::Pause;
use crate::policy::{Efficiency, Spent};
use core::sync::atomic::Ordering;
use heapwood_heap::Collection;
use heapwood_os::process::clock;

/// The totals of a collection, in bytes.
pub(in crate::collect) struct CollectionTotals {
    /// Marking time in nanoseconds, without waiting for others; and the time since the last collection.
    ns: u64,
    since: u64,
    /// Stacks that were scanned.
    stacks: usize,
    /// What counted as alive before, was handed out since, and is alive now.
    pub(super) old: usize,
    pub(super) allocated: usize,
    pub(super) live: usize,
}

impl CollectionTotals {
    fn freed(&self) -> usize {
        (self.old + self.allocated).saturating_sub(self.live)
    }

    /// What it freed for its time.
    fn efficiency(&self) -> Efficiency {
        Efficiency {
            allocated: self.allocated,
            freed: self.freed(),
            ns: self.ns,
            since: self.since,
            stacks: self.stacks,
        }
    }
}

/// What the next cycle begins with, in bytes.
pub(in crate::collect) struct NextCycle {
    /// The goal before this collection, and after it.
    pub(super) goal_before: usize,
    pub(super) goal: usize,
    /// How much may be allocated before the next collection.
    pub(super) budget: usize,
}

impl Collector {
    /// Counts what was handed out and what is alive.
    pub(in crate::collect) fn account(
        &self,
        pause: &Pause<'_>,
        work: &mut Work,
        kind: PauseKind,
        marked: &MarkTotals,
        times: &Times,
    ) -> CollectionTotals {
        let old = pause.state().cycles().live();
        let all = pause.world().allocated_bytes(pause.owners());
        let left_by_arenas = pause.world().left_by_arenas();
        let allocated = all.saturating_sub(left_by_arenas);
        let live = match kind.collection() {
            Collection::Full => marked.bytes,
            // What was handed out is less what was freed, of which some was old.
            Collection::Young if pause.space().has_explicit_frees() => old + marked.bytes.min(allocated),
            Collection::Young => old + marked.bytes,
        };
        // A young collection frees nothing of what arenas have left.
        work.left_by_arenas = match kind.collection() {
            Collection::Full => 0,
            Collection::Young => work.left_by_arenas + left_by_arenas,
        };
        work.spent += times.marked.cpu.saturating_sub(times.began.cpu) + marked.helpers_cpu_ns;
        let (ns, since) = (times.marked.wall - times.stopped.wall, times.since_last());
        CollectionTotals { ns, since, stacks: pause.stack_bytes(), old, allocated, live }
    }

    /// Sets when the next collection is due.
    pub(in crate::collect) fn set_goal(
        &self,
        pause: &Pause<'_>,
        work: &mut Work,
        kind: PauseKind,
        prepared: &Prepared<'_>,
        totals: &CollectionTotals,
        published: &Published,
    ) -> NextCycle {
        let (state, efficiency) = (pause.state(), totals.efficiency());
        let goal_before = state.cycles().goal().load(Ordering::Relaxed);
        let mut goal = goal_before;
        match kind.collection() {
            Collection::Full => {
                state.cycles().set_live_in_full(totals.live);
                let growth = self.growth(pause, work, totals);
                // Where the plan changed in the stop this asks the kernel now.
                let bounds = prepared.bounds().unwrap_or_else(|| self.bounds(pause.space()));
                goal = self.pacer().goal(totals.live, growth, bounds);
                work.nursery.after_full(efficiency, published.overflowed);
            }
            Collection::Young if kind.promotes_all() => work.nursery.after_promotion(published.overflowed),
            Collection::Young => work.nursery.after_young(efficiency, published.stores),
        }
        state.cycles().set_sizes(totals.live, goal);
        let size = totals.live + work.left_by_arenas;
        let budget = work.nursery.budget(size, goal);
        NextCycle { goal_before, goal, budget }
    }

    /// How much may be allocated after a full collection before the next, by what all since the last one took.
    fn growth(&self, pause: &Pause<'_>, work: &mut Work, totals: &CollectionTotals) -> usize {
        let starved = pause.space().reclaim_clock().times().starved_ns;
        let now = clock::process_cpu_ns();
        let spent = Spent {
            collecting_ns: work.spent + (starved - work.starved),
            all_ns: now.saturating_sub(work.spent_by_all),
            freed_little: totals.freed() < (totals.old + totals.allocated) / 4,
        };
        (work.spent, work.spent_by_all, work.starved) = (0, now, starved);
        let mutators = pause.world().allocating(pause.owners());
        work.growth.after_full(totals.live, self.pacer().percent(), mutators, spent)
    }
}
