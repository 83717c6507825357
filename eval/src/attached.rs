//! A heap with this thread's mutator, which is detached before the heap goes.

use heapwood_gc::{Config, Heap, HeapBox, Mutator};
use heapwood_report::Failure;
use std::ops::Deref;
use std::ptr::NonNull;

/// The mutator of the thread that made this, and the heap, or a reference to it.
pub(crate) struct Attached<H> {
    mutator: NonNull<Mutator>,
    heap: H,
}

impl Attached<HeapBox> {
    /// Of a heap of its own.
    pub(crate) fn alone(config: Config) -> Result<Self, Failure> {
        Attached::to(Heap::create(&heapwood_os::SYSTEM, config).map_err(Failure::run)?)
    }
}

impl<H: Deref<Target = Heap>> Attached<H> {
    /// Attaches this thread.
    pub(crate) fn to(heap: H) -> Result<Self, Failure> {
        let mutator = Mutator::attach(&heap, None).map_err(Failure::run)?.into_raw();
        Ok(Attached { mutator, heap })
    }

    pub(crate) fn heap(&self) -> &Heap {
        &self.heap
    }

    pub(crate) fn mutator(&self) -> &Mutator {
        // SAFETY: attached until this is dropped.
        unsafe { self.mutator.as_ref() }
    }
}

impl<H> Drop for Attached<H> {
    fn drop(&mut self) {
        // SAFETY: it was given to this thread, which a pointer does not leave; the heap is dropped after this.
        unsafe { drop(heapwood_gc::Attached::from_raw(self.mutator)) };
    }
}
