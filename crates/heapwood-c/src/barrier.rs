//! Stores of pointers that the header's inline check does not complete. The collector's barrier does the work.

use heapwood_gc::Mutator;
use heapwood_heap::{Address, ObjectRef};

/// The slow half of `hw_write`.
///
/// # Safety
/// 1. `m` is attached, and belongs to the calling thread.
/// 2. `object` is the first byte of an object, `slot` an aligned word in it, `value` is valid for the slot.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_write_slow(m: &Mutator, object: ObjectRef, slot: *mut usize, value: Address) {
    // SAFETY: contract 2.
    unsafe { m.barrier().write(object, slot, value) };
}

/// Copies `n` pointers.
///
/// # Safety
/// 1. `m` is attached, and belongs to the calling thread.
/// 2. `object` is the first byte of an object, `slots` are `n` aligned words in it, and the values are valid for them.
/// 3. `source` is aligned and readable for `n` words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_copy(
    m: &Mutator,
    object: ObjectRef,
    slots: *mut usize,
    source: *const usize,
    n: usize,
) {
    // SAFETY: contracts 2 and 3.
    unsafe { m.barrier().copy(object, slots, source, n) };
}

/// Compares and stores.
///
/// # Safety
/// 1. `m` is attached, and belongs to the calling thread.
/// 2. `object` is the first byte of an object, `slot` an aligned word in it, `value` is valid for the slot.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_cas(
    m: &Mutator,
    object: ObjectRef,
    slot: *mut usize,
    expected: Address,
    value: Address,
) -> bool {
    // SAFETY: contract 2.
    unsafe { m.barrier().cas(object, slot, expected, value) }.is_ok()
}
