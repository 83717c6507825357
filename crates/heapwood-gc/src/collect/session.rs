//! The session of a concurrent marking: whether there is one, and how far it has come. Invariant: it is active from the pause
//! that takes its snapshot to the pause that ends it.

use super::plan::SessionPhase;
use crate::mark::MarkSession;
use core::ops::Range;
use heapwood_os::Mapped;

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

    /// Forgets it; returns it, if there was one.
    pub(super) fn take(&mut self) -> Option<MarkSession> {
        match core::mem::replace(self, Session::None) {
            Session::None => None,
            Session::Starting(session) | Session::Active(session) => Some(session),
        }
    }

    /// There is none if it was about to start.
    pub(super) fn forget_start(&mut self) {
        if self.phase() == SessionPhase::Starting {
            self.take();
        }
    }

    pub(super) fn is_none(&self) -> bool {
        self.phase() == SessionPhase::None
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

impl Mapped for Session {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        match self {
            Session::None => {}
            Session::Starting(session) | Session::Active(session) => session.for_each_mapping(f),
        }
    }
}
