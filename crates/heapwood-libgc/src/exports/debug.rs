//! Functions for programs that were compiled for debugging: those without. Invariant: they have no headers, so pointers of both are
//! the same.

use crate::exports::rest;
use crate::exports::types::Ptr;
use crate::objects;
use crate::objects::alloc;
use crate::objects::held;
use crate::objects::strings;
use core::ffi::{c_char, c_int};

pub(crate) fn malloc(n: usize, _: *const c_char, _: c_int) -> Ptr {
    alloc::malloc(n)
}

pub(crate) fn malloc_atomic(n: usize, _: *const c_char, _: c_int) -> Ptr {
    alloc::malloc_atomic(n)
}

pub(crate) fn malloc_uncollectable(n: usize, _: *const c_char, _: c_int) -> Ptr {
    held::malloc_uncollectable(n)
}

pub(crate) fn malloc_atomic_uncollectable(n: usize, _: *const c_char, _: c_int) -> Ptr {
    held::malloc_atomic_uncollectable(n)
}

pub(crate) fn generic_or_special_malloc(n: usize, kind: c_int, _: *const c_char, _: c_int) -> Ptr {
    held::generic_or_special_malloc(n, kind)
}

/// # Safety
/// 1. As for [`objects::realloc`].
pub(crate) unsafe fn realloc(object: Ptr, n: usize, _: *const c_char, _: c_int) -> Ptr {
    // SAFETY: contract 1.
    unsafe { objects::realloc(object, n) }
}

/// # Safety
/// 1. As for [`strings::strdup`].
pub(crate) unsafe fn strdup(text: *const c_char, _: *const c_char, _: c_int) -> *mut c_char {
    // SAFETY: contract 1.
    unsafe { strings::strdup(text) }
}

/// # Safety
/// 1. As for [`strings::strndup`].
pub(crate) unsafe fn strndup(text: *const c_char, most: usize, _: *const c_char, _: c_int) -> *mut c_char {
    // SAFETY: contract 1.
    unsafe { strings::strndup(text, most) }
}

pub(crate) fn gcj_malloc(n: usize, table: Ptr, _: *const c_char, _: c_int) -> Ptr {
    rest::gcj_malloc(n, table)
}

/// `GC_get_debug_header_size`.
pub(crate) fn header_size() -> usize {
    0
}
