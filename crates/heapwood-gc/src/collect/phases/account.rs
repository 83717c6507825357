//! What the marking has found, and what follows: the nursery's next size, the heap's growth and its goal, the budget until the next
//! collection, and the beginning of its cycle. The decisions are the policies' (`policy`); here they are fed. Invariant: sizes in bytes are those of
//! cells and pages, without what arenas hold.

use super::super::cause::Cause;
use super::super::collector::{Collector, Work};
use super::super::concurrent_rule::InStop;
use super::super::cycle::{CollectionTotals, Cycle, NextCycle};
use super::super::plan::PauseKind;
use crate::observe::ConcurrentTotals;
use crate::pause::Pause;
use crate::policy::{
    Bounds, Efficiency, LEAST_BUDGET, LEAST_BUDGET_OF_YOUNG, MarkCycle, MarkPace, NextCollection, Spent,
};
use crate::state::State;
use crate::state::barrier_bits::{MARK, YOUNG};
use core::sync::atomic::Ordering;
use heapwood_heap::{AllocatedInCycle, Collection, Space};
use heapwood_os::process::{clock, cores};

impl Work {
    /// The concurrent marking that this pause ends, if it does, before the policies take it.
    fn ended_totals(&self) -> Option<ConcurrentTotals> {
        self.concurrent.ended.map(|(cycle, _)| ConcurrentTotals {
            mark_ns: self.concurrent.beside,
            bytes: cycle.marked,
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
        self.concurrent.overtaken_by = None;
        match concurrent {
            Some((cycle, _)) => start.after_concurrent(cycle),
            // By one of the two clocks a loaded machine is no slower, and several threads are no slower than one.
            None => {
                let ns = totals.ns.min(totals.cpu_ns);
                start.after_stop(MarkCycle { marked: totals.live, ns });
            }
        }
    }
}

impl Work {
    /// Asks for a concurrent marking of a heap of `size` bytes if it is time; otherwise the budget ends where it will be, if
    /// nothing else comes before.
    fn start_concurrent(&mut self, state: &State, line: usize, size: usize, budget: usize) -> usize {
        if self.concurrent.start.is_due(size, line) {
            state.marking_requests().start();
        } else if self.nursery.next() == NextCollection::Full {
            self.concurrent.starts_next = true;
            return budget.min(line.saturating_sub(size).max(LEAST_BUDGET));
        }
        budget
    }
}

impl Collector {
    /// Counts what was handed out and what is alive.
    pub(in crate::collect) fn account(&self, pause: &Pause<'_>, cycle: &mut Cycle<'_>) {
        cycle.times.end_marking(&cycle.marked);
        let Cycle { work, kind, marked, times, .. } = &mut *cycle;
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
        let (stacks, external) = (pause.stack_bytes(), pause.space().external().change());
        cycle.totals =
            CollectionTotals { ns, since, cpu_ns, stacks, external, old, allocated, live, mutators };
        cycle.ended = cycle.work.ended_totals();
        // Who ended a concurrent marking before its time names its own cause.
        cycle.reported = cycle.work.concurrent.overtaken_by.unwrap_or(cycle.cause);
        cycle.in_stop = cycle.why_in_stop();
        pause.space().external().set_entries(pause.state().entry_bytes());
    }

    /// Sets when the next collection is due.
    pub(in crate::collect) fn set_goal(&self, pause: &Pause<'_>, cycle: &mut Cycle<'_>) {
        let (state, efficiency) = (pause.state(), cycle.totals.efficiency());
        let goal_before = state.cycles().goal().load(Ordering::Relaxed);
        let external = pause.space().external();
        // The goal is for what comes outside the heap after the last full collection.
        let (outside, mut rose) = (external.level(), external.rose_since_full());
        let mut goal = goal_before;
        match cycle.kind {
            PauseKind::Full | PauseKind::FinalMark(_) => {
                let ended = cycle.work.concurrent.ended.take();
                let last = state.cycles().live_in_full();
                let live = cycle.totals.live;
                cycle.work.learn_rates(&cycle.totals, ended, last, core::mem::take(&mut rose));
                state.cycles().set_live_in_full(live);
                // The heap does not grow for floating garbage, and room for it is a part of the growth, of which a half is left in
                // any case. Nor does it grow for what waits for finalisers: that is free soon.
                let floating =
                    ended.map_or(0, |(_, promoted)| cycle.work.concurrent.start.floating(promoted));
                let alive = live.saturating_sub(floating + cycle.revived.bytes) + outside;
                let growth = self.growth(pause, cycle, last, alive);
                let bounds = cycle.bounds(self, state);
                goal = self.pacer().goal((live, outside), growth - floating.min(growth / 2), bounds);
                let beside = core::mem::take(&mut cycle.work.concurrent.beside);
                let efficiency = Efficiency { ns: efficiency.ns + beside, ..efficiency };
                cycle.work.nursery.after_full(efficiency, cycle.overflowed);
            }
            // It comes out of turn.
            PauseKind::InitialMark(_) => {}
            PauseKind::Promote => {
                cycle.work.nursery.after_promotion(cycle.totals.allocated, cycle.overflowed);
            }
            PauseKind::Young { .. } => cycle.work.nursery.after_young(efficiency, cycle.stores),
        }
        if cycle.collection() == Collection::Young {
            let grown = cycle.totals.live.saturating_sub(cycle.totals.old);
            cycle.work.concurrent.start.after_promotion(grown, cycle.totals.since);
            cycle.work.concurrent.after_young(grown, cycle.totals.allocated);
        }
        let size = cycle.totals.live + cycle.work.left_by_arenas + rose;
        if let PauseKind::InitialMark(_) = cycle.kind {
            let start = &cycle.work.concurrent.start;
            let unseen = size.saturating_sub(state.cycles().live_in_full());
            let expected = size - start.floating(unseen);
            let latest = start.latest_end(size, goal);
            // One that starts too late takes half of what it may exceed the goal by.
            let paced = goal.max(size + (latest - size) / 2);
            cycle.work.concurrent.pace = MarkPace { start: size, goal: paced, expected };
            let bounds = cycle.bounds(self, state);
            goal = self.pacer().goal((size, outside - rose.min(outside)), latest - size, bounds);
        }
        state.cycles().set_sizes(cycle.totals.live, goal);
        let (work, live) = (&mut *cycle.work, state.cycles().live_in_full());
        let line = self.may_mark_concurrently(state).and_then(|()| {
            let line = work.concurrent.start.line(live, goal, self.concurrent().max_pause() as f64);
            line.ok_or(InStop::Short)
        });
        work.concurrent.in_stop = line.err();
        let line = line.ok();
        state.cycles().set_would_stop_long(line.is_some());
        let is_active = work.session.is_active();
        let mut budget = work.nursery.budget(size, goal, cycle.totals.mutators);
        if is_active && work.nursery.next() == NextCollection::Full {
            // The marking ends before the room does: what is young until then is looked at as usual.
            budget = (budget / 2).max(LEAST_BUDGET_OF_YOUNG);
        }
        work.concurrent.starts_next = false;
        if let Some(line) = line.filter(|_| work.session.is_none()) {
            budget = work.start_concurrent(state, line, size, budget);
        }
        if line.is_some() || is_active {
            budget = work.nursery.part_of_budget(budget);
            work.concurrent.starts_next &= work.nursery.next() == NextCollection::Full;
        }
        work.nursery.begin_cycle(line.is_some() || is_active);
        cycle.next = NextCycle { goal_before, goal, budget };
    }

    /// How much may be allocated after a full collection that found `live` bytes before the next, by what all since the last one,
    /// which found `last` bytes, took.
    fn growth(&self, pause: &Pause<'_>, cycle: &mut Cycle<'_>, last: usize, live: usize) -> usize {
        let (totals, work) = (&cycle.totals, &mut *cycle.work);
        let added = (totals.old + totals.allocated).saturating_sub(last);
        let freed = totals.freed() + cycle.revived.bytes;
        let (percent, mutators) = (self.pacer().percent(), totals.mutators);
        if pause.state().cycles().is_paced_by_bytes() {
            let collecting_ns = core::mem::take(&mut work.spent);
            let spent = Spent { collecting_ns, all_ns: collecting_ns + added as u64, added, freed };
            return work.growth.after_full(live, percent, mutators, spent);
        }
        let starved = pause.space().reclaim_clock().times().starved_ns;
        // A pause costs each core that a mutator had.
        let waited = (work.stopped * mutators.min(cores::available()) as u64).saturating_sub(work.spent);
        let now = clock::process_cpu_ns();
        let spent = Spent {
            collecting_ns: work.spent + waited + (starved - work.starved),
            all_ns: now.saturating_sub(work.spent_by_all) + waited,
            added,
            freed,
        };
        (work.spent, work.stopped, work.spent_by_all, work.starved) = (0, 0, now, starved);
        work.growth.after_full(live, percent, mutators, spent)
    }

    /// What bounds the goal. May ask the kernel.
    pub(in crate::collect) fn bounds(&self, space: &Space) -> Bounds {
        self.pacer().bounds(space.memory().resident_bytes())
    }

    /// The sides of the mark bits swap after a full marking, every span is unswept, the new budget begins, and the barriers are set:
    /// the thread that is resumed after this allocates and stores by the rules of the new cycle.
    pub(in crate::collect) fn begin_cycle(&self, pause: &Pause<'_>, cycle: &mut Cycle<'_>) {
        let NextCycle { budget, goal, .. } = cycle.next;
        pause.world().end_marking(cycle.collection(), pause.owners(), budget, goal);
        let size = cycle.work.size(pause.state());
        let Work { session, concurrent, .. } = &mut *cycle.work;
        concurrent.grant(pause.state(), session.active().map(|session| session.marked()), size);
        self.roots().forget_changes();
        let (state, nursery) = (pause.state(), &cycle.work.nursery);
        if nursery.remembers() {
            pause.note_frames();
        }
        state.remembered().clear(nursery.most_remembered());
        let mutators = pause.members().iter().count().max(1) as u64;
        state.remembered().allow_stores(nursery.most_stores() / mutators);
        state.set_barrier(YOUNG, nursery.remembers());
        state.set_barrier(MARK, cycle.work.session.is_active());
        for mutator in pause.members().iter() {
            mutator.barrier().forget_stores();
            mutator.barrier().begin_cycle();
        }
        state.cycles().count_collection(cycle.collection(), cycle.totals.allocated);
        cycle.words = pause.words();
    }
}
