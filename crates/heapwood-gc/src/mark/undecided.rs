//! The ephemerons that a marker has come to while their keys had no mark. In a stop those without a value only have to be cleared:
//! they wait at once, and are looked at once less. Beside the program they are looked at again there, so that the stop which ends the
//! marking meets the dead ones alone. Invariant: what a marker has listed comes to its marking's lists when the marker ends, whatever
//! ends it.

use super::mode::Scope;
use crate::state::State;
use crate::weak::ephemerons::{Ephemeron, List, OfMarking};

/// The ephemerons that a marker has come to and that are undecided.
pub(super) struct Undecided<'h> {
    of: &'h OfMarking,
    is_session: bool,
    list: List,
    /// Those that only have to be cleared.
    waiting: List,
}

impl<'h> Undecided<'h> {
    /// None, of a marking with this scope.
    pub(super) fn new<S: Scope>(state: &'h State) -> Self {
        let (of, is_session) = (state.ephemerons().of(S::SNAPSHOT), S::SNAPSHOT);
        Undecided { of, is_session, list: List::default(), waiting: List::default() }
    }

    /// Adds one, unless the marking has it.
    pub(super) fn add(&self, ephemeron: Ephemeron) {
        if self.of.claim(ephemeron) {
            match ephemeron.value() {
                0 if !self.is_session => self.waiting.add(ephemeron),
                _ => self.list.add(ephemeron),
            }
        }
    }

    /// Joins them to those of other markers.
    pub(super) fn join(&self) {
        self.of.undecided().join(&self.list);
        self.of.waiting().join(&self.waiting);
    }
}

impl Drop for Undecided<'_> {
    fn drop(&mut self) {
        if !self.list.is_empty() || !self.waiting.is_empty() {
            self.join();
        }
    }
}
