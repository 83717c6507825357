//! Copies of strings, as objects without pointers. Invariant: a copy ends in a zero.

use crate::objects::alloc::malloc_atomic;
use core::ffi::c_char;
use core::ptr::{copy_nonoverlapping, null_mut};

/// A copy of a string; null for null.
///
/// # Safety
/// 1. The text is null, or ends in a zero.
pub(crate) unsafe fn strdup(text: *const c_char) -> *mut c_char {
    // SAFETY: contract 1.
    unsafe { if text.is_null() { null_mut() } else { copy(text, libc::strlen(text)) } }
}

/// A copy of the first bytes of a string.
///
/// # Safety
/// 1. The text has so many bytes, or ends in a zero.
pub(crate) unsafe fn strndup(text: *const c_char, most: usize) -> *mut c_char {
    // SAFETY: contract 1.
    unsafe { copy(text, libc::strnlen(text, most)) }
}

/// # Safety
/// 1. The text has so many bytes.
unsafe fn copy(text: *const c_char, bytes: usize) -> *mut c_char {
    let copy: *mut c_char = malloc_atomic(bytes + 1).cast();
    if copy.is_null() {
        // SAFETY: the thread's own errno, as libgc sets it.
        unsafe { *libc::__errno_location() = libc::ENOMEM };
        return copy;
    }
    // SAFETY: contract 1; the copy has a byte more.
    unsafe {
        copy_nonoverlapping(text, copy, bytes);
        copy.add(bytes).write(0);
    }
    copy
}
