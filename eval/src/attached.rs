//! A heap with this thread's mutator, which is detached before the heap goes.

use heapwood_gc::{Config, Heap, HeapBox, Mutator};
use heapwood_report::CommandError;
use std::ops::Deref;

/// The mutator of the thread that made this, and the heap, or a reference to it.
pub(crate) struct Attached<H> {
    /// Dropped first.
    mutator: heapwood_gc::Attached<'static>,
    heap: H,
}

impl Attached<HeapBox> {
    /// Of a heap of its own.
    pub(crate) fn alone(config: Config) -> Result<Self, CommandError> {
        Attached::to(Heap::create(&heapwood_os::SYSTEM, config).map_err(CommandError::run)?)
    }
}

impl<H: Deref<Target = Heap>> Attached<H> {
    /// Attaches this thread.
    pub(crate) fn to(heap: H) -> Result<Self, CommandError> {
        let mutator = Mutator::attach(&heap, None).map_err(CommandError::run)?.into_raw();
        // SAFETY: given just now, to this thread; the heap is dropped after it.
        let mutator = unsafe { heapwood_gc::Attached::from_raw(mutator) };
        Ok(Attached { mutator, heap })
    }

    pub(crate) fn heap(&self) -> &Heap {
        &self.heap
    }

    pub(crate) fn mutator(&self) -> &Mutator {
        &self.mutator
    }
}
