//! Scavenging: the choice of free pages whose memory is released.
//!
//! A release has two steps, between which its owner calls the kernel without a lock:
//!
//! ```text
//! free, resident --begin_release--> in use --end_release--> free, scavenged
//!                                                         \-> free, resident (the kernel refused)
//! ```
//!
//! So pages cannot be allocated while they are being released. Within a chunk the highest addresses come first, as in
//! the Go page allocator proposal. Free huge pages come before them: each is released whole, even if a part of it is
//! scavenged already, and before a release that would split another. Invariant: a release is one run in one chunk,
//! which counts as in use meanwhile.

use crate::allocator::{PageAllocator, PageRun};
use crate::geometry::{Geometry, TreeShape};
use crate::units::{ChunkIndex, PageCount, PageIndex};

/// The pages of a huge page of 2 MiB.
pub const HUGE_PAGES: usize = heapwood_os::HUGE_PAGE / crate::PAGE_SIZE;

/// A chunk is dense if at least this many 32nds of its pages are in use: its free pages will soon be used.
const DENSE: usize = 31;

/// Pages that are being released; they count as in use.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the pages stay in use until end_release"]
pub struct PendingRelease {
    /// The first page.
    pub first: PageIndex,
    /// The number of pages, including scavenged ones.
    pub count: PageCount,
    /// The number of pages that may be resident.
    pub resident: PageCount,
}

/// The limits of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScavengePolicy {
    /// The most pages at once; a whole huge page may be more.
    pub most: PageCount,
    /// Release free huge pages first, as a whole.
    pub huge_pages: bool,
}

impl<G: Geometry> PageAllocator<G> {
    /// Whether the chunk is dense, so that its free pages should not be released.
    pub fn is_dense(&self, chunk: ChunkIndex) -> bool {
        self.in_use_in(chunk).0 * 32 >= TreeShape::<G>::CHUNK_PAGES * DENSE
    }

    /// The number of pages of the chunk that are in use or do not exist.
    pub fn in_use_in(&self, chunk: ChunkIndex) -> PageCount {
        PageCount(self.chunks.get(chunk.0).map_or(TreeShape::<G>::CHUNK_PAGES, |bits| bits.set_pages()))
    }

    /// Begins a release in the chunk; `None` if it has no free page that may be resident.
    pub fn begin_release(&mut self, chunk: ChunkIndex, policy: ScavengePolicy) -> Option<PendingRelease> {
        let (from, len) = self.releasable(chunk, policy)?;
        let first = chunk.first_page::<G>().0 + from;
        let PageRun { first, count, scavenged } = self.take_exactly(first, PageCount(len));
        Some(PendingRelease { first, count, resident: PageCount(count.0 - scavenged.0) })
    }

    /// Ends a release: the pages are free again, and scavenged if the kernel has released their memory.
    pub fn end_release(&mut self, release: PendingRelease, released: bool) {
        let PendingRelease { first, count, .. } = release;
        let (chunk, place) = (first.chunk::<G>().0, first.in_chunk::<G>());
        if let Some(bits) = self.chunks.get_mut(chunk) {
            bits.free(place, count.0);
            if released {
                bits.mark_scavenged(place, count.0);
                self.scavenged += count.0;
            }
            self.free += count.0;
            self.hint = self.hint.min(first.0);
        }
        self.summarize_freed(chunk);
    }

    /// Whether the chunk has free pages that may be resident.
    pub fn has_releasable(&self, chunk: ChunkIndex) -> bool {
        let words = TreeShape::<G>::CHUNK_PAGES.div_ceil(64);
        self.chunks.get(chunk.0).is_some_and(|bits| (0..words).any(|word| bits.releasable(word) != 0))
    }

    /// The run to release: its first page in the chunk, and its length.
    fn releasable(&self, chunk: ChunkIndex, policy: ScavengePolicy) -> Option<(usize, usize)> {
        let bits = self.chunks.get(chunk.0)?;
        let words = TreeShape::<G>::CHUNK_PAGES.div_ceil(64);
        if policy.huge_pages {
            let per_huge = HUGE_PAGES / 64;
            for low in (0..words / per_huge).rev().map(|huge| huge * per_huge) {
                let huge = low..low + per_huge;
                if huge.clone().all(|word| bits.free_in(word) == u64::MAX)
                    && huge.clone().any(|word| bits.releasable(word) != 0)
                {
                    return Some((low * 64, HUGE_PAGES));
                }
            }
        }
        // The highest run, from its last page down.
        let last = (0..words).rev().find(|&word| bits.releasable(word) != 0)?;
        let end = last * 64 + 64 - bits.releasable(last).leading_zeros() as usize;
        let (mut begin, most) = (end, policy.most.0.max(1));
        while begin > 0 && end - begin < most {
            let (word, at) = ((begin - 1) / 64, (begin - 1) % 64);
            if bits.releasable(word) >> at & 1 == 0 {
                break;
            }
            begin -= 1;
        }
        Some((begin, end - begin))
    }
}
