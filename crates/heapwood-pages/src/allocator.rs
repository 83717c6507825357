//! The page allocator: bits, tree, hint and counters together. It touches no memory of the pages. It reports how many
//! allocated pages are scavenged (never used, or released), and learns of released pages by `scavenge`. First fit by
//! address, with a hint below which nothing is free, is the policy of the Go page allocator proposal. Invariants: the
//! tree summarises the bits; no page below the hint is free; the counters match the bits; a failed operation has
//! changed none of these.

use crate::chunk::Chunk;
use crate::error::{AllocateError, FreeError};
use crate::geometry::{Geometry, TreeShape};
use crate::lazy_array::LazyArray;
use crate::tree::{RunStart, Tree};
use crate::units::{PageCount, PageIndex};
use core::fmt;
use heapwood_os::{KernelRef, OsError};

/// Pages that were allocated together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRun {
    /// The first page.
    pub first: PageIndex,
    /// The number of pages.
    pub count: PageCount,
    /// The number of scavenged pages among them: their memory reads as zeros, and is allocated when touched.
    pub scavenged: PageCount,
}

/// A first-fit allocator of the pages of a reservation.
///
/// Pages are counted from the start of the reservation. None exists at first; [`grow`](Self::grow) adds free ones
/// anywhere in the reservation. In the ordinary geometries the tables reserve about 0.27 bytes of address space for
/// each page of the reservation, and commit them where pages are added.
pub struct PageAllocator<G: Geometry> {
    pub(crate) chunks: LazyArray<Chunk<G>>,
    pub(crate) tree: Tree<G>,
    /// No page below this one is free.
    pub(crate) hint: usize,
    pub(crate) free: usize,
    /// The number of scavenged pages among the free ones.
    pub(crate) scavenged: usize,
    pub(crate) grown: usize,
    reservation: usize,
}

/// Splits a range by chunks: the chunk, the first page in it, and the number of pages.
#[inline]
pub(crate) fn parts<G: Geometry>(first: usize, count: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let end = first + count;
    (first >> G::LOG_CHUNK_PAGES..((end - 1) >> G::LOG_CHUNK_PAGES) + 1).map(move |chunk| {
        let base = chunk << G::LOG_CHUNK_PAGES;
        let from = first.max(base) - base;
        let to = (end - base).min(TreeShape::<G>::CHUNK_PAGES);
        (chunk, from, to - from)
    })
}

impl<G: Geometry> PageAllocator<G> {
    const CHUNK_PAGES: usize = TreeShape::<G>::CHUNK_PAGES;

    /// Reserves the tables for a reservation of `reservation` pages, at most what the geometry covers. No page exists yet.
    ///
    /// # Errors
    /// The kernel refuses address space.
    pub fn new(kernel: KernelRef, reservation: PageCount) -> Result<Self, OsError> {
        const { TreeShape::<G>::CHECK };
        let most = TreeShape::<G>::ALL_PAGES;
        assert!(reservation.0 <= most, "a reservation of {reservation} is larger than the geometry's {most}");
        let chunks = reservation.0.div_ceil(Self::CHUNK_PAGES).max(1);
        Ok(PageAllocator {
            chunks: LazyArray::new(kernel, chunks)?,
            tree: Tree::new(kernel, reservation.0)?,
            hint: reservation.0,
            free: 0,
            scavenged: 0,
            grown: 0,
            reservation: reservation.0,
        })
    }

    /// The size of the reservation.
    pub fn reservation(&self) -> PageCount {
        PageCount(self.reservation)
    }

    /// The number of existing pages.
    pub fn grown_pages(&self) -> PageCount {
        PageCount(self.grown)
    }

    /// The number of free pages.
    #[inline]
    pub fn free_pages(&self) -> PageCount {
        PageCount(self.free)
    }

    /// The number of scavenged pages: free, and never touched or released.
    #[inline]
    pub fn scavenged_pages(&self) -> PageCount {
        PageCount(self.scavenged)
    }

    /// The hint: no page below it is free, and searches begin there.
    #[inline]
    pub fn hint(&self) -> PageIndex {
        PageIndex(self.hint)
    }

    /// The chunks with tables, in order: all with existing pages, and perhaps others.
    pub(crate) fn chunks_with_tables(&self) -> impl Iterator<Item = crate::ChunkIndex> {
        self.chunks.existing().map(crate::ChunkIndex)
    }

    /// Whether the page exists and is in use.
    #[inline]
    pub fn is_in_use(&self, page: PageIndex) -> bool {
        let place = page.in_chunk::<G>();
        self.chunks.get(page.chunk::<G>().0).is_some_and(|c| c.is_grown(place) && c.is_set(place))
    }

    /// Adds `count` free pages from `first` on, anywhere in the reservation where none exist. They count as scavenged.
    ///
    /// # Errors
    /// The kernel refuses memory for the tables. Nothing is added then.
    pub fn grow(&mut self, first: PageIndex, count: PageCount) -> Result<(), OsError> {
        self.check_grow(first, count);
        let (first, count) = (first.0, count.0);
        let chunks = first >> G::LOG_CHUNK_PAGES..((first + count - 1) >> G::LOG_CHUNK_PAGES) + 1;
        self.chunks.commit_filled(chunks.clone(), Chunk::ABSENT)?;
        self.tree.commit(chunks)?;
        // Nothing fails from here on.
        for (chunk, from, len) in parts::<G>(first, count) {
            if let Some(c) = self.chunks.get_mut(chunk) {
                c.grow(from, len);
            }
        }
        self.summarize_ends(first, count, true);
        self.grown += count;
        self.free += count;
        self.scavenged += count;
        self.hint = self.hint.min(first);
        Ok(())
    }

    /// Checks that the range is one that can be added.
    pub(crate) fn check_grow(&self, first: PageIndex, count: PageCount) {
        assert!(
            count.0 > 0 && self.outside(first, count).is_none(),
            "{count} from {first} on: no such range"
        );
        let is_new = |(chunk, from, len): (usize, usize, usize)| {
            self.chunks.get(chunk).is_none_or(|bits| bits.first_grown(from, len).is_none())
        };
        assert!(
            parts::<G>(first.0, count.0).all(is_new),
            "pages among {count} from {first} on exist already"
        );
    }

    /// Allocates the first run of `count` free pages in address order.
    ///
    /// # Errors
    /// The request is for no page, or no run is long enough. Nothing is allocated then.
    #[inline]
    pub fn allocate(&mut self, count: PageCount) -> Result<PageRun, AllocateError> {
        // Zero wraps around, so one comparison covers it, too.
        if count.0.wrapping_sub(1) >= self.free {
            return Err(self.no_run(count));
        }
        let chunk = self.hint >> G::LOG_CHUNK_PAGES;
        if count.0 == 1 {
            let found = self.take_first(chunk, self.hint % Self::CHUNK_PAGES);
            return match found.or_else(|| self.take_first_anywhere()) {
                Some(run) => Ok(run),
                None => Err(self.no_run(count)),
            };
        }
        self.allocate_run(count)
    }

    /// Allocates the chunk's first free page, which is the first of all: the chunk has no free page below `from`.
    #[inline]
    fn take_first(&mut self, chunk: usize, from: usize) -> Option<PageRun> {
        let bits = self.chunks.get_mut(chunk)?;
        let old = self.tree.leaf(chunk);
        if old.max() == 0 {
            return None;
        }
        let place = bits.first_free(from)?;
        let scavenged = bits.take(place, 1);
        let new = bits.after_taken(place, 1, true, old);
        let page = chunk * Self::CHUNK_PAGES + place;
        self.tree.taken_first(chunk, new, page, 1);
        self.free -= 1;
        self.scavenged -= scavenged;
        self.hint = page + 1;
        Some(PageRun { first: PageIndex(page), count: PageCount(1), scavenged: PageCount(scavenged) })
    }

    fn take_first_anywhere(&mut self) -> Option<PageRun> {
        match self.tree.find(self.hint, 1)? {
            RunStart::Page(page) => self.take_first(page.chunk::<G>().0, page.in_chunk::<G>()),
            RunStart::Chunk(chunk) => self.take_first(chunk.0, 0),
        }
    }

    fn allocate_run(&mut self, count: PageCount) -> Result<PageRun, AllocateError> {
        let first = self.find(count.0).ok_or_else(|| self.no_run(count))?;
        Ok(self.take_run(first, count))
    }

    /// Allocates free pages after a page that is not free.
    pub(crate) fn take_run(&mut self, first: usize, count: PageCount) -> PageRun {
        let (chunk, place) = (first >> G::LOG_CHUNK_PAGES, first % Self::CHUNK_PAGES);
        let scavenged = match self.chunks.get_mut(chunk) {
            Some(bits) if count.0 <= Self::CHUNK_PAGES - place => {
                let scavenged = bits.take(place, count.0);
                let only = first == self.hint;
                let new = bits.after_taken(place, count.0, only, self.tree.leaf(chunk));
                if only {
                    self.tree.taken_first(chunk, new, first, count.0);
                } else {
                    self.tree.taken(chunk, new);
                }
                scavenged
            }
            _ => return self.take_exactly(first, count),
        };
        self.account_taken(first, count.0, scavenged);
        PageRun { first: PageIndex(first), count, scavenged: PageCount(scavenged) }
    }

    /// The first run of `count` free pages.
    pub(crate) fn find(&self, count: usize) -> Option<usize> {
        // A run inside the hint's chunk comes before any that leaves it.
        let chunk = self.hint >> G::LOG_CHUNK_PAGES;
        let place = if self.tree.leaf(chunk).max() as usize >= count {
            RunStart::Chunk(crate::ChunkIndex(chunk))
        } else {
            self.tree.find(self.hint, count)?
        };
        match place {
            RunStart::Page(page) => Some(page.0),
            RunStart::Chunk(chunk) => {
                let base = chunk.first_page::<G>().0;
                // Nothing is free below the hint, so the search may skip that part of its chunk.
                let from = self.hint.saturating_sub(base) % Self::CHUNK_PAGES;
                self.chunks.get(chunk.0)?.find(from, count).map(|at| base + at)
            }
        }
    }

    /// Allocates the first `count` free pages that begin at a multiple of `count`, a power of two and at most a chunk:
    /// for example those of a huge page. The search visits chunk after chunk, at a nanosecond each.
    ///
    /// # Errors
    /// There is no such run, or `count` is not such a number. Nothing is allocated then.
    pub fn allocate_aligned(&mut self, count: PageCount) -> Result<PageRun, AllocateError> {
        let fits = count.0.is_power_of_two() && count.0 <= Self::CHUNK_PAGES;
        let first = if fits && count.0 <= self.free { self.find_aligned(count.0) } else { None };
        Ok(self.take_exactly(first.ok_or_else(|| self.no_run(count))?, count))
    }

    fn find_aligned(&self, count: usize) -> Option<usize> {
        let from = self.hint >> G::LOG_CHUNK_PAGES;
        let roomy = |chunk: &crate::ChunkIndex| self.tree.leaf(chunk.0).max() as usize >= count;
        self.chunks_with_tables().skip_while(|chunk| chunk.0 < from).filter(roomy).find_map(|chunk| {
            let bits = self.chunks.get(chunk.0)?;
            let is_free = |place: &usize| bits.obstacle(*place, count, false).is_none();
            let place = (0..Self::CHUNK_PAGES).step_by(count).find(is_free)?;
            Some(chunk.first_page::<G>().0 + place)
        })
    }

    /// Allocates free pages anywhere in a run.
    pub(crate) fn take_exactly(&mut self, first: usize, count: PageCount) -> PageRun {
        let scavenged = self.mark(first, count.0);
        self.account_taken(first, count.0, scavenged);
        PageRun { first: PageIndex(first), count, scavenged: PageCount(scavenged) }
    }

    /// Marks free pages as used in bits and tree; returns the number of scavenged ones.
    pub(crate) fn mark(&mut self, first: usize, count: usize) -> usize {
        let mut scavenged = 0;
        for (chunk, from, len) in parts::<G>(first, count) {
            if let Some(c) = self.chunks.get_mut(chunk) {
                scavenged += c.take(from, len);
            }
        }
        self.summarize_ends(first, count, false);
        scavenged
    }

    /// Updates counters and hint after pages were marked as used.
    fn account_taken(&mut self, first: usize, count: usize, scavenged: usize) {
        self.free -= count;
        self.scavenged -= scavenged;
        if first == self.hint {
            self.hint = first + count;
        }
        self.settle_hint();
    }

    /// Moves the hint to the first free page. A hint in a full chunk would slow down every later search.
    pub(crate) fn settle_hint(&mut self) {
        if self.free > 0 && self.tree.leaf(self.hint >> G::LOG_CHUNK_PAGES).max() == 0 {
            match self.tree.find(self.hint, 1) {
                Some(RunStart::Page(page)) => self.hint = page.0,
                Some(RunStart::Chunk(chunk)) => self.hint = chunk.first_page::<G>().0,
                None => {}
            }
        }
    }

    /// Frees the pages from `first` on. They need not have been allocated together.
    ///
    /// # Errors
    /// The range is empty, leaves the reservation, or holds a page that does not exist or is free. Nothing is freed
    /// then.
    #[inline]
    pub fn free(&mut self, first: PageIndex, count: PageCount) -> Result<(), FreeError> {
        let place = first.in_chunk::<G>();
        let chunk = first.chunk::<G>().0;
        // The usual range is valid and lies in one chunk. The slow path finds the error.
        if count.0.wrapping_sub(1) < Self::CHUNK_PAGES - place
            && let Some(bits) = self.chunks.get_mut(chunk)
            && bits.obstacle(place, count.0, true).is_none()
        {
            bits.free(place, count.0);
            let new = bits.after_freed(place, count.0, self.tree.leaf(chunk));
            self.tree.freed(chunk, new);
            self.free += count.0;
            self.hint = self.hint.min(first.0);
            return Ok(());
        }
        self.free_across(first, count)
    }

    #[cold]
    fn free_across(&mut self, first: PageIndex, count: PageCount) -> Result<(), FreeError> {
        self.check_free(first, count)?;
        let (first, count) = (first.0, count.0);
        for (chunk, from, len) in parts::<G>(first, count) {
            if let Some(c) = self.chunks.get_mut(chunk) {
                c.free(from, len);
            }
        }
        self.summarize_ends(first, count, true);
        self.free += count;
        self.hint = self.hint.min(first);
        Ok(())
    }

    /// Updates the tree after all bits of a range became equal.
    fn summarize_ends(&mut self, first: usize, count: usize, freed: bool) {
        let (low, high) = (first >> G::LOG_CHUNK_PAGES, (first + count - 1) >> G::LOG_CHUNK_PAGES);
        let summary = |chunk| self.chunks.get(chunk).map_or(crate::Summary::FULL, Chunk::summarize);
        if low < high {
            self.tree.set_leaves((low, summary(low)), (high, summary(high)), freed);
        } else if freed {
            self.tree.freed(low, summary(low));
        } else {
            self.tree.taken(low, summary(low));
        }
    }

    /// The first page of the range outside the reservation.
    #[inline]
    pub(crate) fn outside(&self, first: PageIndex, count: PageCount) -> Option<PageIndex> {
        match first.0.checked_add(count.0) {
            Some(end) if end <= self.reservation => None,
            _ => Some(PageIndex(first.0.max(self.reservation))),
        }
    }

    /// The first page of a range in the reservation that does not exist or is not in the expected state: `in_use` or
    /// free.
    pub(crate) fn obstacle(&self, first: usize, count: usize, in_use: bool) -> Option<usize> {
        parts::<G>(first, count).find_map(|(chunk, from, len)| {
            let place = self.chunks.get(chunk).map_or(Some(from), |bits| bits.obstacle(from, len, in_use))?;
            Some(chunk * Self::CHUNK_PAGES + place)
        })
    }

    #[cold]
    fn no_run(&self, asked: PageCount) -> AllocateError {
        AllocateError { asked, free: self.free_pages() }
    }
}

impl<G: Geometry> fmt::Debug for PageAllocator<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageAllocator")
            .field("reservation", &self.reservation)
            .field("grown", &self.grown)
            .field("free", &self.free)
            .field("scavenged", &self.scavenged)
            .field("hint", &self.hint)
            .finish_non_exhaustive()
    }
}
