//! Roots that the program adds and removes, and the data of libraries. The heap has the ranges as a set of
//! addresses. Invariant: what was added is a root until the program has removed it.

use crate::process::heap;
use crate::report;
use crate::types::{HasStaticRoots, Ptr};
use core::ffi::{c_char, c_int};
use heapwood_gc::{Heap, RootError};
use heapwood_layout::WORD;
use heapwood_os::process::loaded::for_each_library;

/// The heap was made.
pub(crate) fn begin(heap: &'static Heap) {
    if !is_in_program() {
        return;
    }
    // The heap leaves out the data of the library that it lies in. That is the program here.
    for_each_library(|library| {
        let is_program = library.holds(begin as *const () as usize);
        if is_program {
            for data in library.data() {
                // SAFETY: the program stays.
                let _ = unsafe { heap.roots().add_range(data.start, data.end) };
            }
        }
        !is_program
    });
}

/// Whether this library was linked into the program.
fn is_in_program() -> bool {
    let mut is_first = None;
    for_each_library(|library| {
        is_first = Some(library.holds(begin as *const () as usize));
        false
    });
    is_first == Some(true)
}

fn tell(result: Result<(), RootError>) {
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
