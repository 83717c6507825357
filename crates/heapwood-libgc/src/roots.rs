//! Roots that the program adds and removes, and the data of the program and its libraries, which the heap reads itself. It has the
//! ranges as a set of addresses. Invariant: what was added is a root until the program has removed it.

use crate::exports::types::{HasStaticRoots, Ptr};
use crate::process::heap;
use crate::report;
use core::ffi::{c_char, c_int};
use heapwood_gc::Refusal;
use heapwood_layout::WORD;

fn tell(result: Result<(), Refusal>) {
    if let Err(error) = result {
        report::warn(format_args!("Roots: {error}"));
    }
}

/// `GC_add_roots`.
///
/// # Safety
/// 1. The words stay readable until they are removed.
pub(crate) unsafe fn add(low: Ptr, high: Ptr) {
    let (low, high) = ((low as usize).next_multiple_of(WORD), high as usize & !(WORD - 1));
    if low >= high {
        return;
    }
    // SAFETY: contract 1.
    if let Err(error) = unsafe { heap().roots().add_interval(low, high) } {
        report::abort(format_args!("GC_add_roots: {error}"));
    }
}

/// `GC_remove_roots`: any part of what was added.
pub(crate) fn remove(low: Ptr, high: Ptr) {
    // A word of which a part goes is no root any more.
    let (low, high) = (low as usize & !(WORD - 1), (high as usize).next_multiple_of(WORD));
    if low < high {
        tell(heap().roots().remove_interval(low, high));
    }
}

/// `GC_clear_roots`.
pub(crate) fn clear() {
    heap().roots().clear_intervals();
}

/// `GC_exclude_static_roots`.
pub(crate) fn exclude(low: Ptr, high: Ptr) {
    tell(heap().roots().exclude_library_data(low as usize..high as usize));
}

/// `GC_clear_exclusion_table`.
pub(crate) fn clear_exclusions() {
    heap().roots().exclude_no_library_data();
}

/// `GC_is_tmp_root`: roots of libraries, which come and go.
pub(crate) fn is_temporary(_address: Ptr) -> c_int {
    0
}

/// `GC_register_has_static_roots_callback`.
pub(crate) fn set_filter(_function: HasStaticRoots) {}

/// `GC_dlopen`.
///
/// # Safety
/// 1. As for dlopen.
pub(crate) unsafe fn dlopen(path: *const c_char, mode: c_int) -> Ptr {
    // SAFETY: contract 1.
    unsafe { libc::dlopen(path, mode) }
}
