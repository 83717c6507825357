//! Snapshots of an allocator's pages, and allocators made from them, so that layouts of real heaps can be kept,
//! replayed and studied. Benchmarks of snapshots of real heaps are an idea of the Go page allocator proposal.
//! Invariant: an allocator made from a snapshot has the same pages in the same states, and the same snapshot.
//!
//! Snapshots allocate memory: they are for observers, never for the allocator itself.

use crate::allocator::PageAllocator;
use crate::error::{NewError, SnapshotError};
use crate::geometry::{Geometry, TreeShape};
use crate::shared::SharedPages;
use crate::units::{ChunkIndex, PageCount, PageIndex};
use heapwood_os::KernelRef;

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

    /// Marks pages as free; they may be resident. Only for geometries with whole words in a chunk.
    pub fn free(&mut self, first: PageIndex, count: PageCount) {
        let (first, end) = (first.0, first.0 + count.0);
        let ends_before = |c: &ChunkSnapshot| (c.chunk.0 + 1) * c.in_use.len() * 64 <= first;
        let at = self.chunks.partition_point(ends_before);
        for chunk in &mut self.chunks[at..] {
            let base = chunk.chunk.0 * chunk.in_use.len() * 64;
            if base >= end {
                break;
            }
            for page in first.max(base)..end.min(base + chunk.in_use.len() * 64) {
                chunk.in_use[(page - base) / 64] &= !(1 << ((page - base) % 64));
            }
        }
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

    /// An allocator with the pages of a snapshot.
    ///
    /// # Errors
    /// The snapshot contradicts itself or the geometry, or the kernel refuses memory for the tables.
    pub fn from_snapshot(kernel: KernelRef, snapshot: &Snapshot) -> Result<Self, SnapshotError> {
        let mut pages = PageAllocator::new(kernel, snapshot.reservation).map_err(SnapshotError::New)?;
        for ChunkSnapshot { chunk, in_use, scavenged } in &snapshot.chunks {
            let expected = TreeShape::<G>::CHUNK_PAGES.div_ceil(64);
            if in_use.len() != expected || scavenged.len() != expected {
                return Err(SnapshotError::Words { chunk: *chunk, expected });
            }
            let exists = |page: usize| in_use[page / 64] & scavenged[page / 64] & (1 << (page % 64)) == 0;
            for (first, count) in runs(TreeShape::<G>::CHUNK_PAGES, exists) {
                let first =
                    chunk.0.checked_mul(TreeShape::<G>::CHUNK_PAGES).map_or(usize::MAX, |base| base + first);
                pages
                    .grow(PageIndex(first), PageCount(count))
                    .map_err(|cause| SnapshotError::Grow { chunk: *chunk, cause })?;
            }
            pages.restore(*chunk, in_use, scavenged);
        }
        pages.settle_hint();
        Ok(pages)
    }

    /// Sets the state of a chunk of scavenged pages from the words; nonexistent pages are not added.
    fn restore(&mut self, chunk: ChunkIndex, in_use: &[u64], scavenged: &[u64]) {
        let Some(bits) = self.chunks.get_mut(chunk.0) else { return };
        let (mut taken, mut resident) = (0, 0);
        for word in 0..in_use.len() {
            let exists = !(in_use[word] & scavenged[word]);
            let (free, _) = bits.take_word(word);
            let (back, without) = (free & !in_use[word], free & scavenged[word] & !in_use[word]);
            bits.free_word(word, back, without);
            taken += (exists & in_use[word]).count_ones() as usize;
            resident += (back & !without).count_ones() as usize;
        }
        let new = bits.summarize();
        self.tree.taken(chunk.0, new);
        self.free -= taken;
        self.scavenged -= taken + resident;
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

    /// An allocator with the pages of a snapshot.
    ///
    /// # Errors
    /// As [`PageAllocator::from_snapshot`].
    pub fn from_snapshot(kernel: KernelRef, snapshot: &Snapshot) -> Result<Self, SnapshotError> {
        let pages = PageAllocator::from_snapshot(kernel, snapshot)?;
        Self::over(kernel, pages).map_err(|cause| SnapshotError::New(NewError::Refused(cause)))
    }
}

/// The runs of consecutive indexes below `end` for which `has` returns true.
fn runs(end: usize, has: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for index in (0..end).filter(|&index| has(index)) {
        match found.last_mut() {
            Some((first, count)) if *first + *count == index => *count += 1,
            _ => found.push((index, 1)),
        }
    }
    found
}
