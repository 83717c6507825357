//! Reads that look whether the object is still there. A build of this crate with debug assertions has them; in others nothing of it is
//! left. Invariant: without a heap in verify mode a read costs one more test.

use core::ptr::NonNull;

/// Panics if the object was freed, as far as a heap in verify mode knows.
#[inline(always)]
#[cfg_attr(debug_assertions, track_caller)]
pub(crate) fn read<T>(object: NonNull<T>) {
    if cfg!(debug_assertions) && heapwood_gc::may_find_stale_pointers() {
        look(object.cast(), core::any::type_name::<T>());
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn look(object: NonNull<u8>, name: &str) {
    if let Some(stale) = heapwood_gc::stale_pointer(object) {
        panic!("a Gc<{name}> leads to {stale}");
    }
}
