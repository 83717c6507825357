//! From an address to the object there: base, bytes, kind, whether it is held. One place for what the collector has to answer
//! exactly. Invariant: no answer names what was freed or never made.

use crate::exports::types::Const;
use crate::objects::kinds;
use crate::process::{attached_mutator, made};
use core::ffi::c_int;
use heapwood_heap::Address;

/// What is known of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// Its first byte.
    pub(crate) base: usize,
    /// The bytes that it may use.
    pub(crate) bytes: usize,
    /// The number of its kind, without whether it is held.
    pub(crate) kind: u32,
    /// The collector does not free it.
    pub(crate) is_held: bool,
}

impl Found {
    /// Whether some of its words may be pointers.
    pub(crate) fn has_pointers(&self) -> bool {
        self.kind != kinds::ATOMIC
    }
}

/// The object that an address points to or into.
pub(crate) fn object(address: usize) -> Option<Found> {
    let heap = made()?;
    if !heap.space().contains(Address::new(address)) {
        return None;
    }
    let found = match attached_mutator() {
        Some(mutator) => mutator.find_info(address),
        None => heap.objects().find_info(address),
    }?;
    let (base, kind) = (found.base.get(), kinds::of(found.shape, found.pointer_free));
    Some(Found { base, bytes: found.bytes, kind, is_held: found.held })
}

/// `GC_get_kind_and_size`.
///
/// # Safety
/// 1. `size` is null, or may be written.
pub(crate) unsafe fn kind_and_size(object: Const, size: *mut usize) -> c_int {
    let found = self::object(object as usize);
    if let Some(found) = found
        && !size.is_null()
    {
        // SAFETY: contract 1.
        unsafe { size.write(found.bytes) };
    }
    match found {
        Some(found) if found.is_held && found.kind == kinds::ATOMIC => kinds::HELD_ATOMIC as c_int,
        Some(found) if found.is_held && found.kind == kinds::NORMAL => kinds::HELD_NORMAL as c_int,
        Some(found) => found.kind as c_int,
        None => kinds::NORMAL as c_int,
    }
}
