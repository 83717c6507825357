//! The function that finds the pointers of a type which no mask describes: a hash table whose control bytes say
//! which slots are in use, a frame whose shape stands in its header. It is called by the collector, through the C
//! calling convention, so that any language can supply it.

use core::marker::{PhantomData, PhantomPinned};

/// Reports each pointer of the object of `size` bytes at `object` to the collector behind `tracer`.
///
/// It must accept an object that is all zeros, must not allocate from the heap or unwind, and may run on any
/// thread, at the same time as the program, and on several at once, for different objects or for the same: threads of the
/// collector's own, with 256 KiB of stack.
pub type TraceFn = unsafe extern "C" fn(object: *mut u8, size: usize, tracer: *mut TraceContext);

/// What a [`TraceFn`] reports to. Opaque: it is only ever seen through a pointer, which the collector supplies and
/// takes back.
#[repr(C)]
pub struct TraceContext {
    _private: [u8; 0],
    // Neither Send, Sync nor Unpin: nothing is known of what stands behind the pointer.
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}
