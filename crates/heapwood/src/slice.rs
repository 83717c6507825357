//! Arrays whose length is known at run time: a word for the length, then the elements. A `Gc<Slice<T>>` is one word
//! like every `Gc`. Elements that hold pointers are scanned by the element's map, repeated.

use crate::gc::Gc;
use crate::shared::Shared;
use crate::trace::{Trace, descriptor_of, program_of};
use core::borrow::Borrow;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;
use core::ptr::NonNull;
use heapwood_gc::slice_scan;
use heapwood_heap::Scan;

/// Elements in the heap; made by [`Mutator::alloc_slice`](crate::Mutator::alloc_slice). It dereferences to `[T]`, and compares,
/// orders and hashes as that does.
///
/// ```
/// # use heapwood::{Config, Heap};
/// # // SAFETY: this program keeps no `Gc` but on the stack.
/// # let heap = unsafe { Heap::new(Config::default()) }?;
/// # let m = heap.attach()?;
/// let numbers = m.alloc_slice(3, |i| i * i);
/// assert_eq!(*numbers, [0, 1, 4]);
/// let mut sum = 0;
/// for number in &numbers {
///     sum += number;
/// }
/// assert_eq!((sum, numbers < m.alloc_copy(&[0, 2])), (5, true));
/// # Ok::<(), heapwood::HeapError>(())
/// ```
///
/// Its elements change only through cells in them. It exists only behind a [`Gc`].
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

// SAFETY: a slice holds its elements and a length that never changes.
unsafe impl<T: Shared> Shared for Slice<T> {}

impl<T> Deref for Slice<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the memory behind the header holds `len` elements, written when the slice was made; the slice
        // exists only in an object of that size.
        unsafe { core::slice::from_raw_parts((&raw const self.items).cast(), self.len) }
    }
}

// As those of `[T]`: a slice is borrowed as one, so they have to agree.
impl<T: PartialEq<U>, U> PartialEq<Slice<U>> for Slice<T> {
    fn eq(&self, other: &Slice<U>) -> bool {
        **self == **other
    }
}

impl<T: PartialEq<U>, U> PartialEq<[U]> for Slice<T> {
    fn eq(&self, other: &[U]) -> bool {
        **self == *other
    }
}

impl<T: PartialEq<U>, U, const N: usize> PartialEq<[U; N]> for Slice<T> {
    fn eq(&self, other: &[U; N]) -> bool {
        **self == *other
    }
}

impl<T: Eq> Eq for Slice<T> {}

impl<T: PartialOrd> PartialOrd for Slice<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: Ord> Ord for Slice<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: Hash> Hash for Slice<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T> AsRef<[T]> for Slice<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T> Borrow<[T]> for Slice<T> {
    fn borrow(&self) -> &[T] {
        self
    }
}

impl<'a, T> IntoIterator for &'a Slice<T> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// `for element in &slice` of a `Gc<Slice<T>>`.
impl<'a, T> IntoIterator for &'a Gc<'_, Slice<T>> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: fmt::Debug> fmt::Debug for Slice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
