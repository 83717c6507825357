//! Snapshots of an allocator's pages, so that layouts of real heaps can be kept, replayed and studied. Benchmarks of
//! snapshots of real heaps are an idea of the Go page allocator proposal. Snapshots allocate memory: they are for
//! observers, never for the allocator itself. Invariant: a snapshot has the pages of one moment.

use crate::allocator::PageAllocator;
use crate::geometry::Geometry;
use crate::shared::SharedPages;
use crate::units::{ChunkIndex, PageCount};

/// The pages of one chunk, one bit each, the lowest page in the lowest bit of the first word. Both bits together mean
/// that the page does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkSnapshot {
    /// The chunk's index.
    pub chunk: ChunkIndex,
    /// Pages in use.
    pub in_use: Vec<u64>,
    /// Scavenged pages.
    pub scavenged: Vec<u64>,
}

/// The pages of an allocator at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The size of the reservation.
    pub reservation: PageCount,
    /// The chunks with existing pages, in order.
    pub chunks: Vec<ChunkSnapshot>,
}

impl Snapshot {
    /// The number of existing pages.
    pub fn grown_pages(&self) -> PageCount {
        self.count(|in_use, scavenged| !(in_use & scavenged))
    }

    /// The number of free pages.
    pub fn free_pages(&self) -> PageCount {
        self.count(|in_use, _| !in_use)
    }

    /// The number of free pages that may be resident.
    pub fn releasable_pages(&self) -> PageCount {
        self.count(|in_use, scavenged| !(in_use | scavenged))
    }

    fn count(&self, of: impl Fn(u64, u64) -> u64) -> PageCount {
        let words = self.chunks.iter().flat_map(|c| c.in_use.iter().zip(&c.scavenged));
        PageCount(words.map(|(&in_use, &scavenged)| of(in_use, scavenged).count_ones() as usize).sum())
    }
}

impl<G: Geometry> PageAllocator<G> {
    /// Calls `f` with each chunk that has existing pages, in order, and its words as in [`ChunkSnapshot`]. For
    /// observers that may not allocate memory.
    pub fn for_each_chunk(&self, mut f: impl FnMut(ChunkIndex, &[u64], &[u64])) {
        for index in self.chunks.existing() {
            let Some((in_use, scavenged)) = self.chunks.get(index).map(|chunk| chunk.words()) else {
                continue;
            };
            if in_use.iter().zip(scavenged).any(|(in_use, scavenged)| in_use & scavenged != u64::MAX) {
                f(ChunkIndex(index), in_use, scavenged);
            }
        }
    }

    /// The current pages.
    pub fn snapshot(&self) -> Snapshot {
        let mut chunks = Vec::new();
        self.for_each_chunk(|chunk, in_use, scavenged| {
            let (in_use, scavenged) = (in_use.to_vec(), scavenged.to_vec());
            chunks.push(ChunkSnapshot { chunk, in_use, scavenged });
        });
        Snapshot { reservation: self.reservation(), chunks }
    }
}

impl<G: Geometry> SharedPages<G> {
    /// As [`PageAllocator::for_each_chunk`], under the lock; cached pages count as in use.
    pub fn for_each_chunk(&self, f: impl FnMut(ChunkIndex, &[u64], &[u64])) {
        self.with(|pages| pages.for_each_chunk(f));
    }

    /// The current pages; cached ones count as in use.
    pub fn snapshot(&self) -> Snapshot {
        self.with(PageAllocator::snapshot)
    }
}
