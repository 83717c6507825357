//! What the heap follows of the program's variables, from the next slow path of an allocation on. Invariant: what was applied is what
//! a variable had then; a change is applied by one of the threads that see it.

use crate::exports::variables::{GC_dont_gc, GC_free_space_divisor, GC_no_dls};
use crate::process::made;
use crate::report;
use crate::settings;
use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, AtomicUsize, Ordering::Relaxed};
use heapwood_gc::Heap;

/// The divisor that was last applied.
static DIVISOR: AtomicUsize = AtomicUsize::new(0);
/// 1 if the data of libraries are no roots.
static HAS_NO_DLS: AtomicI32 = AtomicI32::new(0);
/// Not 0 if only the program's requests collect.
static MANUAL: AtomicI32 = AtomicI32::new(0);

/// The heap was made by what the variables say.
pub(crate) fn begin(heap: &'static Heap) {
    DIVISOR.store(settings::free_space_divisor(), Relaxed);
    HAS_NO_DLS.store((GC_no_dls.load(Relaxed) != 0).into(), Relaxed);
    apply(heap);
}

/// Applies what the program has stored in variables since.
#[inline]
pub(crate) fn apply(heap: &'static Heap) {
    let none: c_int = (GC_no_dls.load(Relaxed) != 0).into();
    if GC_free_space_divisor.load(Relaxed) != DIVISOR.load(Relaxed)
        || none != HAS_NO_DLS.load(Relaxed)
        || is_off() != IS_OFF.load(Relaxed)
    {
        change(heap);
    }
}

#[cold]
fn change(heap: &'static Heap) {
    let divisor = GC_free_space_divisor.load(Relaxed);
    if DIVISOR.swap(divisor, Relaxed) != divisor {
        // A percentage in range is accepted.
        let _ = heap.set_percent(settings::percent());
    }
    let none: c_int = (GC_no_dls.load(Relaxed) != 0).into();
    if HAS_NO_DLS.swap(none, Relaxed) != none
        && let Err(error) = heap.roots().set_all_libraries(none == 0)
    {
        report::warn(format_args!("GC_set_no_dls: {error}"));
    }
    switch(heap);
}

/// Applies it now, if there is a heap.
fn apply_now() {
    if let Some(heap) = made() {
        apply(heap);
    }
}

/// Whether the heap's collections are off because the program wants it so: 1 if they are.
static IS_OFF: AtomicI32 = AtomicI32::new(0);

/// 1 if the program wants no collections, or none that it does not ask for.
fn is_off() -> c_int {
    (GC_dont_gc.load(Relaxed) != 0 || MANUAL.load(Relaxed) != 0).into()
}

fn switch(heap: &'static Heap) {
    // One of several threads that see a change makes it; who comes later sees the next.
    let wanted = is_off();
    if IS_OFF.swap(wanted, Relaxed) == wanted {
        return;
    }
    let switched = match wanted {
        0 => heap.enable_collections(),
        _ => heap.disable_collections(),
    };
    if let Err(error) = switched {
        report::warn(format_args!("GC_disable: {error}"));
    }
}

pub(crate) fn set_no_dls(on: c_int) {
    GC_no_dls.store(on, Relaxed);
    apply_now();
}

pub(crate) fn set_free_space_divisor(divisor: usize) {
    GC_free_space_divisor.store(divisor.max(1), Relaxed);
    apply_now();
}

/// `GC_set_disable_automatic_collection`.
pub(crate) fn set_manual(on: c_int) {
    MANUAL.store(on, Relaxed);
    apply_now();
}

/// `GC_get_disable_automatic_collection`.
pub(crate) fn is_manual() -> c_int {
    MANUAL.load(Relaxed)
}
