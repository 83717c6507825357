//! After the mutators go on: statistics, the phase clock and the trace line. Invariant: nothing is written while the world is
//! stopped.

use super::super::cause::Cause;
use super::super::collector::Collector;
use super::super::plan::PauseKind;
use super::account::{CollectionTotals, NextCycle};
use crate::mark::MarkTotals;
use crate::observe::{RootBytes, Times, TracedCollection};
use crate::state::State;

/// What the phases have found.
pub(in crate::collect) struct Report<'c> {
    pub(in crate::collect) cause: Cause,
    pub(in crate::collect) kind: PauseKind,
    pub(in crate::collect) marked: &'c MarkTotals,
    pub(in crate::collect) totals: &'c CollectionTotals,
    pub(in crate::collect) next: &'c NextCycle,
    pub(in crate::collect) roots: RootBytes,
    pub(in crate::collect) times: &'c Times,
}

impl Collector {
    pub(in crate::collect) fn report(&self, state: &State, report: Report<'_>) {
        let Report { cause, kind, marked, totals, next, roots, times } = report;
        if std::env::var_os("HWT").is_some() {
            let us = |a: u64, b: u64| b.saturating_sub(a) / 1000;
            eprintln!(
                "{kind:?} {cause:?} presweep {} tts {} cpu: stop-to-mark {} mark {} rest {} | old {} alloc {} live {} goal {} -> {} budget {}",
                us(times.began.wall, times.requested.wall),
                us(times.requested.wall, times.stopped.wall),
                us(times.stopped.cpu, times.marking.cpu),
                us(times.marking.cpu, times.marked.cpu),
                us(times.marked.cpu, times.ended.cpu),
                totals.old >> 10,
                totals.allocated >> 10,
                totals.live >> 10,
                next.goal_before >> 10,
                next.goal >> 10,
                next.budget >> 10
            );
        }
        self.record().lock().add(times, marked, kind.collection(), self.verify().is_some());
        self.tracing().add(times);
        if self.tracing().traces_collections() {
            let collected = TracedCollection {
                number: state.cycles().collections(),
                kind: kind.collection(),
                sizes: (totals.old + totals.allocated, totals.live),
                goal: next.goal_before,
                roots,
                forced: !cause.is_allocation(),
            };
            self.tracing().report_collection(state.space(), times, &collected);
        }
    }
}
