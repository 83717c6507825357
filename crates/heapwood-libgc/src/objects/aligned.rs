//! Aligned objects: an address in an object that is large enough. Invariant: a pointer to that address keeps the object. Pointers
//! anywhere do; or its distance from the first byte is registered as a displacement; or it is the first byte.

use crate::exports::types::Ptr;
use crate::objects::alloc::{malloc, out_of_memory};
use crate::objects::interior;
use core::ffi::c_int;
use heapwood_heap::{GRANULE, MAX_SMALL};
use heapwood_pages::PAGE_SIZE;

/// An object of `n` bytes at a multiple of `align`. Without interior pointers that is at most [`PAGE_SIZE`] (libgc: 4096).
pub(crate) fn memalign(align: usize, n: usize) -> Ptr {
    if align <= GRANULE {
        return malloc(n);
    }
    if interior::all() == 0 && align > interior::MOST {
        // No displacement is that large. A large object begins at a page.
        return if align <= PAGE_SIZE { malloc(n.max(MAX_SMALL + 1)) } else { out_of_memory(n) };
    }
    let Some(bytes) = n.max(1).checked_add(align - 1) else { return out_of_memory(n) };
    let object = malloc(bytes);
    let offset = (object as usize).next_multiple_of(align) - object as usize;
    if object.is_null() || offset == 0 {
        return object;
    }
    if offset < interior::MOST {
        interior::register_displacement(offset);
    }
    object.wrapping_byte_add(offset)
}

/// The same as POSIX has it.
///
/// # Safety
/// 1. `to` may be written.
pub(crate) unsafe fn posix_memalign(to: *mut Ptr, align: usize, n: usize) -> c_int {
    if !align.is_power_of_two() || align < size_of::<Ptr>() {
        return libc::EINVAL;
    }
    let object = memalign(align, n);
    if object.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: contract 1.
    unsafe { to.write(object) };
    0
}
