//! Objects that the program frees itself, without waiting for a collection. Invariant: what is freed is an object that exists,
//! by its first byte; whatever else is given is refused.

use crate::error::FreeError;
use crate::inject::Fault;
use crate::mark::Shading;
use crate::mutator::Mutator;
use core::ptr::NonNull;
use heapwood_heap::{Address, ObjectRef, publication};
use heapwood_layout::WORD;

impl Mutator {
    /// Frees an object now, whoever made it: its memory may be another's at once, a large one's pages go back. Nothing waits
    /// for a collection, and nothing of another thread's is touched.
    ///
    /// # Errors
    /// No object of this heap begins there, it was freed before (unless its memory was used for another meanwhile), the
    /// mutator cannot be used now, or the kernel gives no memory for what is kept of freed objects.
    ///
    /// # Safety
    /// 1. The object is not used afterwards, by any thread, and no root or object that is alive refers to it whenever a
    ///    collection may run: neither a handle nor a slot. Words that may or may not be pointers may.
    pub unsafe fn free(&self, object: NonNull<u8>) -> Result<(), FreeError> {
        self.check().map_err(FreeError::Misuse)?;
        publication::observe();
        let _no_preempt = self.record().no_preempt();
        let (state, object) = (self.shared(), Address::from(object.as_ptr()));
        // What is made in the cell counts as an object that outlived a collection, and may be written without the barrier. Of
        // another thread's object nobody here knows for sure that it exists: its cell is enough.
        if let Some(stores) = state.stores()
            && let Some(span) = state.space().find_span(object)
            && span.cell_in(object) == Some(object)
        {
            stores.note(state.space(), ObjectRef::new(object.get()), object, span.object_bytes() / WORD);
        }
        // A marking that is under way may have to go through an object that it has not scanned: so that is shaded, and its words
        // and its memory stay until the marking ends.
        if self.is_concurrent_marking()
            && state.space().is_old(object)
            && !state.faults().fails(Fault::FreedAtOnce)
        {
            Shading::of(state).object(object.get());
            let free = || self.owned().free_later(object);
            return state.marking_log().free(object.get(), free).map_err(FreeError::Refused);
        }
        // SAFETY: contract 1.
        unsafe { self.owned().free(object) }.map_err(FreeError::Refused)
    }
}
