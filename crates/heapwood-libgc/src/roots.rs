//! Roots that the program adds and removes, and the data of libraries. Ranges that overlap are one; a piece may be taken out of one.
//! Invariant: no two ranges of the table overlap or touch, and each is a root of the heap.

use crate::lock::Locked;
use crate::process::heap;
use crate::report;
use crate::symbols::GC_no_dls;
use crate::types::{HasStaticRoots, Ptr};
use core::ffi::{c_char, c_int};
use core::sync::atomic::{AtomicI32, Ordering::Relaxed};
use heapwood_gc::{Heap, RootError};
use heapwood_os::process::loaded::for_each_library;

/// 1 if the data of libraries are no roots.
static HAS_NO_DLS: AtomicI32 = AtomicI32::new(0);

/// The heap was made.
pub(crate) fn begin(heap: &'static Heap) {
    HAS_NO_DLS.store((GC_no_dls.load(Relaxed) != 0).into(), Relaxed);
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

/// Follows `GC_no_dls`.
#[inline]
pub(crate) fn apply(heap: &'static Heap) {
    let none: c_int = (GC_no_dls.load(Relaxed) != 0).into();
    if none != HAS_NO_DLS.load(Relaxed) && HAS_NO_DLS.swap(none, Relaxed) != none {
        tell(heap.roots().set_all_libraries(none == 0));
    }
}

fn tell(result: Result<(), RootError>) {
    if let Err(error) = result {
        report::warn(format_args!("The data of libraries: {error}"));
    }
}

static RANGES: Locked<Ranges> = Locked::new(Ranges { all: [(0, 0, 0); MOST], count: 0 });
const MOST: usize = 2048;

struct Ranges {
    all: [(usize, usize, u64); MOST],
    count: usize,
}

/// `GC_add_roots`.
///
/// # Safety
/// 1. The words stay readable until they are removed.
pub(crate) unsafe fn add(low: Ptr, high: Ptr) {
    let (low, high) = ((low as usize).next_multiple_of(8), high as usize & !7);
    if low >= high {
        return;
    }
    // SAFETY: contract 1.
    let Ok(token) = (unsafe { heap().roots().add_range(low, high) }) else {
        crate::report::abort(format_args!("there are too many roots"));
    };
    let token = token.to_bits();
    RANGES.with(|ranges| {
        if ranges.count == MOST {
            crate::report::abort(format_args!("there are too many roots"));
        }
        ranges.all[ranges.count] = (low, high, token);
        ranges.count += 1;
    });
}

/// `GC_remove_roots`.
pub(crate) fn remove(low: Ptr, high: Ptr) {
    let (low, high) = (low as usize, high as usize);
    loop {
        let taken = RANGES.with(|ranges| {
            let at = ranges.all[..ranges.count].iter().position(|&(start, end, _)| start < high && low < end)?;
            ranges.count -= 1;
            let taken = ranges.all[at];
            ranges.all[at] = ranges.all[ranges.count];
            Some(taken)
        });
        let Some((start, end, token)) = taken else { return };
        // SAFETY: they are parts of what the program has added.
        unsafe {
            add(start as Ptr, low.max(start) as Ptr);
            add(high.min(end) as Ptr, end as Ptr);
        }
        heap().roots().remove(heapwood_gc::RootToken::from_bits(token));
    }
}

/// `GC_clear_roots`.
pub(crate) fn clear() {
    remove(core::ptr::null_mut(), usize::MAX as Ptr);
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
