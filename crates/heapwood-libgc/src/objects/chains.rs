//! Many objects of one size at once, for programs that have lists of free objects of their own: a chain through the first words.
//! The program keeps the chain by its first object, or, where the collector does not look at the words, by a procedure of its own.
//! Invariant: beside the first word the objects are as single ones are.

use crate::exports::types::Ptr;
use crate::objects::kinds::{self, NORMAL};
use core::ffi::c_int;

/// Bytes of a chain: what a block of libgc has.
const CHAIN: usize = 4096;

/// `GC_generic_malloc_many`.
///
/// # Safety
/// 1. `result` may be written.
pub(crate) unsafe fn generic_malloc_many(n: usize, kind: c_int, result: *mut Ptr) {
    // SAFETY: contract 1.
    unsafe { result.write(kinds::chain(n, kinds::without_hold(kind), CHAIN)) };
}

/// `GC_malloc_many`.
pub(crate) fn malloc_many(n: usize) -> Ptr {
    kinds::chain(n, NORMAL, CHAIN)
}
