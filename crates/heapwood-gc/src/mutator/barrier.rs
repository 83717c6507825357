//! The write barrier: how pointers are stored into objects that exist already.
//!
//! Every such store names the object, the slot and the value, which is what concurrent marking and a remembered
//! set will need; while neither runs, the check of one flag is all it costs. In verify mode each store is noted, so
//! that stores which went around the barrier can be told. Invariant: of the objects of the last collection only such
//! stores change pointer slots; stores that initialise a new object need no barrier until the next poll or allocation.

use super::Mutator;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_heap::{Address, ObjectRef};

impl Mutator {
    /// Stores `value` into `slot` of the object at `object`.
    ///
    /// # Safety
    /// 1. `object` is the first byte of an object of this heap that exists, and `slot` an aligned word in it.
    /// 2. `value` is what the slot may hold: null, an address outside the heap, or an object's address.
    #[inline(always)]
    pub unsafe fn write(&self, object: ObjectRef, slot: *mut usize, value: Address) {
        if self.barrier.load(Ordering::Relaxed) != 0 {
            self.note_store(object, slot.into(), 1);
        }
        // Who finds the pointer sees the object as it was made.
        // SAFETY: contract 1.
        unsafe { AtomicUsize::from_ptr(slot) }.store(value.get(), Ordering::Release);
    }

    /// Stores `value` into `slot`, whose object is found from its address if the store must be noted. A slot outside
    /// the heap is part of a value that is not yet in it, and needs no barrier.
    ///
    /// # Safety
    /// 1. `slot` is an aligned word of an object of this heap, or outside it.
    /// 2. As for [`Mutator::write`], for the value.
    #[inline(always)]
    pub unsafe fn write_inside(&self, slot: *mut usize, value: Address) {
        if self.barrier.load(Ordering::Relaxed) != 0 {
            self.note_store_inside(slot.into());
        }
        // SAFETY: contract 1.
        unsafe { AtomicUsize::from_ptr(slot) }.store(value.get(), Ordering::Release);
    }

    /// Copies `words` words from `source` to the slots from `slot` on, which may overlap.
    ///
    /// # Safety
    /// 1. As for [`Mutator::write`], for every slot and the value that it gets.
    /// 2. The source is readable.
    pub unsafe fn copy(&self, object: ObjectRef, slot: *mut usize, source: *const usize, words: usize) {
        if self.barrier.load(Ordering::Relaxed) != 0 {
            self.note_store(object, slot.into(), words);
        }
        // Word by word and relaxed: a concurrent marker must never read a torn pointer.
        let copy = |i: usize| {
            // SAFETY: contracts 1 and 2.
            unsafe {
                let value = AtomicUsize::from_ptr(source.add(i).cast_mut()).load(Ordering::Relaxed);
                AtomicUsize::from_ptr(slot.add(i)).store(value, Ordering::Relaxed);
            }
        };
        if (slot as usize) <= source as usize {
            (0..words).for_each(copy);
        } else {
            (0..words).rev().for_each(copy);
        }
    }

    /// Stores `value` into `slot` if it holds `expected`; otherwise returns what it holds.
    ///
    /// # Safety
    /// 1. As for [`Mutator::write`].
    #[inline]
    pub unsafe fn cas(
        &self,
        object: ObjectRef,
        slot: *mut usize,
        expected: Address,
        value: Address,
    ) -> Result<(), Address> {
        if self.barrier.load(Ordering::Relaxed) != 0 {
            self.note_store(object, slot.into(), 1);
        }
        // SAFETY: contract 1.
        let slot = unsafe { AtomicUsize::from_ptr(slot) };
        slot.compare_exchange(expected.get(), value.get(), Ordering::AcqRel, Ordering::Acquire)
            .map(|_| ())
            .map_err(Address::new)
    }

    /// Says that `words` words from `start` on, of the object at `object`, are about to be written for the first time since
    /// it was made, with plain stores: for an object that is filled between allocations, as collections may have seen it.
    /// The stores follow before the next poll or allocation; the words held zeros.
    #[inline(always)]
    pub fn note_init(&self, object: ObjectRef, start: *mut usize, words: usize) {
        if self.barrier.load(Ordering::Relaxed) != 0 {
            self.note_store(object, start.into(), words);
        }
    }

    /// Out of line: every store of a program would else hold a copy of the search, and save registers for it.
    #[cold]
    #[inline(never)]
    fn note_store_inside(&self, slot: Address) {
        if let Some(object) = self.shared().space().find(slot) {
            self.note_store(object.base, slot, 1);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_store(&self, object: ObjectRef, slot: Address, words: usize) {
        if let Some(stores) = self.shared().stores() {
            stores.note(self.shared().space(), object, slot, words);
        }
    }
}
