//! What the index is made of: atomics in mapped memory, or loom's in their place, so that the model checks the
//! product's own code. The lock is configured in the same way where it is defined. Invariant: nothing else of the
//! crate is shared without the lock.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
#[cfg(not(loom))]
pub(crate) type Words = heapwood_os::MappedArray<AtomicU32>;

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Loom's atomics are more than their bits, so that all must be made at once.
#[cfg(loom)]
pub(crate) struct Words(Vec<AtomicU32>);

#[cfg(loom)]
impl Words {
    pub(crate) fn new(_: heapwood_os::KernelRef, len: usize) -> Result<Self, heapwood_os::OsError> {
        Ok(Words((0..len).map(|_| AtomicU32::new(0)).collect()))
    }

    pub(crate) fn commit(&self, _: core::ops::Range<usize>) -> Result<(), heapwood_os::OsError> {
        Ok(())
    }

    pub(crate) fn at(&self, index: usize) -> *const AtomicU32 {
        &self.0[index]
    }
}
