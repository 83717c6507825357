//! Reads that look whether the object is still there. A build of this crate with debug assertions has them; in others nothing of it is
//! left. Invariant: without a heap in verify mode a read costs one more test.

use core::any::type_name;
use core::ptr::NonNull;
use heapwood_gc::{Mutator, may_find_stale_pointers, stale_pointer};
use heapwood_heap::ShapeId;

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
}

/// Tells the heap how the type of an object is called.
#[inline(always)]
pub(crate) fn name<T>(raw: &Mutator, shape: ShapeId) {
    if cfg!(debug_assertions) && may_find_stale_pointers() {
        raw.heap().types().name(shape, type_name::<T>());
    }
}
