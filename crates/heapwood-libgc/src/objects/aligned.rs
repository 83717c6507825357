//! Aligned objects: an address in an object that is large enough. Invariant: the object is one in which pointers anywhere keep it,
//! or the address is registered as a displacement.

use crate::exports::types::Ptr;
use crate::objects::alloc::malloc;
use crate::objects::interior;
use core::ffi::c_int;
use heapwood_heap::GRANULE;

/// An object of `n` bytes at a multiple of `align`.
pub(crate) fn memalign(align: usize, n: usize) -> Ptr {
    if align <= GRANULE {
        return malloc(n);
    }
    let Some(bytes) = n.max(1).checked_add(align - 1) else { return crate::objects::alloc::out_of_memory(n) };
    let object = malloc(bytes);
    let offset = (object as usize).next_multiple_of(align) - object as usize;
    if object.is_null() || offset == 0 {
        return object;
    }
    if offset < 4096 {
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
