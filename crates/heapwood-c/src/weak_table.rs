//! Weak tables. Invariant: a call that fails changes nothing.

use crate::error::Error;
use crate::status::Status;
use crate::threads::refuse;
use core::ffi::c_void;
use core::ptr::{NonNull, null_mut};
use heapwood_gc::Mutator;

/// Whether an object of the table is equal to what is looked for.
type Equal = unsafe extern "C" fn(object: *mut u8, arg: *mut c_void) -> bool;

fn address(object: Option<NonNull<u8>>) -> *mut u8 {
    object.map_or(null_mut(), NonNull::as_ptr)
}

fn given(object: *mut u8, name: &'static str) -> Result<NonNull<u8>, Error> {
    NonNull::new(object).ok_or(Error::Null(name))
}

/// What a call returns; if it is refused, the error is noted, and `otherwise` returned.
fn noted<R>(m: &Mutator, result: Result<R, Error>, otherwise: R) -> R {
    result.unwrap_or_else(|error| {
        refuse(m, error);
        otherwise
    })
}

/// Makes an empty weak table.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread.
/// 2. Every object that is used later is reachable from a root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_weak_table_new(m: Option<&Mutator>) -> *mut u8 {
    let Some(m) = m else { return null_mut() };
    noted(m, m.weak_table().map(NonNull::as_ptr).map_err(Error::from), null_mut())
}

/// Sets the value of a key.
///
/// # Safety
/// 1. As for [`hw_weak_table_new`]; table, key and value are reachable, too, and the value is what a slot may hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_weak_table_set(
    m: Option<&Mutator>,
    table: *mut u8,
    key: *mut u8,
    value: *mut u8,
) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    let set = || {
        let (table, key) = (given(table, "table")?, given(key, "key")?);
        // SAFETY: contract 1.
        unsafe { m.weak_table_set(table, key, value as usize) }?;
        Ok(())
    };
    match set() {
        Ok(()) => Status::OK,
        Err(error) => refuse(m, error),
    }
}

/// Whether a table has a key, and its value.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread; `value` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_weak_table_get(
    m: Option<&Mutator>,
    table: *mut u8,
    key: *mut u8,
    value: *mut *mut u8,
) -> bool {
    let Some(m) = m else { return false };
    let get = || Ok(m.weak_table_get(given(table, "table")?, given(key, "key")?)?);
    let found = noted(m, get(), None);
    if let Some(found) = found
        && !value.is_null()
    {
        // SAFETY: contract 1.
        unsafe { value.write(address(found)) };
    }
    found.is_some()
}

/// Removes a key; whether the table had it.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_weak_table_remove(m: Option<&Mutator>, table: *mut u8, key: *mut u8) -> bool {
    let Some(m) = m else { return false };
    let remove = || Ok(m.weak_table_remove(given(table, "table")?, given(key, "key")?)?);
    noted(m, remove(), false)
}

/// The number of keys that were not cleared.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_weak_table_count(m: Option<&Mutator>, table: *mut u8) -> usize {
    let Some(m) = m else { return 0 };
    noted(m, given(table, "table").and_then(|table| Ok(m.weak_table_len(table)?)), 0)
}

/// The next entry.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread; the others are NULL or may be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_weak_table_next(
    m: Option<&Mutator>,
    table: *mut u8,
    position: Option<&mut usize>,
    key: *mut *mut u8,
    value: *mut *mut u8,
) -> bool {
    let Some(m) = m else { return false };
    let next = || {
        let position = position.ok_or(Error::Null("position"))?;
        Ok(m.weak_table_next(given(table, "table")?, position)?)
    };
    let Some((found, held)) = noted(m, next(), None) else { return false };
    for (at, object) in [(key, Some(found)), (value, held)] {
        if !at.is_null() {
            // SAFETY: contract 1.
            unsafe { at.write(address(object)) };
        }
    }
    true
}

/// The object of the table that is equal, or `object`, which comes into it then unless it is NULL.
///
/// # Safety
/// 1. As for [`hw_weak_table_new`]; table and object are reachable, too.
/// 2. `equal` is NULL or a function that may be called with `arg`, and uses no heap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_weak_table_intern(
    m: Option<&Mutator>,
    table: *mut u8,
    hash: u64,
    equal: Option<Equal>,
    arg: *mut c_void,
    object: *mut u8,
) -> *mut u8 {
    let Some(m) = m else { return null_mut() };
    let intern = || {
        let (table, equal) = (given(table, "table")?, equal.ok_or(Error::Null("equal"))?);
        // SAFETY: contract 2.
        let is_equal = |candidate: NonNull<u8>| unsafe { equal(candidate.as_ptr(), arg) };
        Ok(match NonNull::new(object) {
            None => address(m.weak_table_find(table, hash as usize, is_equal)?),
            // SAFETY: contract 1.
            Some(object) => unsafe { m.weak_table_intern(table, hash as usize, is_equal, object) }?.as_ptr(),
        })
    };
    noted(m, intern(), null_mut())
}
