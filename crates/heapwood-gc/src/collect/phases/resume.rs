//! The mutators go on; those whose threads have vanished are detached. Invariant: the process may fork only when the heap is
//! whole again.

use super::super::cause::Cause;
use super::super::collector::Collector;
use super::super::hook::{CollectionHook, CollectionMoment};
use super::super::plan::PauseKind;
use super::account::CollectionTotals;
use crate::observe::{Moment, Times};
use crate::pause::Pause;
use heapwood_heap::Collection;

impl Collector {
    pub(in crate::collect) fn resume(
        &self,
        pause: Pause<'_>,
        cause: Cause,
        (kind, hook): (PauseKind, Option<CollectionHook>),
        totals: &CollectionTotals,
        times: &mut Times,
    ) {
        let (state, space) = (pause.state(), pause.space());
        state.cycles().count_collection(kind.collection(), totals.allocated);
        self.call_hook(hook, &pause, CollectionMoment::End, kind);
        let no_fork = pause.resume(|members| {
            if self.stops_by_signals() {
                self.registry().remove_gone(members);
            }
        });
        if kind.collection() == Collection::Full {
            space.arenas().trim(cause.wants_room());
        }
        drop(no_fork);
        times.ended = Moment::now();
    }
}
