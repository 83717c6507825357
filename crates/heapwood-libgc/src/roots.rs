//! Roots that the program adds and removes, and the data of the program and its libraries, which the heap reads itself. It has the
//! ranges as a set of addresses. Invariant: what was added is a root until the program has removed it.

use crate::exports::types::{HasStaticRoots, Ptr};
use crate::process::{heap, made};
use crate::report;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute;
use core::ops::Range;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed};
use heapwood_gc::{Heap, RootError};
use heapwood_layout::WORD;

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

/// The program's function that says which segments of libraries may be roots; null for none.
static FILTER: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// The heap asks it.
static HAS_FILTER: AtomicBool = AtomicBool::new(false);

/// Asks the program's function about a segment of a library.
fn may_be_root(name: &CStr, data: Range<usize>) -> bool {
    // SAFETY: `set_filter` stores a function of this type, or none.
    let function: HasStaticRoots = unsafe { transmute(FILTER.load(Relaxed)) };
    // SAFETY: the program's function is called as gc.h says, with the loader's name and a segment.
    function.is_none_or(|function| unsafe { function(name.as_ptr(), data.start as Ptr, data.len()) } != 0)
}

/// `GC_register_has_static_roots_callback`: the heap asks it about each segment when the loaded libraries have changed.
pub(crate) fn set_filter(function: HasStaticRoots) {
    FILTER.store(function.map_or(null_mut(), |function| function as *mut c_void), Relaxed);
    made().into_iter().for_each(begin);
}

/// The heap was made; or the function has changed.
pub(crate) fn begin(heap: &'static Heap) {
    let function = FILTER.load(Relaxed);
    if !function.is_null() || HAS_FILTER.swap(false, Relaxed) {
        HAS_FILTER.store(!function.is_null(), Relaxed);
        tell(heap.roots().set_library_filter((!function.is_null()).then_some(may_be_root)));
    }
}

/// `GC_dlopen`.
///
/// # Safety
/// 1. As for dlopen.
pub(crate) unsafe fn dlopen(path: *const c_char, mode: c_int) -> Ptr {
    // SAFETY: contract 1.
    unsafe { libc::dlopen(path, mode) }
}
