//! The plan of a pause: a pure function decides once, after the stop, what this pause does. Everything later asks the plan.
//! Whippet and MMTk name their pauses so (MMTk's `Pause`). Invariant: the plan changes nothing and reads nothing but its
//! argument.

use super::cause::Cause;
use heapwood_heap::Collection;

/// What a pause does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PauseKind {
    /// Marks everything that can be reached; the sides of the mark bits swap.
    Full,
    /// Marks young objects until a deadline, in nanoseconds of the monotonic clock, and promotes those that are left then.
    Young { deadline: u64 },
    /// Promotes all young objects without marking.
    Promote,
    /// A young pause that takes the snapshot of a concurrent marking.
    InitialMark(YoungPart),
    /// A young pause that ends a concurrent marking; the sides of the mark bits swap.
    FinalMark(YoungPart),
}

/// What becomes of young objects in a pause that starts or ends a concurrent marking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum YoungPart {
    Mark { deadline: u64 },
    Promote,
}

impl PauseKind {
    /// The collection that ends with it: after a full one everything that is dead can be swept.
    pub(crate) fn collection(self) -> Collection {
        match self {
            PauseKind::Full | PauseKind::FinalMark(_) => Collection::Full,
            PauseKind::Young { .. } | PauseKind::Promote | PauseKind::InitialMark(_) => Collection::Young,
        }
    }

    /// Its name in trace lines; `degenerated` says that the goal was met before a concurrent marking could end.
    pub(super) fn name(self, degenerated: bool) -> &'static str {
        match self {
            PauseKind::FinalMark(_) if degenerated => "degenerated",
            PauseKind::Full => "full",
            PauseKind::Young { .. } => "young",
            PauseKind::Promote => "promotion",
            PauseKind::InitialMark(_) => "start",
            PauseKind::FinalMark(_) => "end",
        }
    }

    /// Whether what it leaves unmarked is exactly what cannot be reached: no floating garbage, nothing promoted unseen.
    pub(crate) fn is_exact(self) -> bool {
        self == PauseKind::Full
    }
}

/// How far a concurrent marking has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionPhase {
    None,
    /// The pause is to take its snapshot.
    Starting,
    Active,
}

/// What is known when all threads have stopped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed {
    pub(super) cause: Cause,
    /// What the collection was prepared for.
    pub(super) expected: Collection,
    /// Stores are missing from the remembered set.
    pub(super) overflowed: bool,
    /// Stores were remembered since the last collection.
    pub(super) remembers: bool,
    pub(super) session: SessionPhase,
    /// All that marking calls may run beside the program.
    pub(super) may_mark_beside: bool,
    /// Much is young, and the cause may wait for a young collection.
    pub(super) waits: bool,
    /// When young objects that are not marked are promoted.
    pub(super) deadline: u64,
}

/// What the pause does.
pub(super) fn plan(seen: &Observed) -> PauseKind {
    let young = match seen.remembers && !seen.overflowed {
        true => YoungPart::Mark { deadline: seen.deadline },
        false => YoungPart::Promote,
    };
    // What is missing from the remembered set only a full marking finds, or a promotion, which costs little, but frees nothing:
    // a program that waits for what is freed gets a full collection.
    let is_full = seen.expected == Collection::Full || seen.overflowed && seen.cause.is_program();
    match (seen.session, is_full, young) {
        (SessionPhase::Starting, ..) if !seen.may_mark_beside => PauseKind::Full,
        (SessionPhase::Starting, ..) if !seen.waits => PauseKind::InitialMark(young),
        (SessionPhase::Active, true, _) if !seen.waits => PauseKind::FinalMark(young),
        (SessionPhase::None, true, _) => PauseKind::Full,
        (_, _, YoungPart::Mark { deadline }) => PauseKind::Young { deadline },
        (_, _, YoungPart::Promote) => PauseKind::Promote,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Collection::{Full, Young};
    use SessionPhase::{Active, None, Starting};

    /// All that is observed and what is planned: a row for each combination that can come.
    #[test]
    fn the_plan_as_a_table() {
        const DUE: Cause = Cause::BudgetExhausted(64);
        const MARK: YoungPart = YoungPart::Mark { deadline: 7 };
        const YOUNG: PauseKind = PauseKind::Young { deadline: 7 };
        const PROMOTE: PauseKind = PauseKind::Promote;
        const START: Cause = Cause::StartMarking { at_once: false };
        const FINISH: Cause = Cause::FinishMarking { at_once: false };
        // cause, expected, overflowed, nursery is on, session -> plan
        let table = [
            (DUE, Full, false, true, None, PauseKind::Full),
            (DUE, Full, true, true, None, PauseKind::Full),
            (DUE, Full, false, false, None, PauseKind::Full),
            (DUE, Young, false, true, None, YOUNG),
            (DUE, Young, true, true, None, PROMOTE),
            (DUE, Young, false, false, None, PROMOTE),
            (DUE, Young, false, true, Active, YOUNG),
            (DUE, Young, true, true, Active, PROMOTE),
            (DUE, Young, false, false, Active, PROMOTE),
            (Cause::Program(Young), Young, false, true, None, YOUNG),
            (Cause::Program(Young), Young, true, true, None, PauseKind::Full),
            (Cause::Program(Young), Young, true, true, Active, PauseKind::FinalMark(YoungPart::Promote)),
            (Cause::Program(Young), Full, false, false, None, PauseKind::Full),
            (Cause::Program(Full), Full, false, true, None, PauseKind::Full),
            (Cause::AllocationFailed, Full, false, true, None, PauseKind::Full),
            (Cause::Idle, Full, true, true, None, PauseKind::Full),
            (START, Young, false, true, Starting, PauseKind::InitialMark(MARK)),
            (START, Young, true, true, Starting, PauseKind::InitialMark(YoungPart::Promote)),
            (START, Young, false, false, Starting, PauseKind::InitialMark(YoungPart::Promote)),
            (FINISH, Full, false, true, Active, PauseKind::FinalMark(MARK)),
            (FINISH, Full, true, true, Active, PauseKind::FinalMark(YoungPart::Promote)),
            (FINISH, Full, false, false, Active, PauseKind::FinalMark(YoungPart::Promote)),
        ];
        for (cause, expected, overflowed, remembers, session, planned) in table {
            let seen = Observed {
                cause,
                expected,
                overflowed,
                remembers,
                session,
                may_mark_beside: true,
                waits: false,
                deadline: 7,
            };
            assert_eq!(plan(&seen), planned, "{seen:?}");
            // A trace function may have come since the start was asked for.
            let traced = Observed { may_mark_beside: false, ..seen };
            assert_eq!(
                plan(&traced),
                if session == Starting { PauseKind::Full } else { planned },
                "{traced:?}"
            );
            // With much that is young, a young collection comes before a pause that may wait.
            let young = if remembers && !overflowed { YOUNG } else { PROMOTE };
            let waits = Observed { waits: true, ..seen };
            if cause.may_wait() {
                assert_eq!(plan(&waits), young, "{waits:?}");
            }
        }
    }
}
