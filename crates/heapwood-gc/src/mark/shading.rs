//! The write barrier's part of a full concurrent marking: the barrier shades the object that a store overwrites. So the
//! marking finds every object that was reachable when it began, whatever the program does to the paths (a snapshot at
//! the beginning: Yuasa, "Real-time garbage collection on general-purpose machines", 1990). A mutator only notes an unmarked
//! object in the log; the marker marks and scans it. So one thread writes marks, with plain stores: an atomic operation for
//! each object would make a marking three times as long. Objects allocated since the snapshot are skipped: they have no
//! allocation bit, and the marking keeps them. Invariant: only objects of the snapshot are shaded, and those that young
//! collections have marked since.

use crate::inject::Fault;
use crate::observe::for_each_slot;
use crate::state::State;
use heapwood_heap::{Address, GRANULE, ObjectRef, ScanKind, publication};
use heapwood_layout::WORD;
use heapwood_os::threads::watched::AtomicUsize;
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

    /// Shades the object that the word of a slot leads to. Without a tag the word may be a number.
    #[inline]
    pub(crate) fn slot(&self, word: usize) {
        let tags = self.state.space().layouts().tags();
        if !tags.any() {
            return self.object(word);
        }
        if self.state.faults().fails(Fault::ShadedTagIgnored) {
            return;
        }
        let (address, is_tagged) = tags.address(word);
        // In an arena the chunk is shaded, wherever the word leads.
        if is_tagged || word.is_multiple_of(GRANULE) || self.is_in_arena(word) {
            self.object(address);
        }
    }

    fn is_in_arena(&self, word: usize) -> bool {
        self.state.space().arenas().find_chunk(Address::new(word)).is_some()
    }

    /// Shades an object that the program is about to free, if the log has room for it.
    pub(crate) fn freed(&self, object: usize) -> bool {
        !self.state.space().is_unmarked(Address::new(object)) || self.log.note(object | FREED)
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

    /// Shades all objects to which an old object of `bytes` bytes refers.
    ///
    /// # Safety
    /// 1. The object exists, and has its allocation bit.
    pub(crate) unsafe fn slots_of(&mut self, object: ObjectRef, bytes: usize) {
        let space = self.state.space();
        let mut entry = space.entry_at(object.into());
        if entry.is(ScanKind::Numbered) {
            // SAFETY: contract 1; the page's entry says that objects here have numbers.
            entry = unsafe { space.layouts().numbered_entry(object) };
        }
        // SAFETY: contract 1; other threads may store into the words.
        let load = |at: usize| publication::load(unsafe { AtomicUsize::from_ptr(at as *mut usize) });
        match entry.kind() {
            None | Some(ScanKind::NoPointers | ScanKind::Arena | ScanKind::Ephemeron) => {}
            Some(ScanKind::Trace) => {
                if let Some(trace) = space.layouts().shape(entry.shape()).trace() {
                    // SAFETY: contract 1, and its shape has this function.
                    unsafe { self.all_of(object, bytes / WORD * WORD, trace) };
                }
            }
            Some(ScanKind::Conservative | ScanKind::AmbiguousMask | ScanKind::AmbiguousPrefix) => {
                let shape = space.layouts().shape(entry.shape());
                let words = (0..bytes / WORD).filter(|&word| shape.is_ambiguous(word));
                words.for_each(|word| self.word(load(object.get() + word * WORD)));
            }
            Some(_) => for_each_slot(space, object.get(), bytes, |at| self.slot(load(at))),
        }
    }

    /// Shades the object that a word points to or into, if there is one.
    pub(crate) fn word(&self, word: usize) {
        if let Some(object) = self.resolve(self.state.ambiguous_address(word)) {
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
