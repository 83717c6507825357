//! Between the end of marking and the swap of the sides: what is reachable is known, and nothing has been forgotten yet.
//! What is weak is cleared first (`clear_weak`): ephemerons have had their fixed point, as the end of marking. Then finalisers are
//! resolved (`state/finalizers`): entries of dead objects go to their queues, and objects that the program is to have are revived,
//! with all that they lead to, ephemerons among it (docs/design/finalization.md). Long links are cleared last. It runs as a part of
//! marking: trace functions may be called, the marker marks more, and what it marks is added to the totals.
//!
//! A young pause marks on the side of the allocation bits: there an object is dead if it has none, and only young objects
//! are looked at. A promotion, and a young pause that was late, keep everything: all that is young has its bit then. The end
//! of a concurrent marking does both, the young part first: old objects that are dead lead to no young one, nor the other way.
//! Invariant: it marks nothing but what it makes reachable again, and all of that.

use super::super::collector::Collector;
use super::super::cycle::Cycle;
use super::super::plan::PauseKind;
use super::clear_weak::{clear_ephemerons, clear_links, drop_links};
use crate::inject::Fault;
use crate::mark::{MarkTotals, Revived};
use crate::pause::Pause;
use crate::state::{ENTRY, FinalizersInPause, LinkKind, Pass};
use heapwood_heap::{Collection, ObjectRef};
use heapwood_layout::WORD;
use heapwood_os::diagnose::message::corrupt;

impl Collector {
    pub(in crate::collect) fn after_closure(&self, pause: &Pause<'_>, cycle: &mut Cycle<'_>) {
        let kind = cycle.kind;
        let passes: &[_] = match kind {
            PauseKind::Full => &[Pass::All],
            PauseKind::FinalMark(_) => &[Pass::Young, Pass::Rest],
            PauseKind::Young { .. } | PauseKind::InitialMark(_) | PauseKind::Promote => &[Pass::Young],
        };
        let faults = pause.state().faults();
        if !faults.fails(Fault::RevivedKeyKept) {
            clear_ephemerons(pause, kind);
        }
        clear_links(pause, kind, LinkKind::Short);
        if faults.fails(Fault::LongLinkEarly) {
            clear_links(pause, kind, LinkKind::Long);
        }
        let (mut marked, mut circles) = (MarkTotals::default(), 0);
        for &pass in passes {
            let verify = self.verify().filter(|_| pause.state().finalizers().has_any());
            verify.inspect(|verify| verify.reach(pause));
            if let Some(finalizers) = pause.state().finalizers().in_pause() {
                let (more, found) = self.finalize(pause, cycle, &finalizers, pass);
                (marked, circles) = (marked.plus(more), circles + found);
                if pass != Pass::Young {
                    finalizers.set_circles(circles);
                }
            }
            verify.inspect(|verify| verify.forget_reached());
        }
        drop_links(pause, kind);
        clear_links(pause, kind, LinkKind::Long);
        if let PauseKind::InitialMark(_) = kind
            && let Some(finalizers) = pause.state().finalizers().in_pause()
        {
            finalizers.begin_marking();
        }
        if let (Collection::Young, Some(session)) = (kind.collection(), cycle.work.session.active()) {
            session.add_young(marked);
        }
        pause.add_scanned(marked.bytes);
        (cycle.marked, cycle.revived) = (cycle.marked.plus(marked), marked);
    }

    /// Queues what finalisers of dead objects are for, and revives those that the program is to have. Returns also how many circles
    /// wait.
    fn finalize(
        &self,
        pause: &Pause<'_>,
        cycle: &mut Cycle<'_>,
        finalizers: &FinalizersInPause<'_>,
        pass: Pass,
    ) -> (MarkTotals, usize) {
        let revived = match pass {
            Pass::All => Revived::Full,
            Pass::Rest => Revived::Snapshot,
            Pass::Young if cycle.work.session.is_active() => Revived::YoungInSnapshot,
            Pass::Young => Revived::Young,
        };
        let (world, faults, marking) = (pause.world(), pause.state().faults(), &mut cycle.work.marking);
        let marks = world.mark_side(Collection::Full);
        let is_dead: &mut dyn FnMut(usize) -> bool = match pass {
            Pass::All | Pass::Rest => &mut |object| match world.is_marked(ObjectRef::new(object)) {
                true => faults.fails(Fault::FinalizerEarly),
                false => !faults.fails(Fault::FinalizerMissed),
            },
            Pass::Young => &mut |object| match faults.fails(Fault::FinalizedByMark) {
                true => !world.is_marked(ObjectRef::new(object)),
                false => !world.is_allocated(ObjectRef::new(object)),
            },
        };
        let (mut marked, mut circles) = (MarkTotals::default(), 0);
        if finalizers.has_unseen_queued(pass) {
            // The program has queued all that was registered, since the snapshot, or on a thread that did not stop. What the marking
            // has not met there leads to nothing that is registered: all that was is queued with it, and what a thread has
            // registered since it could reach, so that has its mark. So ephemerons may wait until others have come back.
            marked = marking.revive(pause, revived, |marker| {
                finalizers.for_each_queued(|at| marker.slots(at..at + WORD));
            });
        }
        let mut dying = finalizers.look(pass, is_dead, |object| marks.prefetch(object));
        pause.add_scanned(dying.looked * ENTRY);
        if let Some(verify) = self.verify() {
            finalizers.for_each_dead(&dying, |object| verify.check_dead(object));
        }
        if dying.has_ordered() {
            let (below, found) =
                marking.revive_below(pause, revived, |follow| finalizers.for_each_ordered(&dying, follow));
            (marked, circles) = (marked.plus(below), found);
            let all = faults.fails(Fault::FinalizerUnordered);
            finalizers.let_wait(&mut dying, |object| all || is_dead(object));
        }
        if dying.has_objects() {
            marked = marked.plus(marking.revive(pause, revived, |marker| {
                finalizers.for_each_dying(&dying, |at| {
                    if !faults.fails(Fault::RevivedUnmarked) {
                        marker.slots(at..at + WORD);
                    }
                });
            }));
            finalizers.queue_objects(&dying);
        }
        // An ephemeron of what has come back may keep an object with data.
        marked = marked.plus(marking.settle_revived(pause, revived));
        clear_ephemerons(pause, cycle.kind);
        let is_dead: &mut dyn FnMut(usize) -> bool = match faults.fails(Fault::RevivedDataQueued) {
            true => &mut |_| true,
            false => is_dead,
        };
        finalizers.queue_data(&dying, is_dead);
        if pause.state().verifies()
            && let Some(wrong) = finalizers.check()
        {
            corrupt(format_args!("{wrong}"));
        }
        (marked, circles)
    }
}
