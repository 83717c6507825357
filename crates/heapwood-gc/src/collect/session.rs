//! How far a heap's concurrent marking has come: none, about to take its snapshot, or active. Phases move it on.
//! Invariant: it is active from the pause that takes the snapshot until the pause that ends the marking.

use super::plan::SessionPhase;
use crate::mark::MarkSession;

/// A concurrent marking, if there is one.
pub(super) enum Session {
    None,
    /// It has its memory; the next pause takes its snapshot.
    Starting(MarkSession),
    Active(MarkSession),
}

impl Session {
    pub(super) fn phase(&self) -> SessionPhase {
        match self {
            Session::None => SessionPhase::None,
            Session::Starting(_) => SessionPhase::Starting,
            Session::Active(_) => SessionPhase::Active,
        }
    }

    pub(super) fn is_active(&self) -> bool {
        self.phase() == SessionPhase::Active
    }

    pub(super) fn active(&mut self) -> Option<&mut MarkSession> {
        match self {
            Session::Active(session) => Some(session),
            Session::None | Session::Starting(_) => None,
        }
    }
}
