//! After the mutators go on: statistics, the phase clock and the trace line. Invariant: nothing is written while the world is
//! stopped.

use super::super::cause::Cause;
use super::super::collector::Collector;
use super::super::plan::PauseKind;
use super::account::{CollectionTotals, NextCycle};
use crate::mark::MarkTotals;
use crate::observe::memory_parts::MemoryParts;
use crate::observe::{ConcurrentTotals, MemoryAccount, RootBytes, Times, TracedCollection};
use crate::pause::Pause;
use crate::state::State;
use heapwood_heap::Collection;
use heapwood_os::process::usage::resident_memory;

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
    /// Where the memory was before it marked, if that is traced.
    pub(in crate::collect) memory: Option<MemoryParts>,
    /// The words that it looked at.
    pub(in crate::collect) words: usize,
    pub(in crate::collect) times: &'c Times,
}

impl Collector {
    /// Where the memory is before a full collection marks, if that is traced.
    pub(in crate::collect) fn memory_to_trace(
        &self,
        pause: &Pause<'_>,
        expected: Collection,
    ) -> Option<MemoryParts> {
        let is_traced = self.tracing().traces_memory() && expected == Collection::Full;
        is_traced.then(|| {
            let account = MemoryAccount::of_pages(pause.state(), &pause.world().parts(pause.owners()));
            MemoryParts { process: resident_memory().unwrap_or(0) as usize, ..account.parts }
        })
    }

    pub(in crate::collect) fn report(&self, state: &State, report: Report<'_>) {
        let Report { cause, kind, marked, totals, next, ended, roots, words, memory, times } = report;
        self.record().lock().add(times, marked, kind.collection(), self.verify().is_some());
        match (kind, ended) {
            (PauseKind::InitialMark(_), _) => self.record().lock().add_marking_start(times, words),
            (PauseKind::FinalMark(_), Some(totals)) => {
                self.record().lock().add_marking_end(times, words, totals);
            }
            _ => {}
        }
        self.tracing().add(times);
        if let Some(memory) = memory {
            self.tracing().report_memory(state.cycles().collections(), &memory);
        }
        if self.tracing().traces_collections() {
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
            self.tracing().report_collection(state.space(), times, &collected);
        }
    }
}
