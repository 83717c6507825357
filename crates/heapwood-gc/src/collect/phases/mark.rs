//! Marking, as the plan says: everything, what is young, or nothing but a promotion; and the pauses that begin and end a
//! concurrent marking. Between those young collections mark what outlives them for both. Where young objects cannot be marked,
//! since stores are missing from the remembered set, all of them are promoted, which needs no more than the bounds of what was
//! handed out.
//! Invariant: while a concurrent marking is active the flag of every mutator's barrier says so, and nothing loses its
//! allocation bit.

use super::super::collector::{Collector, Work};
use super::super::cycle::Cycle;
use super::super::plan::{PauseKind, YoungPart};
use super::super::session::Session;
use crate::inject::Fault;
use crate::mark::{MarkTotals, Marking};
use crate::pause::Pause;

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
        state.faults().forget_young_large(world, cycle.collection());
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
        true if active.is_some() && !pause.state().faults().fails(Fault::PromotedUnmarked) => {
            marked.promoted(pause.world().promote_marked(pause.owners()))
        }
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
