//! What a mutator keeps for allocations that would fail (`entry/reserve.rs`). Invariant: only its thread uses it.

use crate::roots::Handle;
use core::cell::Cell;

/// The reserve of a mutator.
#[derive(Default)]
pub(crate) struct Reserve {
    object: Cell<Option<Handle>>,
    bytes: Cell<usize>,
}

impl Reserve {
    /// Takes it: there is none any more.
    pub(crate) fn take(&self) -> Option<Handle> {
        self.bytes.set(0);
        self.object.take()
    }

    /// Sets it: an object that a handle keeps, for so many bytes.
    pub(crate) fn set(&self, object: Handle, bytes: usize) {
        self.object.set(Some(object));
        self.bytes.set(bytes);
    }

    /// For how many bytes it is; 0: there is none.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.get()
    }
}
