//! Between the end of marking and the swap of the sides: what is reachable is known, and nothing has been forgotten yet.
//! What is weak is cleared first (`clear_weak`): ephemerons have had their fixed point, as the end of marking. Then tags of
//! dead objects go to the queue of finalisers (`state/finalizers`); finalisers of the objects themselves will be resolved here
//! (docs/design/finalization.md). It runs as a part of marking: trace functions may be called, the marker and an active session
//! can mark more, and what they mark is added to the totals.
//!
//! A young pause marks on the side of the allocation bits: there an object is dead if it has none, and only young objects
//! are looked at. A promotion, and a young pause that was late, keep everything: all that is young has its bit then.
//! Invariant: it marks nothing but what it makes reachable again, and all of that.

use super::super::collector::Collector;
use super::super::plan::PauseKind;
use super::clear_weak::{clear_ephemerons, clear_links};
use crate::inject::Fault;
use crate::pause::Pause;
use crate::state::{LinkKind, Pass};
use heapwood_heap::{Collection, ObjectRef};

/// Bytes of an entry, by which what this phase looks at is counted.
const ENTRY: usize = 32;

impl Collector {
    pub(in crate::collect) fn after_closure(&self, pause: &Pause<'_>, kind: PauseKind) {
        clear_ephemerons(pause, kind);
        clear_links(pause, kind, LinkKind::Short);
        let (finalizers, world, faults) = (pause.state().finalizers(), pause.world(), pause.state().faults());
        let marks = world.mark_side(Collection::Full);
        let looked = match kind {
            PauseKind::Full | PauseKind::FinalMark(_) => finalizers.settle(
                Pass::All,
                |object| !world.is_marked(ObjectRef::new(object)) && !faults.fails(Fault::FinalizerMissed),
                |object| marks.prefetch(object),
            ),
            PauseKind::Young { .. } | PauseKind::InitialMark(_) | PauseKind::Promote => finalizers.settle(
                Pass::Young,
                |object| match faults.fails(Fault::FinalizedByMark) {
                    true => !world.is_marked(ObjectRef::new(object)),
                    false => !world.is_allocated(ObjectRef::new(object)),
                },
                |_| (),
            ),
        };
        pause.add_scanned(looked * ENTRY);
        clear_links(pause, kind, LinkKind::Long);
    }
}
