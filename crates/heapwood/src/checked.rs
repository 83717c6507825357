//! Reads and stores that look whether the object is still there, and in the right heap. A build of this crate with debug assertions has
//! them; in others nothing of it is left. Invariant: without a heap in verify mode each costs one more test.

use crate::trace::Trace;
use core::any::type_name;
use core::panic::Location;
use core::ptr::NonNull;
use heapwood_gc::{Mutator, Site, is_in_verified_heap, may_find_stale_pointers, stale_pointer};
use heapwood_heap::{Address, CLOBBER, ShapeId};
use heapwood_layout::MASK_BLOCKS;

/// Panics if the object was freed, as far as a heap in verify mode knows.
#[inline(always)]
#[cfg_attr(debug_assertions, track_caller)]
pub(crate) fn read<T>(object: NonNull<T>) {
    if cfg!(debug_assertions) && may_find_stale_pointers() {
        look(object.cast(), type_name::<T>());
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn look(object: NonNull<u8>, name: &str) {
    if let Some(stale) = stale_pointer(object) {
        panic!("a Gc<{name}> leads to {stale}");
    }
    assert!(
        object.addr().get() != usize::from_ne_bytes([CLOBBER; size_of::<usize>()]),
        "a Gc<{name}> is a word of freed memory: the object that it was read from was freed, and a reference to that kept where no \
         collection looks"
    );
}

/// Tells the heap how the type of an object is called.
#[inline(always)]
pub(crate) fn name<T>(raw: &Mutator, shape: ShapeId) {
    if cfg!(debug_assertions) && may_find_stale_pointers() {
        raw.heap().types().name(shape, type_name::<T>());
    }
}

/// Tells the heap where an object was made: where the first function was called that tracks its callers.
#[inline(always)]
#[cfg_attr(debug_assertions, track_caller)]
pub(crate) fn made<T>(raw: &Mutator, object: NonNull<T>) {
    if cfg!(debug_assertions) && may_find_stale_pointers() {
        raw.note_site(object.cast(), Site::of(Location::caller()));
    }
}

/// Panics if the value of a new object leads to another heap's object, or to one that was freed, as far as its type says which words are
/// pointers. A session's brands do not let that happen; a value may lead to another session's objects there for as long as both calls last.
#[inline(always)]
#[cfg_attr(debug_assertions, track_caller)]
pub(crate) fn value<T: Trace>(raw: &Mutator, object: NonNull<u8>) {
    let is_precise = const { T::MAP.has_pointers() && !T::MAP.is_conservative() && !T::MAP.is_far() };
    if cfg!(debug_assertions) && is_precise && may_find_stale_pointers() && !raw.defers_collections() {
        look_at_value(raw, object.cast(), const { T::MAP.mask() });
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn look_at_value(raw: &Mutator, object: NonNull<usize>, mask: [u64; MASK_BLOCKS]) {
    for (block, mut bits) in mask.into_iter().enumerate() {
        while bits != 0 {
            // SAFETY: the object was written just now, and has a pointer or zero in this word.
            let value = unsafe { object.add(block * 64 + bits.trailing_zeros() as usize).read() };
            look_at_store(raw, object.addr().get(), value);
            bits &= bits - 1;
        }
    }
}

/// Panics if the slot or the value is of another heap in verify mode than the mutator, or the value was freed.
#[inline(always)]
#[cfg_attr(debug_assertions, track_caller)]
pub(crate) fn store(raw: &Mutator, slot: usize, value: usize) {
    if cfg!(debug_assertions) && may_find_stale_pointers() {
        look_at_store(raw, slot, value);
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn look_at_store(raw: &Mutator, slot: usize, value: usize) {
    let is_foreign = |at: usize| {
        let at = Address::new(at);
        !raw.heap().space().contains(at) && is_in_verified_heap(at)
    };
    assert!(!is_foreign(slot), "a cell of an object is set with a mutator of another heap");
    assert!(
        !is_foreign(value),
        "a pointer to an object of another heap is stored: objects and roots refer to those of their own heap"
    );
    if let Some(stale) = NonNull::new(value as *mut u8).and_then(stale_pointer) {
        panic!("a pointer is stored that leads to {stale}");
    }
}
