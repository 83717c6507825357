//! The ephemerons that a marker has come to while their keys had no mark. Invariant: what a marker has listed comes to its
//! marking's list when the marker ends, whatever ends it.

use crate::inject::{Fault, FaultInjector};
use crate::state::{Ephemeron, List, OfMarking, State};

/// The ephemerons that a marker has come to and that are undecided.
pub(super) struct Undecided<'h> {
    of: &'h OfMarking,
    list: List,
    faults: &'h FaultInjector,
}

impl<'h> Undecided<'h> {
    /// None, of a marking with the snapshot's scope, or another.
    pub(super) fn new(state: &'h State, is_session: bool) -> Self {
        Undecided { of: state.ephemerons().of(is_session), list: List::default(), faults: state.faults() }
    }

    /// Adds one, unless the marking has it.
    pub(super) fn add(&self, ephemeron: Ephemeron) {
        if self.of.claim(ephemeron) {
            self.list.add(ephemeron);
        }
    }

    /// Joins them to those of other markers.
    pub(super) fn join(&self) {
        self.of.undecided().join(&self.list);
    }
}

impl Drop for Undecided<'_> {
    fn drop(&mut self) {
        if !self.list.is_empty() && !self.faults.fails(Fault::UndecidedLost) {
            self.join();
        }
    }
}
