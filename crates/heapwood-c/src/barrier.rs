//! Stores of pointers that the header's inline check does not complete. The collector's barrier does the work.

use crate::error::Error;
use crate::status::Status;
use crate::threads::refuse;
use core::ptr::NonNull;
use core::sync::atomic::AtomicUsize;
use heapwood_gc::{Mutator, PlainError};
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

/// The slow half of `hw_write_inside`.
///
/// # Safety
/// 1. `m` is attached, and belongs to the calling thread.
/// 2. `slot` is an aligned word, in an object or an arena's value or outside the heap, and `value` is valid for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_write_inside_slow(m: &Mutator, slot: *mut usize, value: Address) {
    // SAFETY: contract 2.
    unsafe { m.barrier().write_inside(slot, value) };
}

/// Announces plain stores into an object.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_dirty(m: Option<&Mutator>, object: *mut u8) -> Status {
    with_object(m, object, |m, object| m.dirty(object))
}

/// From now on an object takes plain stores.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread; `top` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_plain_begin(
    m: Option<&Mutator>,
    object: *mut u8,
    n: usize,
    top: *mut *const AtomicUsize,
) -> Status {
    with_object(m, object, |m, object| {
        let place = m.begin_plain(object, n)?;
        if !top.is_null() {
            // SAFETY: contract 1.
            unsafe { top.write(place.as_ptr()) };
        }
        Ok(())
    })
}

/// Sets how many words of such an object count.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_plain_top(m: Option<&Mutator>, object: *mut u8, n: usize) -> Status {
    with_object(m, object, |m, object| m.set_plain_top(object, n))
}

/// It takes no plain stores any more.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_plain_end(m: Option<&Mutator>, object: *mut u8) -> Status {
    with_object(m, object, |m, object| m.end_plain(object))
}

/// Reports to C what `f` says of an object.
fn with_object(
    m: Option<&Mutator>,
    object: *mut u8,
    f: impl FnOnce(&Mutator, NonNull<u8>) -> Result<(), PlainError>,
) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    let Some(object) = NonNull::new(object) else { return refuse(m, Error::Null("object")) };
    f(m, object).map_or_else(|refused| refuse(m, refused.into()), |()| Status::OK)
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
