//! The write barrier's part of a full concurrent marking: the barrier shades the object that a store overwrites. So the
//! marking finds every object that was reachable when it began, whatever the program does to the paths (a snapshot at
//! the beginning: Yuasa, "Real-time garbage collection on general-purpose machines", 1990). Shading marks an object at
//! once, so that it is handed over once, through the mutator's part of the log; the marker scans it. Objects allocated
//! since the snapshot are skipped: they have no allocation bit, and the marking keeps them. Invariant: only objects of
//! the snapshot are shaded, and those that young collections have marked since.

use crate::state::State;
use heapwood_heap::{Address, ObjectRef};
use heapwood_pages::PAGE_SIZE;

/// A mutator's part of the marking's log.
pub(crate) trait ShadeLog {
    /// Calls `shade`, which marks an object, and notes the object if it says so; whether it is noted or need not be. A
    /// process that forks sees both or neither.
    fn note(&self, object: usize, shade: impl FnOnce() -> bool) -> bool;
}

/// Shades objects for an active marking.
pub(crate) struct Shading<'s, L> {
    state: &'s State,
    log: &'s L,
}

impl<'s, L: ShadeLog> Shading<'s, L> {
    /// For a heap whose barrier flag says that a marking is active, and the calling thread's part of the log.
    pub(crate) fn of(state: &'s State, log: &'s L) -> Self {
        Shading { state, log }
    }

    /// Shades the object at an address; ignores null and addresses outside the heap.
    #[inline]
    pub(crate) fn object(&self, object: usize) {
        let space = self.state.space();
        let Some(object) = space.arenas().marked_as(Address::new(object)) else { return };
        if !space.is_old(object) {
            return;
        }
        // SAFETY: a marking is active (`of`).
        if !self.log.note(object.get(), || unsafe { space.shade(object) }) {
            self.missed(object);
        }
    }

    /// An object was marked, but the log has no room for it.
    #[cold]
    fn missed(&self, object: Address) {
        let space = self.state.space();
        let page = (object.get() - space.base().get()) / PAGE_SIZE;
        self.state.marking_log().missed(page - space.entry_at(object).back().0);
    }

    /// Shades the object that a word points to or into, if there is one.
    pub(crate) fn word(&self, word: usize) {
        if let Some(object) = self.resolve(word) {
            self.object(object);
        }
    }

    pub(super) fn resolve(&self, word: usize) -> Option<usize> {
        self.state.space().find_old(Address::new(word)).map(ObjectRef::get)
    }

    /// The heap's state.
    pub(super) fn state(&self) -> &'s State {
        self.state
    }
}
