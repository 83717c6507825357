//! Links: words of the program's memory that are cleared with their objects. Invariant: a call that fails changes nothing.

use crate::error::Error;
use crate::handle::HeapHandle;
use crate::status::Status;
use crate::threads::refuse;
use core::ptr::{NonNull, null_mut};
use heapwood_gc::Mutator;

/// The flag of a link that outlives what finalisers revive.
pub const LONG: u32 = 1;

/// Has a word cleared when an object is dead.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread.
/// 2. The slot may be written as long as it has a link; the object is reachable, and not freed meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_link_add(
    m: Option<&Mutator>,
    slot: *mut usize,
    object: *mut u8,
    flags: u32,
) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    let add = || {
        if flags & !LONG != 0 {
            return Err(Error::LinkFlags(flags));
        }
        let object = NonNull::new(object).ok_or(Error::Null("object"))?;
        // SAFETY: contract 2.
        Ok(unsafe { m.add_link(slot, object, flags & LONG != 0) }?)
    };
    match add() {
        Ok(()) => Status::OK,
        Err(error) => refuse(m, error),
    }
}

/// The object of a link.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_link_get(m: Option<&Mutator>, slot: *mut usize) -> *mut u8 {
    let Some(m) = m else { return null_mut() };
    match m.read_link(slot) {
        Ok(found) => found.map_or(null_mut(), NonNull::as_ptr),
        Err(error) => {
            refuse(m, error.into());
            null_mut()
        }
    }
}

/// Moves a link, and its word.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread.
/// 2. Both slots may be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_link_move(m: Option<&Mutator>, from: *mut usize, to: *mut usize) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    // SAFETY: contract 2.
    match unsafe { m.move_link(from, to) } {
        Ok(()) => Status::OK,
        Err(error) => refuse(m, error.into()),
    }
}

/// Ends a link; whether there was one.
///
/// # Safety
/// 1. `heap` is NULL or exists.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_link_remove(heap: Option<&HeapHandle>, slot: *mut usize) -> bool {
    heap.is_some_and(|heap| heap.heap.remove_link(slot))
}
