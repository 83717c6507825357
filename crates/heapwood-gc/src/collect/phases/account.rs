//! What the marking has found, and what follows: the nursery's next size, the heap's growth and its goal, and the budget until
//! the next collection. The decisions are the policies' (`policy`); here they are fed. Invariant: sizes in bytes are those of
//! cells and pages, without what arenas hold.

use super::super::cause::Cause;
use super::super::collector::{Collector, Work};
use super::super::plan::PauseKind;
use super::prepare::Prepared;
use super::publish::Published;
use crate::mark::MarkTotals;
use crate::observe::{ConcurrentTotals, Times};
use crate::pause::Pause;
use crate::policy::{Efficiency, LEAST_BUDGET, MarkCycle, NextCollection, Spent};
use crate::state::State;
use core::sync::atomic::Ordering;
use heapwood_heap::{AllocatedInCycle, Collection, ExternalChange};
use heapwood_os::process::{clock, cores};

/// The totals of a collection, in bytes.
pub(in crate::collect) struct CollectionTotals {
    /// Marking time in nanoseconds, without waiting for others; and the time since the last collection.
    ns: u64,
    since: u64,
    /// CPU time of the collection and its helpers, in nanoseconds.
    cpu_ns: u64,
    /// Stacks that were scanned.
    stacks: usize,
    /// What has come and gone outside the heap since the last collection.
    external: ExternalChange,
    /// What counted as alive before, was handed out since, and is alive now.
    pub(super) old: usize,
    pub(super) allocated: usize,
    pub(super) live: usize,
    /// The part of that which waits for its finalisers.
    revived: usize,
    /// Mutators that allocate.
    mutators: usize,
}

impl CollectionTotals {
    fn freed(&self) -> usize {
        (self.old + self.allocated).saturating_sub(self.live)
    }

    /// What it freed for its time. Of memory outside the heap nobody knows yet what it will free: what the last one freed
    /// stands for that.
    fn efficiency(&self) -> Efficiency {
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
pub(in crate::collect) struct NextCycle {
    /// The goal before this collection, and after it.
    pub(super) goal_before: usize,
    pub(super) goal: usize,
    /// How much may be allocated before the next collection.
    pub(super) budget: usize,
}

impl Work {
    /// The concurrent marking that this pause ends, if it does, before the policies take it.
    pub(in crate::collect) fn ended_totals(&self) -> Option<ConcurrentTotals> {
        self.concurrent.ended.map(|(cycle, _)| ConcurrentTotals {
            mark_ns: self.concurrent.beside,
            bytes: cycle.marked,
            assists: self.concurrent.assists,
            floating: self.concurrent.floating,
            in_stop: self.concurrent.overtaken_by.is_some(),
            degenerated: self.concurrent.overtaken_by.is_some_and(Cause::is_allocation),
        })
    }

    /// Tells the start of concurrent markings what a full collection has found; the last one before found `last` bytes, and
    /// `rose` have come outside the heap since.
    fn learn_rates(
        &mut self,
        totals: &CollectionTotals,
        concurrent: Option<(MarkCycle, usize)>,
        last: usize,
        rose: usize,
    ) {
        let now = clock::monotonic_ns();
        let start = &mut self.concurrent.start;
        let unseen = concurrent.map_or(0, |(_, promoted)| promoted);
        let grown = (totals.old + totals.allocated).saturating_sub(last);
        start.after_growth(
            grown + rose,
            now.saturating_sub(core::mem::replace(&mut self.concurrent.full_ended, now)),
        );
        start.after_full(totals.live, grown.saturating_sub(unseen), totals.freed());
        let is_late = self.concurrent.overtaken_by.take().is_some_and(Cause::is_allocation);
        match concurrent {
            Some((cycle, _)) => start.after_concurrent(cycle, is_late),
            // By one of the two clocks a loaded machine is no slower, and several threads are no slower than one.
            None => {
                let ns = totals.ns.min(totals.cpu_ns);
                start.after_stop(MarkCycle { marked: totals.live, ns });
            }
        }
    }
}

impl Collector {
    /// Counts what was handed out and what is alive.
    pub(in crate::collect) fn account(
        &self,
        pause: &Pause<'_>,
        work: &mut Work,
        kind: PauseKind,
        (marked, revived): (&MarkTotals, &MarkTotals),
        times: &Times,
    ) -> CollectionTotals {
        let old = pause.state().cycles().live();
        let AllocatedInCycle { bytes, left_by_arenas, mutators } = pause.world().allocated(pause.owners());
        let allocated = bytes.saturating_sub(left_by_arenas);
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
        let cpu_ns = times.marked.cpu.saturating_sub(times.began.cpu) + marked.helpers_cpu_ns;
        let (ns, since) = (times.marked.wall - times.stopped.wall, times.since_last());
        let (ns, since, cpu_ns) = match pause.state().cycles().is_paced_by_bytes() {
            true => (marked.bytes as u64, allocated as u64, marked.bytes as u64),
            false => (ns, since, cpu_ns),
        };
        // Promotions come by bytes: a larger heap would have as many.
        if !matches!(kind, PauseKind::Promote) {
            work.spent += cpu_ns;
            work.stopped += ns;
        }
        let revived = revived.bytes;
        let (stacks, external) = (pause.stack_bytes(), pause.space().external().change());
        CollectionTotals { ns, since, cpu_ns, stacks, external, old, allocated, live, revived, mutators }
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
        let external = pause.space().external();
        // The goal is for what comes outside the heap after the last full collection.
        let (outside, mut rose) = (external.level(), external.rose_since_full());
        let mut goal = goal_before;
        match kind {
            PauseKind::Full | PauseKind::FinalMark(_) => {
                let ended = work.concurrent.ended.take();
                let last = state.cycles().live_in_full();
                work.learn_rates(totals, ended, last, core::mem::take(&mut rose));
                state.cycles().set_live_in_full(totals.live);
                // The heap does not grow for floating garbage, and room for it is a part of the growth, of which a half is left in
                // any case. Nor does it grow for what waits for finalisers: that is free soon.
                let floating = ended.map_or(0, |(_, promoted)| work.concurrent.start.floating(promoted));
                let alive = totals.live.saturating_sub(floating + totals.revived) + outside;
                let growth = self.growth(pause, work, (totals, last), alive);
                // Where the plan changed in the stop this asks the kernel now.
                let bounds = prepared.bounds().unwrap_or_else(|| self.bounds(pause.space()));
                goal = self.pacer().goal((totals.live, outside), growth - floating.min(growth / 2), bounds);
                let beside = core::mem::take(&mut work.concurrent.beside);
                work.concurrent.assists = 0;
                work.nursery.after_full(
                    Efficiency { ns: efficiency.ns + beside, ..efficiency },
                    published.overflowed,
                );
            }
            // It comes out of turn.
            PauseKind::InitialMark(_) => {}
            PauseKind::Promote => work.nursery.after_promotion(totals.allocated, published.overflowed),
            PauseKind::Young { .. } => work.nursery.after_young(efficiency, published.stores),
        }
        if kind.collection() == Collection::Young {
            work.concurrent.start.after_promotion(totals.live.saturating_sub(totals.old), totals.since);
        }
        let size = totals.live + work.left_by_arenas + rose;
        if let PauseKind::InitialMark(_) = kind {
            work.concurrent.started_at = size;
            let latest = work.concurrent.start.latest_end(size, goal);
            let bounds = prepared.bounds().unwrap_or_else(|| self.bounds(pause.space()));
            goal = self.pacer().goal((size, outside - rose.min(outside)), latest - size, bounds);
        }
        state.cycles().set_sizes(totals.live, goal);
        let beside = self.marks_concurrently(state);
        let mut budget = work.nursery.budget(size, goal, totals.mutators);
        work.concurrent.starts_next = false;
        if beside {
            budget = self.start_concurrent(state, work, size, budget, goal);
        }
        work.nursery.begin_cycle(beside);
        NextCycle { goal_before, goal, budget }
    }

    /// Asks for a concurrent marking of a heap of `size` bytes if it is time; otherwise the budget ends where it will be, if
    /// nothing else comes before.
    fn start_concurrent(
        &self,
        state: &State,
        work: &mut Work,
        size: usize,
        mut budget: usize,
        goal: usize,
    ) -> usize {
        let live = state.cycles().live_in_full();
        let always = || self.concurrent().is_always().then(|| goal - goal.saturating_sub(live) / 2);
        let mut starts_next = false;
        if work.session.is_none() {
            let Some(line) = work.concurrent.start.line(live, goal).or_else(always) else { return budget };
            let left = line.saturating_sub(size);
            if work.concurrent.start.is_due(size, line) {
                state.marking_requests().start();
            } else if work.nursery.next() == NextCollection::Full {
                starts_next = true;
                budget = budget.min(left.max(LEAST_BUDGET));
            }
        }
        budget = work.nursery.part_of_budget(budget);
        work.concurrent.starts_next = starts_next && work.nursery.next() == NextCollection::Full;
        budget
    }

    /// How much may be allocated after a full collection that found `live` bytes before the next, by what all since the last one,
    /// which found `last` bytes, took.
    fn growth(
        &self,
        pause: &Pause<'_>,
        work: &mut Work,
        (totals, last): (&CollectionTotals, usize),
        live: usize,
    ) -> usize {
        let added = (totals.old + totals.allocated).saturating_sub(last);
        if pause.state().cycles().is_paced_by_bytes() {
            let spent = core::mem::take(&mut work.spent);
            let spent = Spent {
                collecting_ns: spent,
                all_ns: spent + added as u64,
                added,
                freed: totals.freed() + totals.revived,
            };
            return work.growth.after_full(live, self.pacer().percent(), totals.mutators, spent);
        }
        let starved = pause.space().reclaim_clock().times().starved_ns;
        let mutators = totals.mutators;
        // A pause costs each core that a mutator had.
        let waited = (work.stopped * mutators.min(cores::available()) as u64).saturating_sub(work.spent);
        let now = clock::process_cpu_ns();
        let spent = Spent {
            collecting_ns: work.spent + waited + (starved - work.starved),
            all_ns: now.saturating_sub(work.spent_by_all) + waited,
            added,
            freed: totals.freed() + totals.revived,
        };
        (work.spent, work.stopped, work.spent_by_all, work.starved) = (0, 0, now, starved);
        work.growth.after_full(live, self.pacer().percent(), mutators, spent)
    }
}
