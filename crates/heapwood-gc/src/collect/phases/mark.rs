//! Marking, as the plan says: everything, what is young, or nothing but a promotion; the pauses that begin and end a
//! concurrent marking; and what depends on what is dead. Between those young collections mark what outlives them for both. Where young objects cannot be marked,
//! since stores are missing from the remembered set, all of them are promoted, which needs no more than the bounds of what was
//! handed out.
//! Invariant: while a concurrent marking is active the flag of every mutator's barrier says so, and nothing loses its
//! allocation bit.

use super::super::collector::{Collector, Work};
use super::super::cycle::Cycle;
use super::super::plan::{PauseKind, YoungPart};
use super::super::session::Session;
use crate::finalizers::Pass;
use crate::mark::{MarkTotals, Marking, Revived};
use crate::pause::Pause;
use crate::weak::clear::{clear_ephemerons, clear_links, drop_links};
use crate::weak::links::LinkKind;
use heapwood_heap::Collection;

impl Collector {
    pub(in crate::collect) fn mark(&self, pause: &mut Pause<'_>, cycle: &mut Cycle<'_>) {
        let Work { marking, session, .. } = &mut *cycle.work;
        cycle.marked = match cycle.kind {
            PauseKind::Full => {
                if pause.space().layouts().is_conservative() {
                    // Then one bit tells of each word whether an object begins there.
                    pause.world().set_bits_of_cells(pause.owners());
                }
                // It may take long, and what it writes can be forgotten: the process may fork meanwhile.
                pause.while_forks_may_come(|pause| marking.mark_full(pause))
            }
            PauseKind::Young { deadline } => young(pause, marking, session, YoungPart::Mark { deadline }),
            PauseKind::Promote => young(pause, marking, session, YoungPart::Promote),
            PauseKind::InitialMark(part) => young(pause, marking, session, part),
            PauseKind::FinalMark(part) => final_mark(pause, marking, session, part),
        };
    }

    /// Between the end of marking and the swap of the sides: what is reachable is known, and nothing has been forgotten yet.
    /// What is weak is cleared first: ephemerons have had their fixed point, as the end of marking. Then finalisers are resolved: entries
    /// of dead objects go to their queues, and objects that the program is to have are revived, with all that they lead to
    /// (docs/design/finalization.md). Long links are cleared last.
    ///
    /// A young pause marks on the side of the allocation bits: there an object is dead if it has none, and only young objects
    /// are looked at. A promotion, and a young pause that was late, keep everything: all that is young has its bit then. The end
    /// of a concurrent marking does both, the young part first: old objects that are dead lead to no young one, nor the other way.
    pub(in crate::collect) fn after_closure(&self, pause: &Pause<'_>, cycle: &mut Cycle<'_>) {
        let kind = cycle.kind;
        let passes: &[_] = match kind {
            PauseKind::Full => &[Pass::All],
            PauseKind::FinalMark(_) => &[Pass::Young, Pass::Rest],
            PauseKind::Young { .. } | PauseKind::InitialMark(_) | PauseKind::Promote => &[Pass::Young],
        };
        clear_ephemerons(pause, kind);
        clear_links(pause, kind, LinkKind::Short);
        let (mut marked, mut circles) = (MarkTotals::default(), 0);
        for &pass in passes {
            let checks = cycle.checks && pause.state().finalizers().has_any();
            let verify = self.verify().filter(|_| checks);
            verify.inspect(|verify| verify.reach(pause));
            if let Some(finalizers) = pause.state().finalizers().in_pause() {
                let revived = match pass {
                    Pass::All => Revived::Full,
                    Pass::Rest => Revived::Snapshot,
                    Pass::Young if cycle.work.session.is_active() => Revived::YoungInSnapshot,
                    Pass::Young => Revived::Young,
                };
                let (more, found) =
                    finalizers.resolve(pause, &mut cycle.work.marking, verify, kind, pass, revived);
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

    /// Takes the snapshot of a concurrent marking, if this pause starts one. Young objects have been marked, and what their
    /// finalisers revive, so that everything that exists now has its allocation bit.
    pub(in crate::collect) fn take_snapshot(&self, pause: &Pause<'_>, cycle: &mut Cycle<'_>) {
        let PauseKind::InitialMark(_) = cycle.kind else { return };
        let session = &mut cycle.work.session;
        pause.world().begin_marking();
        if let Session::Starting(mut starting) = core::mem::replace(session, Session::None) {
            starting.take_snapshot(pause);
            *session = Session::Active(starting);
        }
    }

    /// Ends the concurrent marking if this is its last pause: nothing is marked any more.
    pub(in crate::collect) fn end_marking(&self, pause: &Pause<'_>, cycle: &mut Cycle<'_>) {
        let (state, world, work) = (pause.state(), pause.world(), &mut *cycle.work);
        if let PauseKind::FinalMark(_) = cycle.kind {
            work.concurrent.ended =
                work.session.active().map(|session| (session.cycle(), session.promoted()));
            work.end_session();
            world.note_large_survivors();
            state.marking_log().end(|object| world.forget_freed(object));
        }
    }
}

/// Marks or promotes young objects, for a concurrent marking, too, if one is active.
fn young(pause: &Pause<'_>, marking: &mut Marking, session: &mut Session, part: YoungPart) -> MarkTotals {
    let active = session.active();
    let marked = match part {
        YoungPart::Mark { deadline } if active.is_some() => marking.mark_young_in_snapshot(pause, deadline),
        YoungPart::Mark { deadline } => marking.mark_young(pause, deadline),
        YoungPart::Promote => MarkTotals { late: true, ..MarkTotals::default() },
    };
    if !marked.late {
        pause.add_scanned(marked.bytes);
    }
    let marked = match marked.late {
        false => marked,
        true if active.is_some() => marked.promoted(pause.world().promote_marked(pause.owners())),
        true => marked.promoted(pause.world().promote(pause.owners())),
    };
    if let Some(session) = active {
        session.add_young(marked);
    }
    marked
}

/// Marks what the concurrent marking has left, young objects among it.
fn final_mark(
    pause: &Pause<'_>,
    marking: &mut Marking,
    session: &mut Session,
    part: YoungPart,
) -> MarkTotals {
    young(pause, marking, session, part);
    let Some(active) = session.active() else { unreachable!("a plan ends an active marking") };
    let marked = marking.finish_session(active, pause);
    pause.add_scanned(active.marked_in_end());
    marked
}
