//! Right after the stop: each span that a mutator allocates from learns how far that has come, the stores that mutators have
//! remembered and the objects that they have shaded are handed in, and the plan is made from what is known now. Nothing is taken away from a mutator. Invariant: of
//! thousands of allocation buffers only the active ones are looked at.

use super::super::cause::Cause;
use super::super::collector::{Collector, Work};
use super::super::plan::{Observed, PauseKind, plan};
use super::prepare::Prepared;
use crate::observe::{RootBytes, Times};
use crate::pause::Pause;
use crate::policy::start_limits::{MOST_NOTED, MOST_YOUNG};
use crate::roots::Source;
use crate::state::barrier_bits::MARK;
use heapwood_heap::Collection;

/// What mutators have handed in.
pub(in crate::collect) struct Published {
    /// Stores that took the slow half of the write barrier since the last collection.
    pub(super) stores: u64,
    /// Others are missing from the remembered set.
    pub(super) overflowed: bool,
}

impl Collector {
    pub(in crate::collect) fn publish(&self, pause: &Pause<'_>) -> Published {
        let stores = pause.members().iter().map(|m| m.barrier().close_stores()).sum();
        if pause.state().barrier() & MARK != 0 {
            pause.members().iter().for_each(|m| m.barrier().close_shaded());
        }
        let overflowed = pause.state().remembered().has_overflowed();
        pause.owners().for_each(|owner| owner.publish());
        Published { stores, overflowed }
    }

    /// Decides what the pause does. Marking begins now.
    pub(in crate::collect) fn plan_pause(
        &self,
        pause: &Pause<'_>,
        cause: Cause,
        prepared: &Prepared<'_>,
        work: &Work,
        times: &mut Times,
    ) -> PauseKind {
        times.begin_marking(pause.space());
        let time = match pause.state().cycles().young_time() {
            Some(set) => set,
            None if pause.state().cycles().is_paced_by_bytes() => u64::MAX,
            None => work.nursery.most_time(times.since_last()),
        };
        plan(&Observed {
            cause,
            expected: prepared.expected(),
            overflowed: pause.state().remembered().has_overflowed(),
            remembers: work.nursery.remembers(),
            session: work.session.phase(),
            may_mark_beside: self.may_mark_beside(pause.state()),
            waits: cause.may_wait() && self.has_much_first(pause),
            deadline: times.marking.wall.saturating_add(time),
        })
    }

    /// Whether a pause that may wait has much to do first: for young objects, or for what barriers have noted, of which each may
    /// be the only path to others.
    fn has_much_first(&self, pause: &Pause<'_>) -> bool {
        let noted = pause.state().marking_log().waiting();
        noted > MOST_NOTED || pause.world().allocated(pause.owners()).bytes > MOST_YOUNG
    }

    /// How many bytes of roots a collection looks at, if it is to be told.
    pub(in crate::collect) fn count_roots(&self, pause: &Pause<'_>, kind: Collection) -> RootBytes {
        let mut bytes = RootBytes::default();
        if self.tracing().is_on() {
            pause.for_each_root(kind, |source, words| {
                *(if source == Source::Stack { &mut bytes.stacks } else { &mut bytes.others }) += words.len();
            });
        }
        bytes
    }
}
