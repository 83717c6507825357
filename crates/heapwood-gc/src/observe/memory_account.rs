//! An account of a heap's memory: its parts, and the spans of each size class. The heap knows its pages and objects; what
//! is really in memory, of pages and of tables, only the kernel knows. Invariant: the parts add up as their list says.

use super::memory_parts::{MemoryParts, PartGroup};
use crate::state::State;
use core::ops::Range;
use heapwood_heap::{CLASS_PARTS, ClassParts, SpaceParts};
use heapwood_os::{Pagemap, process::usage::resident_memory};

/// Where a heap's memory is.
#[derive(Clone, Copy, Debug)]
pub struct MemoryAccount {
    /// All of it, by parts.
    pub parts: MemoryParts,
    classes: [ClassParts; CLASS_PARTS],
}

impl MemoryAccount {
    /// An account of the pages of a stopped heap.
    pub(crate) fn of_pages(state: &State, space: &SpaceParts) -> Self {
        let (spans, cycles) = (space.of_spans(), state.cycles());
        // Their bits are the same, so the collections' counts tell.
        let promoted = cycles.live().saturating_sub(cycles.live_in_full()).min(spans.old);
        let parts = MemoryParts {
            backed: space.backed,
            survived: spans.old - promoted,
            promoted,
            young: spans.young,
            freed: spans.freed,
            unswept: spans.unswept,
            partial: spans.partial,
            cached: spans.cached,
            open: spans.open,
            tails: spans.tails,
            unfinished: space.unfinished,
            cached_pages: space.cached_pages,
            free_pages: space.free_pages,
            arenas: space.arenas,
            free_arenas: space.free_arenas,
            quarantined: space.quarantined,
            ..MemoryParts::default()
        };
        MemoryAccount { parts, classes: space.classes }
    }

    /// The size classes that have spans, by size; large objects come last.
    pub fn classes(&self) -> impl Iterator<Item = &ClassParts> {
        self.classes.iter().filter(|class| class.spans > 0)
    }

    /// Adds what the kernel says, if it does, of the pages and of all tables: `for_each_table` names each mapping, and
    /// where it counts.
    pub(crate) fn add_kernel(
        &mut self,
        state: &State,
        for_each_table: impl FnOnce(&mut dyn FnMut(fn(&mut MemoryParts) -> &mut usize, Range<usize>)),
    ) {
        let (pagemap, parts) = (Pagemap::new(), &mut self.parts);
        parts.process = resident_memory().unwrap_or(0) as usize;
        let Some(pages) = state.space().memory().residency(&pagemap) else { return };
        for_each_table(&mut |part, mapping| {
            // It has just told.
            let _ = pagemap.for_each_resident(mapping, |found| *part(parts) += found.len());
        });
        // The kernel may have kept memory of chunks that count as released.
        let used = (pages.in_use + pages.free).min(parts.backed);
        parts.untouched = parts.backed - used;
        parts.surplus = pages.total() - used;
        parts.tables = parts.of_group(PartGroup::Tables);
        parts.resident = pages.total() + parts.tables;
    }
}
