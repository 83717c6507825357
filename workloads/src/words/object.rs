//! Objects of words, each of which may be a pointer, and what a walk of them adds up. Invariant: words that hold pointers were
//! written when the object was made.

use heapwood::{Gc, Trace, TypeMap};
use std::ptr::NonNull;

/// N words that never change. Pointers in them may be tagged.
#[repr(C)]
pub(super) struct Words<const N: usize>(pub(super) [usize; N]);

// SAFETY: 1. The map is conservative. 2. No bit is set. 3. The words lie in the object. 4. They need no drop. 5. They never change.
unsafe impl<const N: usize> Trace for Words<N> {
    const MAP: TypeMap = TypeMap::CONSERVATIVE;
}

/// The address of an object.
pub(super) fn address<T: Trace>(object: Gc<T>) -> usize {
    (&raw const *object).expose_provenance()
}

/// The object at an address.
///
/// # Safety
/// 1. The address is 0, or that of such an object, which a root keeps for `'h`.
pub(super) unsafe fn at<'h, T>(address: usize) -> Option<&'h T> {
    // SAFETY: contract 1.
    NonNull::new(std::ptr::with_exposed_provenance_mut::<T>(address)).map(|object| unsafe { object.as_ref() })
}

/// What a walk has found.
#[derive(Default)]
pub(super) struct Walked {
    pub(super) objects: u64,
    pub(super) checksum: u64,
}

impl Walked {
    pub(super) fn add(&mut self, number: usize) {
        self.objects += 1;
        self.checksum = self.checksum.wrapping_mul(31).wrapping_add(number as u64);
    }
}
