//! Arrays whose length is known at run time: a word for the length, then the elements. A `Gc<Slice<T>>` is one word
//! like every `Gc`. Elements that hold pointers are scanned by the element's map, repeated.

use crate::trace::{Trace, descriptor_of, program_of};
use core::fmt;
use core::ops::Deref;
use core::ptr::NonNull;
use heapwood_gc::slice_scan;
use heapwood_heap::Scan;

/// Elements in the heap; made by [`Mutator::alloc_slice`](crate::Mutator::alloc_slice). It dereferences to `[T]`.
///
/// Its elements change only through cells in them. It exists only behind a [`Gc`](crate::Gc).
#[repr(C)]
pub struct Slice<T> {
    len: usize,
    items: [T; 0],
}

impl<T> Slice<T> {
    pub(crate) fn items(this: NonNull<Self>) -> *mut T {
        // SAFETY: the field's address is computed inside the slice's own memory.
        unsafe { (&raw mut (*this.as_ptr()).items).cast() }
    }

    /// # Safety
    /// 1. `this` is a new object with room for `len` elements.
    pub(crate) unsafe fn set_len(this: NonNull<Self>, len: usize) {
        // SAFETY: contract 1.
        unsafe { (*this.as_ptr()).len = len };
    }
}

impl<T: Trace> Slice<T> {
    pub(crate) const SCAN: Scan = {
        assert!(
            align_of::<T>() <= align_of::<usize>(),
            "a slice's elements can be aligned to at most 8 bytes"
        );
        match (program_of::<T>(), slice_scan(&descriptor_of::<T>(), 1)) {
            (Some(program), _) => Scan::Unregistered { header: 1, program },
            (None, Some(scan)) => scan,
            (None, None) => panic!("Rust types have no trace functions"),
        }
    };

    /// The length of the longest slice of at most `bytes` bytes, or a shorter one if elements have no size.
    pub(crate) const fn len_within(bytes: usize) -> usize {
        let element = if size_of::<T>() == 0 { 1 } else { size_of::<T>() };
        (bytes - size_of::<usize>()) / element
    }

    /// The bytes of a slice of `len` elements. `None` if that overflows.
    pub(crate) fn bytes(len: usize) -> Option<usize> {
        let bytes = len.checked_mul(size_of::<T>())?.checked_add(size_of::<usize>())?;
        // Where elements hold pointers, whole words are scanned.
        bytes.checked_next_multiple_of(size_of::<usize>()).filter(|&b| b <= isize::MAX as usize)
    }
}

impl<T> Deref for Slice<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the memory behind the header holds `len` elements, written when the slice was made; the slice
        // exists only in an object of that size.
        unsafe { core::slice::from_raw_parts((&raw const self.items).cast(), self.len) }
    }
}

impl<T: fmt::Debug> fmt::Debug for Slice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
