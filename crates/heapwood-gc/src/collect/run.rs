//! One collection, as the list of its phases, each in the file of its name (`phases`). Sweeping is left to allocation. Whippet's
//! `collect` is such a list.
//!
//! The registry's lock is held while the world is stopped, so threads that want to attach wait. Invariant: from the first
//! request to the last resume no ordinary allocator is called, for a stopped thread may be inside one.

use super::cause::Cause;
use super::collector::{Collector, Work};
use super::hook::CollectionMoment;
use super::phases::{ClientPart, Report};
use super::plan::PauseKind;
use crate::observe::Times;
use crate::state::State;
use heapwood_heap::Collection;
use heapwood_os::threads::cancellation::Uncancelled;

impl Collector {
    /// One collection. A thread is cancelled after it only, also where the program's functions that it calls have cancellation
    /// points.
    pub(super) fn run_stopped(&self, state: &State, cause: Cause, work: &mut Work) {
        let _uncancelled = Uncancelled::begin();
        let mut times = Times::begin(state.space(), work.last_ended);
        let prepared = self.prepare(state, cause, work);
        let client = ClientPart::of(state, work.client());
        client.before();
        let mut pause = self.stop_world(state, &mut times, client);
        let published = self.publish(&pause);
        self.verify_before_marking(&pause);
        let roots = self.count_roots(&pause, prepared.expected());
        let kind = self.plan_pause(&pause, cause, &prepared, work, &mut times);
        self.call_hook(work.hook(), &pause, CollectionMoment::Start, kind);
        let (marked, revived) = state.marking_threads().while_marking(|| {
            let marked = self.mark(&mut pause, work, kind);
            let revived = self.after_closure(&pause, work, kind);
            self.take_snapshot(&pause, work, kind);
            self.verify_concurrent(&pause, work, kind);
            self.end_marking(&pause, work, kind);
            (marked.plus(revived), revived)
        });
        times.end_marking(&marked);
        let totals = self.account(&pause, work, kind, (&marked, &revived), &times);
        let ended = work.ended_totals();
        state.space().external().set_entries(state.entry_bytes());
        // Who ended a concurrent marking before its time names its own cause.
        let reported = work.concurrent.overtaken_by.unwrap_or(cause);
        let next = self.set_goal(&pause, work, kind, &prepared, &totals, &published);
        self.begin_cycle(&pause, work, kind, &next);
        let words = pause.words();
        self.verify_after_marking(&pause, kind);
        self.resume(pause, cause, (kind, work.hook()), &totals, &mut times);
        client.unlock();
        state.finalizers().tell();
        work.last_ended = times.ended.wall;
        self.report(
            state,
            Report {
                cause: reported,
                kind,
                marked: &marked,
                totals: &totals,
                next: &next,
                ended: ended.as_ref(),
                roots,
                words,
                times: &times,
            },
        );
        work.marking.trim();
        state.ephemerons().trim();
        if let PauseKind::FinalMark(_) = kind {
            state.marking_log().trim();
        }
        if kind.collection() == Collection::Full {
            state.full_collections().tell_ended(state.cycles());
        }
        client.after();
    }
}
