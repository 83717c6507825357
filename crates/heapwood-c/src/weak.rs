//! Weak references and ephemerons. Invariant: a call that fails changes nothing, and returns NULL where it returns an address.

use crate::error::Error;
use crate::status::Status;
use crate::threads::refuse;
use core::ptr::{NonNull, null_mut};
use heapwood_gc::Mutator;

/// The address that was found, or NULL, with the error noted.
fn found(m: &Mutator, found: Result<Option<NonNull<u8>>, Error>) -> *mut u8 {
    match found {
        Ok(found) => found.map_or(null_mut(), NonNull::as_ptr),
        Err(error) => {
            refuse(m, error);
            null_mut()
        }
    }
}

fn read<E: Into<Error>>(
    m: Option<&Mutator>,
    weak: *mut u8,
    what: &'static str,
    read: impl FnOnce(&Mutator, NonNull<u8>) -> Result<Option<NonNull<u8>>, E>,
) -> *mut u8 {
    let Some(m) = m else { return null_mut() };
    let weak = NonNull::new(weak).ok_or(Error::Null(what));
    found(m, weak.and_then(|weak| read(m, weak).map_err(Into::into)))
}

/// Makes an ephemeron.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread.
/// 2. Every object that is used later is reachable from a root, key and value among them; the value is what a slot may hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_ephemeron_new(m: Option<&Mutator>, key: *mut u8, value: *mut u8) -> *mut u8 {
    // SAFETY: contract 2.
    read(m, key, "key", |m, key| unsafe { m.ephemeron(key, value as usize) }.map(Some))
}

/// The key of an ephemeron.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_ephemeron_key(m: Option<&Mutator>, ephemeron: *mut u8) -> *mut u8 {
    read(m, ephemeron, "ephemeron", Mutator::ephemeron_key)
}

/// The value of an ephemeron.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_ephemeron_value(m: Option<&Mutator>, ephemeron: *mut u8) -> *mut u8 {
    read(m, ephemeron, "ephemeron", Mutator::ephemeron_value)
}

/// Changes the value of an ephemeron.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread; the value is what a slot may hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_ephemeron_set(m: Option<&Mutator>, ephemeron: *mut u8, value: *mut u8) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    let Some(ephemeron) = NonNull::new(ephemeron) else { return refuse(m, Error::Null("ephemeron")) };
    // SAFETY: contract 1.
    match unsafe { m.set_ephemeron_value(ephemeron, value as usize) } {
        Ok(_) => Status::OK,
        Err(error) => refuse(m, error.into()),
    }
}

/// Makes a weak reference.
///
/// # Safety
/// 1. As for [`hw_ephemeron_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_weak_new(m: Option<&Mutator>, object: *mut u8) -> *mut u8 {
    // SAFETY: contract 1; 0 is what a slot may hold.
    read(m, object, "object", |m, object| unsafe { m.ephemeron(object, 0) }.map(Some))
}

/// What a weak reference refers to.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_weak_get(m: Option<&Mutator>, weak: *mut u8) -> *mut u8 {
    read(m, weak, "weak", Mutator::ephemeron_key)
}
