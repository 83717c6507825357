//! Which pointers into an object keep it. On at first: a pointer to any byte does, and to the end, one past the last byte. For that
//! libgc gives each object a byte more than was asked for, hence a cell of 32 bytes to 16. Here cells up to 64 bytes have none, and
//! a pointer to their end counts from stacks and registers only; larger ones have the byte. `GC_ALL_INTERIOR_POINTERS=strict` gives
//! all of them the byte. Off: words of objects and roots count if they point to an object's first byte, or to one of the registered
//! displacements; those of stacks always do. Invariant: the setting is that of the heap, once it is made.

use crate::exports::variables::GC_all_interior_pointers;
use crate::process::made;
use crate::report;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use heapwood_gc::Heap;

/// Cells up to this size have no byte more than was asked for.
pub(crate) const EXACT: usize = 64;

static IS_STRICT: AtomicBool = AtomicBool::new(false);
/// Objects larger than this have a byte more.
static WITHOUT_BYTE: AtomicUsize = AtomicUsize::new(EXACT);

/// All objects have a byte more than was asked for.
pub(crate) fn set_strict() {
    IS_STRICT.store(true, Relaxed);
    GC_all_interior_pointers.store(1, Relaxed);
}

pub(crate) fn is_strict() -> bool {
    IS_STRICT.load(Relaxed)
}

/// `GC_set_all_interior_pointers`. Objects that exist have the byte behind them or not, as before.
pub(crate) fn set_all(on: c_int) {
    GC_all_interior_pointers.store(on, Relaxed);
    if let Some(heap) = made() {
        begin(heap);
    }
}

/// `GC_get_all_interior_pointers`.
pub(crate) fn all() -> c_int {
    GC_all_interior_pointers.load(Relaxed)
}

/// The heap was made.
pub(crate) fn begin(heap: &'static Heap) {
    let (is_on, words) = (GC_all_interior_pointers.load(Relaxed) != 0, heap.ambiguous_words());
    words.set_interior(is_on);
    words.set_ends(is_on && !is_strict());
    for offset in (0..MOST).filter(|&offset| is_registered(offset)) {
        // It is in range.
        let _ = words.register_displacement(offset);
    }
    let without = match () {
        () if GC_all_interior_pointers.load(Relaxed) == 0 => usize::MAX,
        () if is_strict() => 0,
        () => EXACT,
    };
    WITHOUT_BYTE.store(without, Relaxed);
}

/// The bytes of a cell for an object of `n` bytes.
#[inline(always)]
pub(crate) fn padded(n: usize) -> usize {
    n.saturating_add((n > WITHOUT_BYTE.load(Relaxed)).into()).max(1)
}

/// Displacements are below this, as in libgc.
pub(crate) const MOST: usize = 4096;
/// A bit for each that is registered.
static REGISTERED: [AtomicU64; MOST / 64] = [const { AtomicU64::new(0) }; MOST / 64];

fn is_registered(offset: usize) -> bool {
    offset < MOST && REGISTERED[offset / 64].load(Relaxed) >> (offset % 64) & 1 != 0
}

/// `GC_register_displacement`.
pub(crate) fn register_displacement(offset: usize) {
    if offset >= MOST {
        report::abort(format_args!("GC_register_displacement: {offset} is more than {}", MOST - 1));
    }
    REGISTERED[offset / 64].fetch_or(1 << (offset % 64), Relaxed);
    if let Some(heap) = made() {
        // It is in range.
        let _ = heap.ambiguous_words().register_displacement(offset);
    }
}

/// Whether a pointer so many bytes into an object keeps it, wherever it lies.
pub(crate) fn keeps(offset: usize) -> bool {
    offset == 0 || all() != 0 || is_registered(offset)
}
