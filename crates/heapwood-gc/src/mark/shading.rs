//! The write barrier's part of a full concurrent marking: the barrier shades the object that a store overwrites. So the
//! marking finds every object that was reachable when it began, whatever the program does to the paths (a snapshot at
//! the beginning: Yuasa, "Real-time garbage collection on general-purpose machines", 1990). A mutator only notes an unmarked
//! object in the log; the marker marks and scans it. So one thread writes marks, with plain stores: an atomic operation for
//! each object would make a marking three times as long. Objects allocated since the snapshot are skipped: they have no
//! allocation bit, and the marking keeps them. Invariant: only objects of the snapshot are shaded, and those that young
//! collections have marked since.

use crate::state::State;
use heapwood_heap::{Address, ObjectRef};
use heapwood_pages::PAGE_SIZE;

/// Set in the address of a cell that is marked and not scanned.
pub(super) const MARK_ONLY: usize = 1;
/// Set in the address of an object that the program is about to free: it is scanned all the same.
pub(super) const FREED: usize = 2;

/// A mutator's part of the marking's log.
pub(crate) trait ShadeLog {
    /// Notes an object; false if there is no room.
    fn note(&self, object: usize) -> bool;
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
        let Some(marked) = space.arenas().marked_as(Address::new(object)) else { return };
        if space.is_unmarked(marked) && !self.log.note(marked.get()) {
            self.missed(Address::new(object));
        }
    }

    /// Shades an unmarked object that the program is about to free; false if the log has no room for it.
    pub(crate) fn freed(&self, object: usize) -> bool {
        self.log.note(object | FREED)
    }

    /// The log has no room for an object.
    #[cold]
    fn missed(&self, object: Address) {
        let space = self.state.space();
        let page = (object.get() - space.base().get()) / PAGE_SIZE;
        self.state.marking_log().missed(page - space.entry_at(object).back().0);
    }

    /// Has a cell marked in which an object is about to be made, without a scan of it.
    pub(crate) fn reused(&self, cell: usize) {
        if !self.log.note(cell | MARK_ONLY) {
            self.missed(Address::new(cell));
        }
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
