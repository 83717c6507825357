//! Ephemerons and weak references, as a thread makes and reads them. A weak reference is an ephemeron without a value. Reads need
//! a barrier while a marking goes on beside the program: a snapshot must learn of a key that nothing else leads to. Go's weak
//! pointers shade for the same reason. Invariants: a read never returns what is dead, and what it has returned is found by every
//! collection from then on as if it had been loaded from a strong slot; a call that fails changes nothing.

use crate::error::{AllocError, Refusal};
use crate::heap::object_type::ObjectType;
use crate::inject::Fault;
use crate::mark::Shading;
use crate::mutator::Mutator;
use crate::state::barrier_bits::MARK;
use crate::weak::ephemerons::Ephemeron;
use core::ptr::NonNull;
use heapwood_heap::{Address, ObjectRef, ScanKind, ShapeId, publication};

const EPHEMERON: ObjectType = ObjectType::new(32, ShapeId::EPHEMERON);

impl Mutator {
    /// Makes an ephemeron: an object of the heap that keeps `value` while something else leads to `key`, and is cleared when
    /// nothing does. The value is null, an object of this heap, or an address outside it. May collect.
    ///
    /// # Errors
    /// No object of this heap begins at `key`, or it lies in an arena; there is no memory; or the mutator cannot be used now
    /// ([`Mutator::check`]).
    ///
    /// # Safety
    /// 1. Both are reachable during the call, which may collect: from a root, or from a stack that is scanned.
    /// 2. The value is what a slot may hold.
    pub unsafe fn ephemeron(&self, key: NonNull<u8>, value: usize) -> Result<NonNull<u8>, AllocError> {
        self.check()?;
        let (objects, address) = (self.heap().objects(), key.as_ptr() as usize);
        if !objects.may_begin_outside_arenas(address) {
            let why = match objects.arena_at(address) {
                Some(arena) => Refusal::CannotReferWeaklyInArena { address, arena },
                None => Refusal::CannotReferWeakly { address },
            };
            return Err(why.into());
        }
        if !self.shared().ephemerons().are_some() {
            let _no_preempt = self.record().no_preempt();
            self.shared().ephemerons().begin()?;
        }
        let made = self.allocate(EPHEMERON)?;
        let _no_preempt = self.record().no_preempt();
        // SAFETY: it is new, has four words, and only this thread knows it. No collection comes before it has them all: none
        // sees a key without its value.
        unsafe { Ephemeron::at(made.as_ptr() as usize) }.init(address, value);
        if let Some(keys) = self.shared().ephemerons().keys() {
            keys.add(self.heap().space(), address);
        }
        Ok(made)
    }

    /// The key of an ephemeron, or what a weak reference refers to; `None` if it was cleared.
    ///
    /// # Errors
    /// No ephemeron of this heap begins there, or the mutator cannot be used now.
    #[inline]
    pub fn ephemeron_key(&self, ephemeron: NonNull<u8>) -> Result<Option<NonNull<u8>>, Refusal> {
        self.read_ephemeron(ephemeron, |_, key| key)
    }

    /// The value of an ephemeron; `None` if it was cleared, or has none.
    ///
    /// # Errors
    /// As for [`Mutator::ephemeron_key`].
    #[inline]
    pub fn ephemeron_value(&self, ephemeron: NonNull<u8>) -> Result<Option<NonNull<u8>>, Refusal> {
        self.read_ephemeron(ephemeron, |ephemeron, _| ephemeron.value())
    }

    /// Changes the value of an ephemeron; false if it was cleared, and has no value any more.
    ///
    /// # Errors
    /// As for [`Mutator::ephemeron_key`].
    ///
    /// # Safety
    /// 1. The value is what a slot may hold.
    pub unsafe fn set_ephemeron_value(&self, ephemeron: NonNull<u8>, value: usize) -> Result<bool, Refusal> {
        let ephemeron = self.known_ephemeron(ephemeron)?;
        // A key that is read is alive until the next poll, so the value has a key.
        let _no_preempt = self.record().no_preempt();
        if ephemeron.key() == 0 {
            return Ok(false);
        }
        // SAFETY: contract 1.
        unsafe { self.write_value(ephemeron, value) };
        Ok(true)
    }

    /// # Safety
    /// 1. The value is what a slot may hold.
    pub(super) unsafe fn write_value(&self, ephemeron: Ephemeron, value: usize) {
        let (object, slot) = (ObjectRef::new(ephemeron.address()), ephemeron.value_slot() as *mut usize);
        // SAFETY: an aligned word of that object; contract 1.
        unsafe { self.barrier().write(object, slot, Address::new(value)) };
    }

    /// Whether an ephemeron or a weak reference may begin at an address.
    pub fn may_be_ephemeron(&self, address: usize) -> bool {
        let space = self.heap().space();
        let at = Address::new(address);
        space.contains(at)
            && space.entry_at(at).is(ScanKind::Ephemeron)
            && space.find_span(at).and_then(|span| span.cell_in(at)) == Some(at)
    }

    #[inline]
    fn known_ephemeron(&self, ephemeron: NonNull<u8>) -> Result<Ephemeron, Refusal> {
        self.check()?;
        publication::observe();
        let address = ephemeron.as_ptr() as usize;
        if !self.may_be_ephemeron(address) {
            return Err(Refusal::NoEphemeron { address });
        }
        // SAFETY: a cell of that kind is there; who gives its address keeps it alive during the call.
        Ok(unsafe { Ephemeron::at(address) })
    }

    /// Reads from an ephemeron in a no-preempt region, for a marking must not end between the load and the note in its log.
    #[inline]
    fn read_ephemeron(
        &self,
        ephemeron: NonNull<u8>,
        read: impl FnOnce(Ephemeron, usize) -> usize,
    ) -> Result<Option<NonNull<u8>>, Refusal> {
        let ephemeron = self.known_ephemeron(ephemeron)?;
        let _no_preempt = self.record().no_preempt();
        let key = ephemeron.key();
        if key == 0 {
            return Ok(None);
        }
        let found = read(ephemeron, key);
        // Who reads an object by this word sees what was written before it was published.
        publication::observe();
        shade_found(self, key, found);
        Ok(NonNull::new(found as *mut u8))
    }
}

/// Shades what a read returns that found a key, for an active marking, in the no-preempt region of the read.
#[inline]
pub(super) fn shade_found(mutator: &Mutator, key: usize, found: usize) {
    let state = mutator.shared();
    if mutator.barrier().flag() & MARK != 0 && !state.faults().fails(Fault::WeakReadUnshaded) {
        shade_both(&Shading::of(state, mutator), key, found);
    }
}

#[cold]
#[inline(never)]
fn shade_both(shading: &Shading<'_, Mutator>, key: usize, found: usize) {
    shading.object(key);
    if found != key {
        shading.object(found);
    }
}
