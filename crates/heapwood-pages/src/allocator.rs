//! The page allocator: bits, tree, hint and counts together. Invariants: the tree is true to the bits; no page below
//! the hint is free; the counts are those of the bits; an operation that fails has changed none of these. Memory is
//! not touched: the owner is told how many of the pages it takes have none behind them (they were never used, or were
//! released), and tells what it has released (`scavenge`). First fit
//! by address with a hint below which nothing is free is the policy of the Go page allocator proposal.

use crate::chunk::{Chunk, Obstacle};
use crate::error::{AllocateError, FreeError, GrowError, NewError};
use crate::geometry::{Geometry, TreeShape};
use crate::lazy_array::LazyArray;
use crate::tree::{RunStart, Tree};
use crate::units::{PageCount, PageIndex};
use core::fmt;
use heapwood_os::KernelRef;

/// Pages that were taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRun {
    /// The first of them.
    pub first: PageIndex,
    /// How many.
    pub count: PageCount,
    /// How many of them are scavenged: what is there will read as zeros, and cost memory when touched.
    pub scavenged: PageCount,
}

/// A first-fit allocator of the pages of a window.
///
/// Pages are counted from the window's start. None exists at first; [`grow`](Self::grow) adds free ones anywhere in
/// the window. In the ordinary geometries the tables reserve about 0.27 bytes of address space a page of the window,
/// and commit them where pages were added.
pub struct PageAllocator<G: Geometry> {
    pub(crate) chunks: LazyArray<Chunk<G>>,
    pub(crate) tree: Tree<G>,
    /// No page below this one is free.
    pub(crate) hint: usize,
    pub(crate) free: usize,
    /// Of the free pages, how many are scavenged.
    pub(crate) scavenged: usize,
    pub(crate) grown: usize,
    reservation: usize,
}

/// The parts of a range by chunk: the chunk, its first page in the range, and how many.
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

    /// Reserves the tables for a window of `reservation` pages, of which none exists yet.
    ///
    /// # Errors
    /// The window is larger than the geometry allows, or the kernel refuses address space.
    pub fn new(kernel: KernelRef, reservation: PageCount) -> Result<Self, NewError> {
        const { TreeShape::<G>::CHECK };
        let most = PageCount(TreeShape::<G>::ALL_PAGES);
        if reservation > most {
            return Err(NewError::ReservationTooLarge { reservation, most });
        }
        let chunks = reservation.0.div_ceil(Self::CHUNK_PAGES).max(1);
        Ok(PageAllocator {
            chunks: LazyArray::new(kernel, chunks).map_err(NewError::Refused)?,
            tree: Tree::new(kernel, reservation.0).map_err(NewError::Refused)?,
            hint: reservation.0,
            free: 0,
            scavenged: 0,
            grown: 0,
            reservation: reservation.0,
        })
    }

    /// The pages the window has room for.
    pub fn reservation(&self) -> PageCount {
        PageCount(self.reservation)
    }

    /// The pages that exist.
    pub fn grown_pages(&self) -> PageCount {
        PageCount(self.grown)
    }

    /// The pages that exist and are free.
    #[inline]
    pub fn free_pages(&self) -> PageCount {
        PageCount(self.free)
    }

    /// The free pages that are scavenged: never touched, or released.
    #[inline]
    pub fn scavenged_pages(&self) -> PageCount {
        PageCount(self.scavenged)
    }

    /// A page below which none is free; the search begins here.
    #[inline]
    pub fn hint(&self) -> PageIndex {
        PageIndex(self.hint)
    }

    /// The chunks that have tables, in order: all in which pages exist, and perhaps others.
    pub(crate) fn chunks_with_tables(&self) -> impl Iterator<Item = crate::ChunkIndex> {
        self.chunks.existing().map(crate::ChunkIndex)
    }

    /// Whether the page exists and is in use.
    #[inline]
    pub fn is_in_use(&self, page: PageIndex) -> bool {
        let place = page.in_chunk::<G>();
        self.chunks.get(page.chunk::<G>().0).is_some_and(|c| c.is_grown(place) && c.is_set(place))
    }

    /// Adds `count` free pages from `first` on, anywhere in the window. They count as scavenged.
    ///
    /// # Errors
    /// The range is empty, leaves the window or holds a page that exists, or the kernel refuses memory for the
    /// tables. Nothing is added then.
    pub fn grow(&mut self, first: PageIndex, count: PageCount) -> Result<(), GrowError> {
        self.check_grow(first, count)?;
        let (first, count) = (first.0, count.0);
        let chunks = first >> G::LOG_CHUNK_PAGES..((first + count - 1) >> G::LOG_CHUNK_PAGES) + 1;
        self.chunks
            .commit_filled(chunks.clone(), Chunk::ABSENT)
            .and_then(|()| self.tree.commit(chunks))
            .map_err(|cause| GrowError::Refused { page: PageIndex(first), cause })?;
        // From here on nothing fails.
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

    /// Whether the range can be added, if the kernel lets it.
    pub(crate) fn check_grow(&self, first: PageIndex, count: PageCount) -> Result<(), GrowError> {
        if count.0 == 0 {
            return Err(GrowError::Zero);
        }
        if let Some(page) = self.outside(first, count) {
            return Err(GrowError::BeyondReservation { page });
        }
        for (chunk, from, len) in parts::<G>(first.0, count.0) {
            if let Some(page) = self.chunks.get(chunk).and_then(|c| c.first_grown(from, len)) {
                let page = PageIndex(chunk * Self::CHUNK_PAGES + page);
                return Err(GrowError::AlreadyGrown { page });
            }
        }
        Ok(())
    }

    /// Takes the first run of `count` free pages, in the order of addresses.
    ///
    /// # Errors
    /// The request is for nothing or for more than the window, or no run is long enough. Nothing is taken then.
    #[inline]
    pub fn allocate(&mut self, count: PageCount) -> Result<PageRun, AllocateError> {
        // Zero wraps around, so one comparison guards against it too.
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

    /// Takes the chunk's first free page, which is the window's first: none is free below `from` in it.
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

    /// Takes free pages, before which none is free directly.
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
                // Below the hint nothing is free, so the search may skip that part of its chunk.
                let from = self.hint.saturating_sub(base) % Self::CHUNK_PAGES;
                self.chunks.get(chunk.0)?.find(from, count).map(|at| base + at)
            }
        }
    }

    /// Takes the first `count` free pages that begin at a multiple of `count`, a power of two and at most a chunk: such as fill a huge
    /// page. The chunks are looked at one by one, which is a nanosecond each.
    ///
    /// # Errors
    /// There are none, or `count` is not such a number. Nothing is taken then.
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

    /// Takes free pages, wherever in a run they lie.
    pub(crate) fn take_exactly(&mut self, first: usize, count: PageCount) -> PageRun {
        let scavenged = self.mark(first, count.0);
        self.account_taken(first, count.0, scavenged);
        PageRun { first: PageIndex(first), count, scavenged: PageCount(scavenged) }
    }

    /// Marks free pages used, in bits and tree; returns how many were scavenged.
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

    /// Brings counts and hint up to date after pages were marked used.
    fn account_taken(&mut self, first: usize, count: usize, scavenged: usize) {
        self.free -= count;
        self.scavenged -= scavenged;
        if first == self.hint {
            self.hint = first + count;
        }
        self.settle_hint();
    }

    /// A hint in a full chunk would cost every later search; finds where free pages begin.
    pub(crate) fn settle_hint(&mut self) {
        if self.free > 0 && self.tree.leaf(self.hint >> G::LOG_CHUNK_PAGES).max() == 0 {
            match self.tree.find(self.hint, 1) {
                Some(RunStart::Page(page)) => self.hint = page.0,
                Some(RunStart::Chunk(chunk)) => self.hint = chunk.first_page::<G>().0,
                None => {}
            }
        }
    }

    /// Gives back the pages from `first` on; they need not have been allocated together.
    ///
    /// # Errors
    /// The range is empty, leaves the window, or holds a page that does not exist or is free. Nothing is freed
    /// then.
    #[inline]
    pub fn free(&mut self, first: PageIndex, count: PageCount) -> Result<(), FreeError> {
        let place = first.in_chunk::<G>();
        let chunk = first.chunk::<G>().0;
        // The usual range lies in one chunk and is in order; the slow path names what is wrong.
        if count.0.wrapping_sub(1) < Self::CHUNK_PAGES - place
            && let Some(bits) = self.chunks.get_mut(chunk)
            && bits.obstacle(place, count.0, true).is_none()
        {
            bits.give(place, count.0);
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
                c.give(from, len);
            }
        }
        self.summarize_ends(first, count, true);
        self.free += count;
        self.hint = self.hint.min(first);
        Ok(())
    }

    /// Brings the tree up to date after every bit of a range became the same.
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

    /// The first page of the range that is not in the window.
    #[inline]
    pub(crate) fn outside(&self, first: PageIndex, count: PageCount) -> Option<PageIndex> {
        match first.0.checked_add(count.0) {
            Some(end) if end <= self.reservation => None,
            _ => Some(PageIndex(first.0.max(self.reservation))),
        }
    }

    /// The first page of a range in the window that is missing or, unless `in_use` is its state, wrong.
    pub(crate) fn obstacle(&self, first: usize, count: usize, in_use: bool) -> Option<Obstacle> {
        parts::<G>(first, count).find_map(|(chunk, from, len)| {
            let base = chunk * Self::CHUNK_PAGES;
            match self.chunks.get(chunk) {
                None => Some(Obstacle::NotGrown(base + from)),
                Some(c) => match c.obstacle(from, len, in_use)? {
                    Obstacle::NotGrown(page) => Some(Obstacle::NotGrown(base + page)),
                    Obstacle::WrongState(page) => Some(Obstacle::WrongState(base + page)),
                },
            }
        })
    }

    #[cold]
    fn no_run(&self, asked: PageCount) -> AllocateError {
        if asked.0 == 0 {
            AllocateError::Zero
        } else if asked.0 > self.reservation {
            AllocateError::BeyondReservation { asked, reservation: self.reservation() }
        } else {
            AllocateError::NoRun { asked, free: self.free_pages() }
        }
    }
}

impl<G: Geometry> fmt::Debug for PageAllocator<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageAllocator")
            .field("window", &self.reservation)
            .field("grown", &self.grown)
            .field("free", &self.free)
            .field("scavenged", &self.scavenged)
            .field("hint", &self.hint)
            .finish_non_exhaustive()
    }
}
