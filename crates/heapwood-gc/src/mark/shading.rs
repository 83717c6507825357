//! The write barrier's half of a full concurrent marking: what a store overwrites is shaded, so that
//! everything that was reachable when the marking began is found, whatever the program does to the paths (a snapshot at the
//! beginning: Yuasa, "Real-time garbage collection on general-purpose machines", 1990). An object that is shaded is marked at
//! once, so that it is handed over once, and is scanned by the marker. Objects that were made since the snapshot are not looked
//! at: they have no allocation bit, and survive because they were handed out. Invariant: nothing is shaded but objects of the
//! snapshot, and those that young collections have marked since.

use crate::state::State;
use heapwood_heap::{Address, ObjectRef};

/// Shades for a marking that is under way.
pub(crate) struct Shading<'s> {
    state: &'s State,
}

impl<'s> Shading<'s> {
    /// For the marking of a heap, which is under way: a barrier flag says so.
    pub(crate) fn of(state: &'s State) -> Self {
        Shading { state }
    }

    /// Shades the object at an address; null and addresses outside the heap are ignored.
    #[inline]
    pub(crate) fn object(&self, object: usize) {
        let Some(object) = self.state.space().arenas().marked_as(Address::new(object)) else { return };
        // SAFETY: a marking is under way (`of`).
        if unsafe { self.state.space().shade(object) } {
            self.state.marking_log().shaded(object.get());
        }
    }

    /// Shades what a word points to or into, if that is an object.
    pub(crate) fn word(&self, word: usize) {
        if let Some(object) = self.resolve(word) {
            self.object(object);
        }
    }

    pub(super) fn resolve(&self, word: usize) -> Option<usize> {
        self.state.space().find_old(Address::new(word)).map(ObjectRef::get)
    }

    /// The heap's.
    pub(super) fn state(&self) -> &'s State {
        self.state
    }
}
