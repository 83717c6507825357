//! After the mutators go on: statistics and the trace line. Invariant: nothing is written while the world is
//! stopped.

use super::super::cause::Cause;
use super::super::collector::Collector;
use super::super::plan::PauseKind;
use super::account::{CollectionTotals, NextCycle};
use crate::mark::MarkTotals;
use crate::observe::{ConcurrentTotals, RootBytes, Times, TracedCollection};
use crate::state::State;

/// What the phases have found.
pub(in crate::collect) struct Report<'c> {
    pub(in crate::collect) cause: Cause,
    pub(in crate::collect) kind: PauseKind,
    pub(in crate::collect) marked: &'c MarkTotals,
    pub(in crate::collect) totals: &'c CollectionTotals,
    pub(in crate::collect) next: &'c NextCycle,
    /// The concurrent marking that it ended.
    pub(in crate::collect) ended: Option<&'c ConcurrentTotals>,
    pub(in crate::collect) roots: RootBytes,
    /// The words that it looked at.
    pub(in crate::collect) words: usize,
    pub(in crate::collect) times: &'c Times,
}

impl Collector {
    pub(in crate::collect) fn report(&self, state: &State, report: Report<'_>) {
        let Report { cause, kind, marked, totals, next, ended, roots, words, times } = report;
        let mut record = self.record().lock();
        record.add(times, marked, kind.collection(), self.verify().is_some());
        match (kind, ended) {
            (PauseKind::InitialMark(_), _) => record.add_marking_start(times, words),
            (PauseKind::FinalMark(_), Some(totals)) => record.add_marking_end(times, words, totals),
            _ => {}
        }
        let cpu_ns = record.cpu_ns();
        drop(record);
        if self.tracing().is_on() {
            let collected = TracedCollection {
                number: state.cycles().collections(),
                kind: kind.name(ended.is_some_and(|totals| totals.degenerated)),
                cause: cause.name(),
                ended: ended.copied(),
                sizes: (totals.old + totals.allocated, totals.live),
                goal: next.goal_before,
                roots,
                forced: cause.is_forced(),
            };
            self.tracing().report(state.space(), cpu_ns, times, &collected);
        }
    }
}
