//! The cache of a mutator for runs that are too long for a block of 64 pages: free pages of one chunk, from the first run that
//! was long enough upwards, so that a lock acquisition serves as many such runs as there are in a chunk. Invariant: as of a
//! [`PageCache`](crate::PageCache), a cached page counts as in use in the allocator.
//!
//! It is searched like a chunk, of which the pages that are not the cache's count as in use. When it cannot serve a request all
//! of it goes back first, so what comes next is the first fit among all free pages: holes below are not passed over for good.

use crate::allocator::{PageAllocator, PageRun};
use crate::chunk::Chunk;
use crate::error::AllocateError;
use crate::geometry::{Geometry, TreeShape};
use crate::units::{PageCount, PageIndex};

/// Pages of a chunk that are cached for one mutator.
#[derive(Clone, Copy, Debug)]
pub struct LongCache<G: Geometry> {
    /// The chunk's bits; the pages that are not the cache's are in use. Without pages they mean nothing.
    bits: Chunk<G>,
    /// The chunk's first page.
    base: usize,
    /// How many pages it has.
    pages: usize,
    /// None of them is in a word below this one's.
    from: usize,
    /// There is no run of more pages than so many.
    longest: usize,
}

impl<G: Geometry> Default for LongCache<G> {
    fn default() -> Self {
        LongCache { bits: Chunk::ABSENT, base: 0, pages: 0, from: 0, longest: 0 }
    }
}

impl<G: Geometry> LongCache<G> {
    /// The longest request that is worth setting a chunk's pages aside for.
    pub const MOST: PageCount = PageCount(TreeShape::<G>::CHUNK_PAGES / 8);

    /// Takes the first run of `count` pages in the cache; `None` if it has none.
    #[inline]
    pub fn allocate(&mut self, count: PageCount) -> Option<PageRun> {
        if count.0.wrapping_sub(1) >= self.pages.min(self.longest) {
            return None;
        }
        let Some(at) = self.bits.find(self.from, count.0) else {
            self.longest = count.0 - 1;
            return None;
        };
        let scavenged = self.bits.take(at, count.0);
        self.pages -= count.0;
        if at / 64 == self.from / 64 && self.bits.free_in(at / 64) == 0 {
            self.from += 64;
        }
        Some(PageRun { first: PageIndex(self.base + at), count, scavenged: PageCount(scavenged) })
    }

    /// The first page of the chunk.
    pub fn base(&self) -> PageIndex {
        PageIndex(self.base)
    }

    /// Whether the page is in the cache.
    pub fn has(&self, page: PageIndex) -> bool {
        let at = page.0.checked_sub(self.base).filter(|&at| at < TreeShape::<G>::CHUNK_PAGES);
        self.pages > 0 && at.is_some_and(|at| !self.bits.is_set(at))
    }

    /// How many pages it has.
    #[inline]
    pub fn pages(&self) -> PageCount {
        PageCount(self.pages)
    }

    /// Whether it has none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pages == 0
    }
}

impl<G: Geometry> PageAllocator<G> {
    /// Takes the first run of `count` pages, for a cache that could not serve the request itself. What the cache held goes
    /// back; up to `most` free pages that follow the run in its chunk become the cache's.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate), which see; what the cache held has gone back.
    pub fn allocate_long(
        &mut self,
        cache: &mut LongCache<G>,
        count: PageCount,
        most: PageCount,
    ) -> Result<PageRun, AllocateError> {
        self.flush_long(cache);
        if most.0 == 0 || count > LongCache::<G>::MOST || count.0.wrapping_sub(1) >= self.free {
            return self.allocate(count);
        }
        let Some(first) = self.find(count.0) else { return self.allocate(count) };
        let (chunk, place) = (first >> G::LOG_CHUNK_PAGES, first % TreeShape::<G>::CHUNK_PAGES);
        if place + count.0 > TreeShape::<G>::CHUNK_PAGES {
            return Ok(self.take_run(first, count));
        }
        // The run is the lowest of what is taken.
        *cache = self.take_above(chunk, place, count.0 + most.0);
        match cache.allocate(count) {
            Some(run) => Ok(run),
            None => self.allocate(count),
        }
    }

    /// Takes the lowest free pages of a chunk from a page on, `most` of them.
    fn take_above(&mut self, chunk: usize, from: usize, most: usize) -> LongCache<G> {
        let base = chunk << G::LOG_CHUNK_PAGES;
        let mut cache = LongCache { base, from, ..LongCache::default() };
        let Some(bits) = self.chunks.get_mut(chunk) else { return cache };
        let (pages, scavenged, end) = bits.take_above(from, most, &mut cache.bits);
        if pages == 0 {
            return cache;
        }
        (cache.pages, cache.longest) = (pages, pages);
        let new = bits.summarize();
        self.tree.taken(chunk, new);
        self.free -= pages;
        self.scavenged -= scavenged;
        if self.hint >= base + from && self.hint < base + end {
            self.hint = base + end;
        }
        self.settle_hint();
        cache
    }

    /// Takes back what the cache holds.
    pub fn flush_long(&mut self, cache: &mut LongCache<G>) {
        let LongCache { bits: theirs, base, pages, .. } = core::mem::take(cache);
        if pages == 0 {
            return;
        }
        let chunk = base >> G::LOG_CHUNK_PAGES;
        let Some(bits) = self.chunks.get_mut(chunk) else { return };
        let (first, scavenged) = bits.give_all_of(&theirs);
        let new = bits.summarize();
        self.tree.freed(chunk, new);
        self.free += pages;
        self.scavenged += scavenged;
        self.hint = self.hint.min(base + first);
    }
}
