//! A heap with this thread's mutator, which is detached before the heap is dropped.

use heapwood_gc::{Config, Heap, HeapBox, Mutator};
use heapwood_report::CommandError;

pub(super) struct Attached {
    /// Dropped first.
    mutator: heapwood_gc::Attached<'static>,
    heap: HeapBox,
}

impl Attached {
    /// A new heap, with this thread attached.
    pub(super) fn new(config: Config) -> Result<Self, CommandError> {
        let heap = Heap::create(&heapwood_os::SYSTEM, config).map_err(CommandError::run)?;
        let mutator = Mutator::attach(&heap, None).map_err(CommandError::run)?.into_raw();
        // SAFETY: attached just now by this thread; the heap is dropped after it.
        let mutator = unsafe { heapwood_gc::Attached::from_raw(mutator) };
        Ok(Attached { mutator, heap })
    }

    pub(super) fn heap(&self) -> &Heap {
        &self.heap
    }

    pub(super) fn mutator(&self) -> &Mutator {
        &self.mutator
    }
}
