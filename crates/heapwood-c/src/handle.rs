//! Heaps as C holds them: the collector's heap and the table of its types. Invariant: what a mutator's client room leads to
//! is the handle of its heap, which is not ended while threads are attached.

use crate::error::Error;
use crate::type_table::TypeTable;
use core::ptr::NonNull;
use heapwood_gc::{Config, Heap, HeapBox};
use heapwood_os::{MappedBox, SYSTEM};

/// What stands behind `hw_heap`: a heap with what this crate keeps for it.
pub struct HeapHandle {
    /// The heap itself.
    pub heap: HeapBox,
    /// Its types.
    pub types: TypeTable,
}

impl HeapHandle {
    /// Makes a heap, and what is kept for it; [`MappedBox::from_raw`] owns it again.
    pub fn create(config: Config) -> Result<NonNull<HeapHandle>, Error> {
        // The heap takes what address space there is, and leaves little.
        let types = TypeTable::new(&SYSTEM)?;
        let heap = Heap::create(&SYSTEM, config)?;
        Ok(MappedBox::new(&SYSTEM, HeapHandle { heap, types })?.into_raw())
    }
}
