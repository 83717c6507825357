//! Explicit frees: objects that the program frees without waiting for a collection. Invariant: only an existing object
//! is freed, given by its first byte; any other address is an error.

use crate::error::Refusal;
use crate::inject::Fault;
use crate::mark::Shading;
use crate::mutator::Mutator;
use crate::observe::{for_each_slot, shape_of};
use crate::state::barrier_bits::YOUNG;
use core::ptr::NonNull;
use heapwood_heap::{Address, ObjectRef, ScanKind, publication};
use heapwood_layout::WORD;

impl Mutator {
    /// Frees an object now, even one of another thread: its memory may be used again at once, and a large object's
    /// pages are returned. It waits for no collection, and touches nothing of another thread's.
    ///
    /// # Errors
    /// No object of this heap begins there, it was freed before (unless its memory has another object now, or another
    /// thread is about to make one there), it has a finaliser, the mutator cannot be used now, or the kernel gives no memory
    /// for the record of freed objects. In verify mode: something weak refers to it (contract 2).
    ///
    /// # Safety
    /// 1. No thread uses the object afterwards, and no root or live object refers to it whenever a collection may run:
    ///    neither a handle nor a slot. Ambiguous words may.
    /// 2. It is no key of an ephemeron, a weak reference or a weak table, unless a collection has cleared that, or it was removed
    ///    from the table; it has no link, and is the place of none.
    #[inline]
    pub unsafe fn free(&self, object: NonNull<u8>) -> Result<(), Refusal> {
        self.check()?;
        publication::observe();
        let object = Address::from(object.as_ptr());
        // Remembered stores do not matter to a free.
        if self.barrier().flag() & !YOUNG != 0
            || self.shared().finalizers().has_any()
            || self.shared().verifies()
        {
            // SAFETY: contract 1.
            return unsafe { self.free_with_care(object) };
        }
        let _no_preempt = self.record().no_preempt();
        if self.shared().space().may_hold() {
            // SAFETY: contract 1.
            return unsafe { self.free_perhaps_held(object) };
        }
        // SAFETY: contract 1; the region lasts until the free has ended.
        unsafe { self.owned().free(object, self.shared().alone().is()) }.map_err(Refusal::from)
    }

    /// The same in verify mode, during a marking beside the program, or where objects have finalisers.
    ///
    /// # Safety
    /// 1. As for [`free`](Self::free).
    #[cold]
    #[inline(never)]
    unsafe fn free_with_care(&self, object: Address) -> Result<(), Refusal> {
        let state = self.shared();
        self.shade_freed(object);
        let _no_preempt = self.record().no_preempt();
        if state.space().may_hold() {
            // SAFETY: contract 1.
            return self.with_released(object, || unsafe { self.free_released(object) });
        }
        // SAFETY: contract 1.
        unsafe { self.free_released(object) }
    }

    /// The same where the program holds objects.
    ///
    /// # Safety
    /// 1. As for [`free`](Self::free).
    #[inline(never)]
    unsafe fn free_perhaps_held(&self, object: Address) -> Result<(), Refusal> {
        self.with_released(object, || {
            // SAFETY: contract 1; the region lasts until the free has ended.
            unsafe { self.owned().free(object, self.shared().alone().is()) }.map_err(Refusal::from)
        })
    }

    /// Frees an object by `free` that is no root meanwhile; if that fails it is held as before. In a no-preempt region.
    fn with_released(
        &self,
        object: Address,
        free: impl FnOnce() -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let (space, held) = (self.shared().space(), ObjectRef::new(object.get()));
        // SAFETY: the address lies in a span, and this thread is not stopped.
        let was_held = space.find_span(object).is_some() && unsafe { space.release_held(held) };
        let freed = free();
        if freed.is_err() && was_held {
            // SAFETY: it was held, so it exists still, and as above.
            unsafe { space.hold(held) };
        }
        freed
    }

    /// Frees an object that is not held with care.
    ///
    /// # Safety
    /// 1. As for [`free`](Self::free).
    unsafe fn free_released(&self, object: Address) -> Result<(), Refusal> {
        let state = self.shared();
        if state.finalizers().has(object.get()) {
            // Its address would be another object's when a collection looks.
            return Err(Refusal::HasFinalizer { address: object.get() });
        }
        if state.verifies() {
            self.check_unlinked(object)?;
        }
        // The next object in the cell counts as one that survived a collection, and may be initialised without the
        // barrier. This thread cannot know whether another thread's object exists: the cell is enough.
        if let Some(stores) = state.stores()
            && let Some(span) = state.space().find_span(object)
            && span.cell_in(object) == Some(object)
        {
            stores.note(state.space(), ObjectRef::new(object.get()), object, span.object_bytes() / WORD);
        }
        // What was shaded keeps its words and its memory until the marking ends.
        let read = self.barrier().is_concurrent_marking()
            && state.space().is_old(object)
            && !state.faults().fails(Fault::FreedAtOnce);
        let owner = self.owned();
        match (state.quarantine(), read) {
            (Some(quarantine), _) => {
                // SAFETY: contract 1.
                quarantine.note_freed(unsafe { owner.free_and_keep(object, read) }?);
            }
            (None, true) => owner.free_later(object)?,
            // SAFETY: contract 1.
            (None, false) => unsafe { owner.free(object, false) }?,
        }
        if read {
            state.marking_log().note_freed(object.get());
        }
        Ok(())
    }

    /// An active marking may have to follow paths through an object that it has not scanned: so an object that is about to be freed is
    /// shaded, or else, if the log has no room, all that it refers to. The marker scans whatever is shaded as an object, so what the
    /// free will refuse as none is not shaded. A trace function is the program's: it is not called in a no-preempt region. No marking
    /// begins or ends before the free, which polls nowhere.
    fn shade_freed(&self, object: Address) {
        let state = self.shared();
        if self.barrier().is_concurrent_marking()
            && state.space().is_unmarked(object)
            && self.owned().check_free(object).is_ok()
            && !Shading::of(state, self).freed(object.get())
        {
            self.shade_all(ObjectRef::new(object.get()));
        }
    }

    /// Shades all objects that an old object refers to, which is about to be zeroed, or freed when the marking's log has no room
    /// for it: afterwards the marking need not visit the object. A trace function is the program's: this is not called in a no-preempt
    /// region.
    pub(crate) fn shade_all(&self, object: ObjectRef) {
        let (state, space) = (self.shared(), self.shared().space());
        let (Some(span), Some(shape)) = (space.find_span(object.into()), shape_of(space, object.get()))
        else {
            return;
        };
        let (bytes, mut shading) = (span.object_bytes(), Shading::of(state, self));
        // SAFETY: the words lie in the object, which exists.
        let word = |slot: usize| unsafe { (slot as *const usize).read() };
        match (shape.kind(), shape.trace()) {
            // SAFETY: the object exists, and its shape has this function.
            (ScanKind::Trace, Some(trace)) => unsafe {
                shading.all_of(object, bytes / WORD * WORD, trace);
            },
            (kind, _) if kind.has_ambiguous_words() => {
                let words = (0..bytes / WORD).filter(|&i| shape.is_ambiguous(i));
                words.for_each(|i| shading.word(word(object.get() + i * WORD)));
            }
            _ => for_each_slot(space, object.get(), bytes, |slot| shading.object(word(slot))),
        }
    }

    /// Whether nothing weak refers to an object, as far as verify mode knows. In a no-preempt region.
    fn check_unlinked(&self, object: Address) -> Result<(), Refusal> {
        let (state, address) = (self.shared(), object.get());
        if state.ephemerons().keys().is_some_and(|keys| keys.has(state.space(), address)) {
            return Err(Refusal::HasWeak { address });
        }
        let bytes = state.space().find_span(object).map_or(1, |span| span.object_bytes());
        match state.links().slot_of(address..address + bytes) {
            Some(slot) => Err(Refusal::HasLink { address, slot }),
            None => Ok(()),
        }
    }
}
