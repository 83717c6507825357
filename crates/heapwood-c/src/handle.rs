//! Heaps as C holds them: the collector's heap and the table of its types. Invariant: the client's room of a mutator
//! refers to the handle of its heap. A heap is not destroyed while threads are attached.

use crate::error::Error;
use crate::type_table::TypeTable;
use core::ops::Range;
use core::ptr::NonNull;
use heapwood_gc::{Config, Heap, HeapBox};
use heapwood_os::{Mapped, MappedBox, SYSTEM};

/// The target of a `hw_heap *`: a heap, and this crate's data for it.
pub struct HeapHandle {
    /// The heap itself.
    pub heap: HeapBox,
    /// Its types.
    pub types: TypeTable,
}

impl HeapHandle {
    /// Makes a heap and its handle. [`MappedBox::from_raw`] takes ownership again.
    pub fn create(config: Config) -> Result<NonNull<HeapHandle>, Error> {
        // First, since the heap takes most of the address space.
        let types = TypeTable::new(&SYSTEM)?;
        let heap = Heap::create(&SYSTEM, config)?;
        heap.types().are_by_hand();
        Ok(MappedBox::new(&SYSTEM, HeapHandle { heap, types })?.into_raw())
    }
    /// The memory of this handle and its table.
    pub fn mappings(&self) -> [Range<usize>; 3] {
        let (mut all, mut count) = ([const { 0..0 }; 3], 0);
        let mut add = |mapping| {
            all[count] = mapping;
            count += 1;
        };
        // SAFETY: every handle lies in a box (`create`).
        unsafe { MappedBox::for_each_mapping_around(self, &mut add) };
        self.types.for_each_mapping(&mut add);
        all
    }
}
