//! Uninitialised memory without pointers. Invariant: allocating a buffer writes nothing into it, so a large one takes
//! no memory of the system until it is used. A buffer has no header and does not store its length;
//! [`Slice`](crate::Slice) does.

use crate::mutator::Mutator;
use crate::unbranded::Gc;
use core::ptr::NonNull;
use heapwood_gc::AllocError;
use heapwood_heap::{MAX_TABLED, ShapeId, SizeClass};

/// Memory without pointers, made by [`Mutator::alloc_buffer`]. [`Gc::as_ptr`] is its address, a multiple of 16.
///
/// Its contents are uninitialised until they are written through that address.
pub struct Buffer {
    _bytes: [u8; 0],
}

impl Mutator {
    /// Allocates `bytes` bytes (0 counts as 1) without pointers, and writes nothing there. May collect.
    ///
    /// ```
    /// # use heapwood::{Config, Gc, Heap};
    /// # let heap = unsafe { Heap::new(Config::default()) }.unwrap();
    /// # let m = heap.attach().unwrap();
    /// let buffer = m.alloc_buffer(1 << 20);
    /// let bytes = Gc::as_ptr(buffer).cast::<u8>();
    /// // SAFETY: the buffer has more than 4 bytes, and nobody else has its address.
    /// unsafe { bytes.copy_from_nonoverlapping(b"four".as_ptr(), 4) };
    /// ```
    ///
    /// # Panics
    /// As [`Mutator::alloc`].
    #[inline]
    pub fn alloc_buffer(&self, bytes: usize) -> Gc<Buffer> {
        match self.try_alloc_buffer(bytes) {
            Ok(buffer) => buffer,
            Err(error) => self.fail(error),
        }
    }

    /// Allocates `bytes` bytes (0 counts as 1) without pointers, and writes nothing there. May collect.
    ///
    /// # Errors
    /// As [`Mutator::try_alloc`].
    #[inline]
    pub fn try_alloc_buffer(&self, bytes: usize) -> Result<Gc<Buffer>, AllocError> {
        let object = if bytes <= MAX_TABLED {
            self.small_buffer(SizeClass::of_tabled(bytes.max(1)))?
        } else {
            self.long_buffer(bytes)?
        };
        // SAFETY: the object is new; a buffer is no more than its address.
        Ok(unsafe { Gc::from_raw(object.cast()) })
    }

    #[inline(always)]
    fn small_buffer(&self, class: SizeClass) -> Result<NonNull<u8>, AllocError> {
        let (shape, cell) = (ShapeId::no_pointers(Some(class)), class.cell_size());
        let object = self.raw().reserve(shape, cell)?;
        // SAFETY: the object was reserved just now, and any contents are valid.
        unsafe { self.raw().buffer(shape).commit(object, cell) };
        Ok(object)
    }

    #[inline(never)]
    fn long_buffer(&self, bytes: usize) -> Result<NonNull<u8>, AllocError> {
        match SizeClass::of(bytes) {
            Some(class) => self.small_buffer(class),
            None => self.raw().allocate_large(ShapeId::no_pointers(None), bytes, false),
        }
    }
}
