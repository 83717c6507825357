//! Who looks on: the program's hook, verify mode and the snapshots of pages, while the heap stands still; statistics and the trace
//! line after the mutators go on. Invariant: without verify mode and snapshots this costs two tests in a stop, and nothing is written in one.

use super::super::collector::Collector;
use super::super::concurrent_rule::InStop;
use super::super::cycle::Cycle;
use super::super::hook::{CollectionHook, CollectionKind, CollectionMoment};
use super::super::plan::PauseKind;
use crate::observe::TracedCollection;
use crate::pause::Pause;
use crate::process::record;
use crate::state::State;
use heapwood_heap::Collection;

impl Collector {
    /// Calls the program's hook, if there is one.
    pub(in crate::collect) fn call_hook(
        &self,
        pause: &Pause<'_>,
        cycle: &Cycle<'_>,
        moment: CollectionMoment,
    ) {
        let Some(CollectionHook { function, argument }) = cycle.work.hook() else { return };
        let kind = CollectionKind::of(cycle.kind);
        // SAFETY: whoever set it lets any thread call it with this, in a stop.
        record().call_program(pause.state(), || unsafe { function(argument, moment, kind) });
    }

    pub(in crate::collect) fn verify_before_marking(&self, pause: &Pause<'_>, cycle: &Cycle<'_>) {
        self.snapshots().before_marking(pause.space());
        if let Some(verify) = self.verify() {
            pause.check_roots();
            if cycle.checks {
                verify.before_marking(pause);
            }
        }
    }

    /// A part of marking, for trace functions are called: the second marking of verify mode, beside a concurrent one.
    pub(in crate::collect) fn verify_concurrent(&self, pause: &Pause<'_>, cycle: &mut Cycle<'_>) {
        let Some(verify) = self.verify() else { return };
        match cycle.kind {
            PauseKind::InitialMark(_) if cycle.checks => verify.begin_concurrent(pause),
            PauseKind::InitialMark(_) => {}
            PauseKind::FinalMark(_) => cycle.work.concurrent.floating = verify.end_concurrent(pause),
            PauseKind::Full | PauseKind::Young { .. } | PauseKind::Promote => {}
        }
    }

    /// In verify mode what is dead is kept for some time. This follows the end of a concurrent marking, which may have marked what the
    /// program freed meanwhile.
    pub(in crate::collect) fn keep_dead(&self, pause: &Pause<'_>, cycle: &Cycle<'_>) {
        let (state, kind) = (pause.state(), cycle.collection());
        if let Some(quarantine) = state.quarantine() {
            let number = state.cycles().collections() + 1;
            let died = |object| {
                if let Some(verify) = self.verify() {
                    verify.forget(object);
                }
            };
            quarantine.take((pause.space(), pause.world()), kind, number, cycle.cause.wants_room(), died);
        }
    }

    pub(in crate::collect) fn verify_after_marking(&self, pause: &Pause<'_>, cycle: &Cycle<'_>) {
        self.snapshots().after_marking(pause.space(), pause.world());
        pause.state().faults().free_survivors(pause.world());
        if let Some(verify) = self.verify() {
            match cycle.checks {
                true => verify.after_marking(pause, cycle.collection(), cycle.kind.is_exact()),
                false => verify.leave_unchecked(pause),
            }
        }
    }

    pub(in crate::collect) fn report(&self, state: &State, cycle: &Cycle<'_>) {
        let Cycle { kind, marked, totals, times, words, .. } = cycle;
        let mut record = self.record().lock();
        record.add(times, marked, cycle.collection(), cycle.checks);
        match (kind, &cycle.ended) {
            (PauseKind::InitialMark(_), _) => record.add_marking_start(times, *words),
            (PauseKind::FinalMark(_), Some(totals)) => record.add_marking_end(times, *words, totals),
            _ => {}
        }
        let cpu_ns = record.cpu_ns();
        drop(record);
        if let Some(verify) = self.verify() {
            let (_, queued, ever) = state.finalizers().counts();
            verify.look_at_queues(state.reports(), queued, ever);
        }
        if self.tracing().is_on() {
            let collected = TracedCollection {
                number: state.cycles().collections(),
                kind: kind.name(cycle.ended.is_some_and(|totals| totals.degenerated)),
                cause: cycle.reported.name(),
                why: cycle.in_stop.map(InStop::name),
                ended: cycle.ended,
                sizes: (totals.old + totals.allocated, totals.live),
                goal: cycle.next.goal_before,
                roots: cycle.roots,
                forced: cycle.reported.is_forced(),
            };
            self.tracing().report(state.space(), cpu_ns, times, &collected);
        }
    }

    /// Gives back what only large collections need, and tells who waits for a full one.
    pub(in crate::collect) fn trim(&self, state: &State, cycle: &mut Cycle<'_>) {
        cycle.work.last_ended = cycle.times.ended.wall;
        cycle.work.marking.trim();
        state.ephemerons().trim();
        if let PauseKind::FinalMark(_) = cycle.kind {
            state.marking_log().trim();
        }
        if cycle.collection() == Collection::Full {
            state.full_collections().tell_ended(state.cycles());
        }
    }
}
