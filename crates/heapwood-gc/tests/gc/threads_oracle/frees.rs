//! Explicit frees.

use core::ptr::NonNull;
use heapwood_gc::Mutator;

/// Frees an object; what it says if it refuses.
///
/// # Safety
/// 1. If an object begins at `at`, it is nobody's any more.
pub(crate) unsafe fn free(mutator: &Mutator, at: usize) -> Result<(), String> {
    let object = NonNull::new(at as *mut u8).ok_or("null is no object")?;
    // SAFETY: contract 1.
    unsafe { mutator.free(object) }.map_err(|e| e.to_string())
}
