//! Plain stores into objects that a collection has seen: of one moment (`dirty`), and as long as a fiber runs (`begin_plain`).
//! Invariant: the collector is told before the first store, and no poll comes between the last and the end.

use crate::error::PlainError;
use crate::inject::Fault;
use crate::mutator::Mutator;
use crate::state::{AddPlainError, MOST_PLAIN, PlainObject, TopError, clear_words};
use core::ptr::NonNull;
use core::sync::atomic::AtomicUsize;
use heapwood_heap::{Address, ObjectInfo, ObjectRef, ScanKind};
use heapwood_layout::WORD;

impl Mutator {
    /// Announces plain stores into slots of an object, any of them and any number. They come before this thread's next poll,
    /// blocking region or allocation. Collections look at the whole object afterwards, and a marking beside the program is told what
    /// it refers to now.
    ///
    /// # Errors
    /// No object begins there, or it lies in an arena; or the mutator cannot be used now ([`Mutator::check`]).
    pub fn dirty(&self, object: NonNull<u8>) -> Result<(), PlainError> {
        let found = self.object_at(object)?;
        let _no_preempt = self.record().no_preempt();
        // SAFETY: it was found.
        unsafe { self.barrier().dirty(found.base, found.bytes) };
        Ok(())
    }

    /// From now on the slots of an object take plain stores, until [`Mutator::end_plain`] or its death: it is a fiber's stack of values,
    /// say. Its first `top` words count, or all of them if `top` is `usize::MAX`; the others are nobody's, and collections clear them.
    /// Every collection that reaches the object looks at what counts, young ones, too. The object is kept alive by what leads to it,
    /// as others are. Where stops are by signals all words count.
    ///
    /// Returns where the top is, into which the program may store a number of words until the end; more than the object has: all.
    ///
    /// # Errors
    /// No object begins there, or it lies in an arena, or has no slots; it takes plain stores already; it has fewer words than
    /// `top`; 4096 objects take plain stores; the kernel gives no memory; or the mutator cannot be used now ([`Mutator::check`]).
    pub fn begin_plain(&self, object: NonNull<u8>, top: usize) -> Result<NonNull<AtomicUsize>, PlainError> {
        let found = self.object_at(object)?;
        let (address, words) = (found.base.get(), found.bytes / WORD);
        let entry = self.shared().space().entry_at(Address::new(address));
        if found.pointer_free || entry.is(ScanKind::Ephemeron) {
            return Err(PlainError::NoSlots { address });
        }
        if top > words && top != usize::MAX {
            return Err(PlainError::Top { top, words });
        }
        let _no_preempt = self.record().no_preempt();
        let (heap, state) = (self.heap(), self.shared());
        let begun = PlainObject { object: address, words, top };
        let top = state.plain().add(heap.kernel(), begun).map_err(|refused| match refused {
            AddPlainError::Full => PlainError::Full { most: MOST_PLAIN },
            AddPlainError::Begun => PlainError::Begun { address },
            AddPlainError::Kernel(e) => PlainError::Kernel(e),
        })?;
        if !state.faults().fails(Fault::PlainUnshaded) {
            // SAFETY: it was found.
            unsafe { self.barrier().shade_object(found.base, found.bytes) };
        }
        // SAFETY: it is the address of an entry.
        Ok(unsafe { NonNull::new_unchecked(top.cast_mut()) })
    }

    /// Sets how many words of such an object count; `usize::MAX`: all.
    ///
    /// # Errors
    /// It takes no plain stores, or has fewer words; or the mutator cannot be used now.
    pub fn set_plain_top(&self, object: NonNull<u8>, top: usize) -> Result<(), PlainError> {
        self.check().map_err(PlainError::Misuse)?;
        let address = object.as_ptr() as usize;
        let _no_preempt = self.record().no_preempt();
        self.shared().plain().set_top(address, top).map_err(|refused| match refused {
            TopError::NotBegun => PlainError::NotBegun { address },
            TopError::Beyond(words) => PlainError::Top { top, words },
        })
    }

    /// The slots of an object take no plain stores any more: from now on it is an ordinary one, whose words above the top are 0.
    ///
    /// # Errors
    /// It takes none; or the mutator cannot be used now.
    pub fn end_plain(&self, object: NonNull<u8>) -> Result<(), PlainError> {
        self.check().map_err(PlainError::Misuse)?;
        let address = object.as_ptr() as usize;
        let _no_preempt = self.record().no_preempt();
        let state = self.shared();
        let ended = state.plain().remove(address).ok_or(PlainError::NotBegun { address })?;
        let object = ObjectRef::new(ended.object);
        if state.stop_signal().is_none() {
            // SAFETY: an entry's object exists, and its words above the top are nobody's.
            unsafe { clear_words(address, ended.top.min(ended.words)..ended.words) };
        }
        if !state.faults().fails(Fault::PlainEndNotRecorded) {
            self.barrier().remember_object(object);
        }
        self.barrier().note(object, Address::new(address), ended.words);
        Ok(())
    }

    /// The object that begins at an address.
    fn object_at(&self, object: NonNull<u8>) -> Result<ObjectInfo, PlainError> {
        self.check().map_err(PlainError::Misuse)?;
        let address = object.as_ptr() as usize;
        let found = self.find_info(address).filter(|found| found.base.get() == address);
        let is_arenas = || self.shared().space().entry_at(Address::new(address)).is(ScanKind::Arena);
        found.filter(|_| !is_arenas()).ok_or(PlainError::NoObject { address })
    }
}
