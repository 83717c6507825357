//! The function that reports the pointers of a type that no mask describes: a hash table whose control bytes mark its
//! used slots, or a frame whose header has its layout. The collector calls it through the C calling convention, so any
//! language can supply it. Invariant: the collector alone makes a `TraceContext`.

use core::marker::{PhantomData, PhantomPinned};

/// Reports each pointer of the object of `size` bytes at `object` to the collector behind `tracer`.
///
/// It must accept an all-zero object, and must neither allocate from the heap nor unwind. It runs on collector threads
/// with 256 KiB of stack, concurrently with the program, and on several threads at once, for different objects or the
/// same.
pub type TraceFn = unsafe extern "C" fn(object: *mut u8, size: usize, tracer: *mut TraceContext);

/// The same for many types: `data` is the word with which a type was registered, or with which the function put the call off.
pub type TraceWithFn =
    unsafe extern "C" fn(object: *mut u8, size: usize, tracer: *mut TraceContext, data: usize);

/// The receiver of a [`TraceFn`]'s reports. Opaque: the collector supplies the pointer and interprets it.
#[repr(C)]
pub struct TraceContext {
    _private: [u8; 0],
    // Neither Send, Sync nor Unpin, since the type behind the pointer is unknown.
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}
