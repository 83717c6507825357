//! What a pause does with finalisers when the marking has ended: entries of dead objects go to their queues, and objects that the
//! program is to have are revived, with all that they lead to, ephemerons among it. It runs as a part of marking: trace functions
//! may be called, the marker marks more, and what it marks is added to the totals. Invariant: it marks nothing but what it makes
//! reachable again, and all of that.

use super::entries::ENTRY;
use super::pause::FinalizersInPause;
use super::table::Pass;
use crate::collect::PauseKind;
use crate::inject::Fault;
use crate::mark::{MarkTotals, Marking, Revived};
use crate::observe::Verify;
use crate::pause::Pause;
use crate::weak::clear::clear_ephemerons;
use heapwood_heap::{Collection, ObjectRef};
use heapwood_layout::WORD;
use heapwood_os::diagnose::message::corrupt;

impl FinalizersInPause<'_> {
    /// Queues what finalisers of dead objects are for, and revives those that the program is to have. Returns also how many circles
    /// wait.
    pub(crate) fn resolve(
        &self,
        pause: &Pause<'_>,
        marking: &mut Marking,
        verify: Option<&Verify>,
        kind: PauseKind,
        pass: Pass,
        revived: Revived,
    ) -> (MarkTotals, usize) {
        let (world, faults) = (pause.world(), pause.state().faults());
        let marks = world.mark_side(Collection::Full);
        let is_dead: &mut dyn FnMut(usize) -> bool = match pass {
            Pass::All | Pass::Rest => &mut |object| {
                !world.is_marked(ObjectRef::new(object)) && !faults.fails(Fault::FinalizerMissed)
            },
            Pass::Young => &mut |object| match faults.fails(Fault::FinalizedByMark) {
                true => !world.is_marked(ObjectRef::new(object)),
                false => !world.is_allocated(ObjectRef::new(object)),
            },
        };
        let (mut marked, mut circles) = (MarkTotals::default(), 0);
        if self.has_unseen_queued(pass) {
            // The program has queued all that was registered, since the snapshot, or on a thread that did not stop. What the marking
            // has not met there leads to nothing that is registered: all that was is queued with it, and what a thread has
            // registered since it could reach, so that has its mark. So ephemerons may wait until others have come back.
            marked = marking.revive(pause, revived, |marker| {
                self.for_each_root(false, |at| marker.slots(at..at + WORD));
            });
        }
        let mut dying = self.look(pass, is_dead, |object| marks.prefetch(object));
        pause.add_scanned(dying.looked * ENTRY);
        if let Some(verify) = verify {
            self.for_each_dead(&dying, |object| verify.check_dead(object));
        }
        if dying.has_ordered() {
            let (below, found) =
                marking.revive_below(pause, revived, |follow| self.for_each_ordered(&dying, follow));
            (marked, circles) = (marked.plus(below), found);
            let all = faults.fails(Fault::FinalizerUnordered);
            self.let_wait(&mut dying, |object| all || is_dead(object));
        }
        if dying.has_objects() {
            marked = marked.plus(marking.revive(pause, revived, |marker| {
                self.for_each_dying(&dying, |at| {
                    if !faults.fails(Fault::RevivedUnmarked) {
                        marker.slots(at..at + WORD);
                    }
                });
            }));
            self.queue_objects(&dying);
        }
        // An ephemeron of what has come back may keep an object with data.
        marked = marked.plus(marking.settle_revived(pause, revived));
        clear_ephemerons(pause, kind);
        self.queue_data(&dying, is_dead);
        if pause.state().verifies()
            && let Some(wrong) = self.check()
        {
            corrupt(format_args!("{wrong}"));
        }
        (marked, circles)
    }
}
