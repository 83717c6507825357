//! Values with a tail: a header of one type, and behind it elements whose number is known at run time, in one object: an instance and
//! its fields, a closure and what it has captured, a node and its children. Invariant: the header and as many elements as the
//! object says are written when it is handed out.

use crate::trace::{Trace, TypeMap, descriptor_of, program_of};
use core::fmt;
use core::mem::offset_of;
use core::ptr::NonNull;
use heapwood_gc::{Tail, TailElement};

/// A header and elements behind it; made by [`Mutator::alloc_with_tail`](crate::Mutator::alloc_with_tail).
///
/// Both change only through cells in them. It exists only behind a [`Gc`](crate::Gc).
#[repr(C)]
pub struct WithTail<H, T> {
    head: Head<H>,
    items: [T; 0],
}

/// The header, and the number of elements.
#[repr(C)]
struct Head<H> {
    header: H,
    len: usize,
}

// SAFETY: its pointers are the header's; the length is none.
unsafe impl<H: Trace> Trace for Head<H> {
    const MAP: TypeMap = TypeMap::of_fields([(0, H::MAP)]);
}

impl<H, T> WithTail<H, T> {
    /// The header.
    #[inline]
    pub fn header(&self) -> &H {
        &self.head.header
    }

    /// The elements.
    #[inline]
    pub fn tail(&self) -> &[T] {
        // SAFETY: the memory behind the header holds `len` elements, written when the object was made; it exists only in an
        // object of that size.
        unsafe { core::slice::from_raw_parts((&raw const self.items).cast(), self.head.len) }
    }

    pub(crate) fn items(this: NonNull<Self>) -> *mut T {
        // SAFETY: the field's address is computed inside the object's own memory.
        unsafe { (&raw mut (*this.as_ptr()).items).cast() }
    }

    /// # Safety
    /// 1. `this` is a new object with room for the header and `len` elements.
    pub(crate) unsafe fn begin(this: NonNull<Self>, header: H, len: usize) {
        // SAFETY: contract 1.
        unsafe { (&raw mut (*this.as_ptr()).head).write(Head { header, len }) };
    }
}

impl<H: Trace, T: Trace> WithTail<H, T> {
    /// How such objects are scanned.
    pub(crate) fn layout() -> Tail {
        const {
            assert!(
                align_of::<H>() <= align_of::<usize>() && align_of::<T>() <= align_of::<usize>(),
                "a header and elements can be aligned to at most 8 bytes"
            );
            assert!(
                program_of::<T>().is_none() && program_of::<H>().is_none(),
                "a type with pointers behind its first 256 words can be neither a header nor an element"
            );
            assert!(size_of::<Head<H>>() == offset_of!(WithTail<H, T>, items));
        }
        let tail = Tail::new(Some(&descriptor_of::<Head<H>>()), TailElement::Described(descriptor_of::<T>()));
        tail.unwrap_or_else(|error| panic!("{error}"))
    }

    /// The elements may hold pointers.
    pub(crate) const MAY_POINT: bool = descriptor_of::<T>().has_pointers();
}

impl<H: fmt::Debug, T: fmt::Debug> fmt::Debug for WithTail<H, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WithTail").field("header", self.header()).field("tail", &self.tail()).finish()
    }
}
