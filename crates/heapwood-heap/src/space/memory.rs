//! The pages of a space, and their memory. Invariant: nothing here allocates for the space.

use crate::space::Space;
use core::ops::Range;
use heapwood_os::{Mapped, Pagemap};
use heapwood_pages::{Bits48, ChunkIndex, Effort, PageCount, Residency, SharedPages, Snapshot};

impl Space {
    /// Its pages, and the memory behind them.
    #[inline(always)]
    pub fn memory(&self) -> PageMemory<'_> {
        PageMemory(self)
    }
}

/// The pages of a space, and their memory.
#[derive(Clone, Copy)]
pub struct PageMemory<'s>(&'s Space);

impl<'s> PageMemory<'s> {
    /// The page space.
    ///
    /// # Safety
    /// 1. No page is freed or allocated through it, and every released page becomes free again.
    pub unsafe fn pages(self) -> &'s SharedPages<Bits48> {
        &self.0.sweeper.heap.pages
    }

    /// The pages in use: of spans, and cached by mutators.
    pub fn in_use(self) -> PageCount {
        self.0.sweeper.heap.pages.in_use()
    }

    /// The current pages. Cached ones count as in use.
    pub fn snapshot(self) -> Snapshot {
        self.0.sweeper.heap.pages.snapshot()
    }

    /// The same for observers that may not allocate memory: calls `f` with the words of each chunk.
    pub fn for_each_chunk(self, f: impl FnMut(ChunkIndex, &[u64], &[u64])) {
        self.0.sweeper.heap.pages.for_each_chunk(f);
    }

    /// What the kernel has in memory of the pages, by their state; `None` if it does not tell.
    pub fn residency(self, pagemap: &Pagemap) -> Option<Residency> {
        let heap = &self.0.sweeper.heap;
        heap.pages.residency(heap.spans.base(), pagemap)
    }

    /// Calls `f` with the addresses of the reservation, up to its committed end.
    pub fn for_each_mapping(self, f: &mut dyn FnMut(Range<usize>)) {
        self.0.sweeper.heap.memory.for_each_mapping(f);
    }

    /// Bytes of pages that may be resident, in use or not, without arena chunks whose memory was released.
    pub fn resident_bytes(self) -> usize {
        let without_memory = self.0.sweeper.chunks.lock().bytes_without_memory();
        self.0.sweeper.heap.resident_bytes().saturating_sub(without_memory)
    }

    /// Bytes of pages that may be resident, without those of arenas.
    pub fn resident_outside_arenas(self) -> usize {
        self.0.sweeper.heap.resident_bytes().saturating_sub(self.0.sweeper.chunks.lock().all_bytes())
    }

    /// Releases the memory of one run of free pages, up to 2 MiB. Returns the bytes that may have been resident, and
    /// whether the kernel released them; `None` if there is nothing that `effort` would release.
    pub fn release_some(self, effort: Effort) -> Option<(usize, bool)> {
        self.0.sweeper.heap.release_some(effort)
    }
}
