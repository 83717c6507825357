//! Reads and stores that look whether the object is still there, and in the right heap. A build of this crate with debug assertions has
//! them; in others nothing of it is left. Invariant: without a heap in verify mode each costs one more test.

use core::any::type_name;
use core::panic::Location;
use core::ptr::NonNull;
use heapwood_gc::{Mutator, Site, is_in_verified_heap, may_find_stale_pointers, stale_pointer};
use heapwood_heap::{Address, CLOBBER, ShapeId};

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
        "a pointer to an object of another heap is stored: objects refer to those of their own heap"
    );
    if let Some(stale) = NonNull::new(value as *mut u8).and_then(stale_pointer) {
        panic!("a pointer is stored that leads to {stale}");
    }
}
