//! Many objects of one size at once, for programs that have lists of free objects of their own: a chain through the first words.
//! The program keeps the chain by its first object, or, where the collector does not look at the words, by a procedure of its own.
//! Invariant: beside the first word the objects are as single ones are.

use crate::kinds::{self, ATOMIC, NORMAL};
use crate::types::Ptr;
use core::ffi::c_int;
use core::ptr::null_mut;

/// Bytes of a chain: what a block of libgc has.
const CHAIN: usize = 4096;

/// `GC_generic_malloc_many`.
///
/// # Safety
/// 1. `result` may be written.
pub(crate) unsafe fn generic_malloc_many(n: usize, kind: c_int, result: *mut Ptr) {
    // SAFETY: contract 1.
    unsafe { result.write(chain(n, kinds::without_hold(kind))) };
}

/// `GC_malloc_many`.
pub(crate) fn malloc_many(n: usize) -> Ptr {
    chain(n, NORMAL)
}

fn chain(n: usize, kind: u32) -> Ptr {
    let count = (CHAIN / n.max(1).next_multiple_of(16)).max(1);
    // The chain is kept by its last object, which is on the stack, as long as it is made: so it is made from its end.
    let mut first: Ptr = null_mut();
    for _ in 0..count {
        let object = kinds::allocate(n, kind);
        if object.is_null() {
            break;
        }
        // SAFETY: an object has room for a word.
        unsafe { object.cast::<Ptr>().write(first) };
        first = object;
        if kind == ATOMIC && n >= CHAIN {
            break;
        }
    }
    first
}
