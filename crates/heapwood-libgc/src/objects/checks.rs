//! Checks of pointers, for programs that look for errors of their own: one that fails calls the function that the program has set,
//! which ends the process at first. Invariant: a check never fails for what may be right.

use crate::exports::types::{Pointer, Ptr};
use crate::exports::variables::{
    GC_is_valid_displacement_print_proc, GC_is_visible_print_proc, GC_same_obj_print_proc,
};
use crate::objects::lookup;

fn tell_one(function: &Pointer, p: Ptr) {
    type Function = Option<unsafe extern "C-unwind" fn(Ptr)>;
    // SAFETY: null, or what the program has set.
    if let Some(function) = unsafe { core::mem::transmute::<Ptr, Function>(function.get()) } {
        // SAFETY: as above.
        unsafe { function(p) };
    }
}

/// `GC_same_obj`: `p`, which must be in the object that `q` is in.
pub(crate) fn same_object(p: Ptr, q: Ptr) -> Ptr {
    type Function = Option<unsafe extern "C-unwind" fn(Ptr, Ptr)>;
    let of = |at: Ptr| lookup::object(at as usize).map(|object| (object.base, object.base + object.bytes));
    let fits = match (of(p), of(q)) {
        (Some(p), Some(q)) => p == q,
        // One past the end of an object is still of it.
        (None, Some((_, end))) => p as usize == end,
        (Some((_, end)), None) => q as usize == end,
        (None, None) => true,
    };
    // SAFETY: null, or what the program has set.
    let function = unsafe { core::mem::transmute::<Ptr, Function>(GC_same_obj_print_proc.get()) };
    if let (false, Some(function)) = (fits, function) {
        // SAFETY: as above.
        unsafe { function(p, q) };
    }
    p
}

/// `GC_is_valid_displacement`: `p`, which must be a pointer that keeps its object.
pub(crate) fn is_valid_displacement(p: Ptr) -> Ptr {
    if let Some(object) = lookup::object(p as usize)
        && !crate::objects::interior::keeps(p as usize - object.base)
    {
        tell_one(&GC_is_valid_displacement_print_proc, p);
    }
    p
}

/// `GC_is_visible`: `p`, an address that the collector must look at.
pub(crate) fn is_visible(p: Ptr) -> Ptr {
    if let Some(object) = lookup::object(p as usize)
        && object.kind == crate::objects::kinds::ATOMIC
    {
        // Words of such an object are not looked at.
        tell_one(&GC_is_visible_print_proc, p);
    }
    p
}

/// `GC_pre_incr`.
///
/// # Safety
/// 1. `p` can be read and written.
pub(crate) unsafe fn pre_increment(p: *mut Ptr, by: isize) -> Ptr {
    // SAFETY: contract 1.
    unsafe {
        let new = same_object((*p).wrapping_byte_offset(by), *p);
        *p = new;
        new
    }
}

/// `GC_post_incr`.
///
/// # Safety
/// 1. `p` can be read and written.
pub(crate) unsafe fn post_increment(p: *mut Ptr, by: isize) -> Ptr {
    // SAFETY: contract 1.
    unsafe {
        let old = *p;
        *p = same_object(old.wrapping_byte_offset(by), old);
        old
    }
}
