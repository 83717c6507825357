//! The tables of a space beside its objects, by their mappings, for those who ask what the process's memory is for.
//! Invariant: each mapping of the space but that of its objects is named once.

use crate::space::Space;
use core::ops::Range;
use heapwood_os::{Mapped, for_each_mapping_of};

/// A kind of table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceTable {
    /// The page allocator's bitmaps, summaries and index.
    PageBitmaps,
    /// The page table.
    PageTable,
    /// The descriptors of spans.
    Spans,
    /// Mark and allocation bits.
    Marks,
    /// Pointer bits and numbers of objects in shared spans and arenas.
    ObjectRecords,
    /// The bits of cells that the program has freed, and of objects that it holds.
    Freed,
    /// Young pages, and starts of large objects.
    PageSets,
    /// Shapes, programs, and the central lists of each shape.
    Types,
}

impl Space {
    /// Calls `f` with the mappings of all tables beside the objects.
    pub fn name_tables(&self, f: &mut dyn FnMut(SpaceTable, Range<usize>)) {
        let sweeper = &self.sweeper;
        let (heap, spans) = (&sweeper.heap, &sweeper.heap.spans);
        heap.pages.for_each_mapping(&mut |mapping| f(SpaceTable::PageBitmaps, mapping));
        sweeper.lists.for_each_mapping(&mut |mapping| f(SpaceTable::Types, mapping));
        let tables: [(SpaceTable, &[&dyn Mapped]); 7] = [
            (SpaceTable::PageTable, &[spans.table_memory()]),
            (SpaceTable::Spans, &[spans.descriptor_memory()]),
            (SpaceTable::Marks, &[&heap.marks]),
            (SpaceTable::ObjectRecords, &[&heap.pointer_bits]),
            (SpaceTable::Freed, &[&heap.freed, &heap.held]),
            (SpaceTable::PageSets, &[spans.young_pages(), spans.large()]),
            (SpaceTable::Types, &[&self.shapes]),
        ];
        for (table, mapped) in tables {
            for_each_mapping_of(mapped, &mut |mapping| f(table, mapping));
        }
    }
}
