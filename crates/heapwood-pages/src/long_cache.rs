//! A mutator's cache for runs that are too long for a block of 64 pages: free pages of one chunk, from the first run
//! that was long enough upwards, so that one lock acquisition serves as many such runs as the chunk has. It is
//! searched like a chunk in which all other pages count as in use. When it cannot serve a request, all its pages are
//! returned first, so the next allocation is the first fit among all free pages, and holes at lower addresses are
//! filled. Invariant: as for a [`PageCache`](crate::PageCache), the allocator counts a cached page as in use.

use crate::allocator::{PageAllocator, PageRun};
use crate::chunk::Chunk;
use crate::error::AllocateError;
use crate::geometry::{Geometry, TreeShape};
use crate::units::{PageCount, PageIndex};

/// The pages of a chunk that one mutator caches.
#[derive(Clone, Copy, Debug)]
pub struct LongCache<G: Geometry> {
    /// The chunk's bits; pages outside the cache are in use. Meaningless if the cache is empty.
    bits: Chunk<G>,
    /// The chunk's first page.
    base: usize,
    /// The number of cached pages.
    pages: usize,
    /// A word below which no page is cached.
    from: usize,
    /// An upper bound of the longest run.
    longest: usize,
}

impl<G: Geometry> Default for LongCache<G> {
    fn default() -> Self {
        LongCache { bits: Chunk::ABSENT, base: 0, pages: 0, from: 0, longest: 0 }
    }
}

impl<G: Geometry> LongCache<G> {
    /// The longest request for which pages of a chunk are cached.
    pub const MOST: PageCount = PageCount(TreeShape::<G>::CHUNK_PAGES / 8);

    /// Allocates the first run of `count` pages in the cache; `None` if there is none.
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
    pub(crate) fn base(&self) -> PageIndex {
        PageIndex(self.base)
    }

    /// The number of cached pages.
    #[inline]
    pub fn pages(&self) -> PageCount {
        PageCount(self.pages)
    }

    /// Whether no page is cached.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pages == 0
    }
}

impl<G: Geometry> PageAllocator<G> {
    /// Allocates the first run of `count` pages, for a cache that could not serve the request. The cache's pages are
    /// returned first. Then it gets up to `most` free pages that follow the run in its chunk.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate); the cache is empty then.
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
        // The run is the lowest part of the pages.
        *cache = self.take_above(chunk, place, count.0 + most.0);
        match cache.allocate(count) {
            Some(run) => Ok(run),
            None => self.allocate(count),
        }
    }

    /// Moves the lowest `most` free pages of a chunk from a page on into a cache.
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

    /// Returns all pages of the cache.
    pub fn flush_long(&mut self, cache: &mut LongCache<G>) {
        let LongCache { bits: theirs, base, pages, .. } = core::mem::take(cache);
        if pages == 0 {
            return;
        }
        let chunk = base >> G::LOG_CHUNK_PAGES;
        let Some(bits) = self.chunks.get_mut(chunk) else { return };
        let (first, scavenged) = bits.free_all_of(&theirs);
        let new = bits.summarize();
        self.tree.freed(chunk, new);
        self.free += pages;
        self.scavenged += scavenged;
        self.hint = self.hint.min(base + first);
    }
}
