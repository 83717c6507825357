//! The page cache of a mutator: the free pages of one aligned block of 64, allocated at once, so that small requests
//! need no lock and write no shared cache line. A base, a word of free bits and a word of scavenged bits are the page
//! cache of the Go page allocator proposal. Invariant: the allocator counts a cached page as in use; only the cache
//! knows whether it is scavenged.
//!
//! One thing differs. Go keeps a cache until it is empty, so a stream of 15-page requests leaves four unusable pages
//! in it, and every later request takes the lock. Here a request that the cache cannot serve moves the cache to the
//! first block that can, and returns the rest of the old block under the same lock acquisition.

use crate::allocator::{PageAllocator, PageRun};
use crate::chunk::{first_run, ones};
use crate::error::AllocateError;
use crate::geometry::{Geometry, TreeShape};
use crate::units::{PageCount, PageIndex};

/// The cached pages of one mutator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageCache {
    base: PageIndex,
    free: u64,
    scavenged: u64,
}

impl PageCache {
    /// A cache without pages.
    pub const EMPTY: PageCache = PageCache { base: PageIndex(0), free: 0, scavenged: 0 };

    /// The pages of a block, the most that a cache holds.
    pub const BLOCK: usize = 64;

    /// The largest request that moves the cache to another block; longer ones go to the allocator. With 8 the lock is
    /// taken a seventh as often, and two threads are about three times as fast. With 12 and 15 an uncontended lock is
    /// faster, since a block serves few such requests. With 16 the heap spreads by 3 to 9 %, with 8 by 1 to 3 %
    /// (docs/design/pages.md).
    pub const MOST: PageCount = PageCount(8);

    /// Allocates the first run of `count` pages in the cache; `None` if there is none.
    #[inline]
    pub fn allocate(&mut self, count: PageCount) -> Option<PageRun> {
        if count.0 == 1 {
            return self.allocate_one();
        }
        if count.0.wrapping_sub(1) >= Self::BLOCK {
            return None;
        }
        let at = first_run(self.free, count.0 as u32)?;
        let mask = u64::MAX >> (Self::BLOCK - count.0) << at;
        let scavenged = ones(self.scavenged & mask);
        self.free &= !mask;
        self.scavenged &= !mask;
        Some(PageRun { first: PageIndex(self.base.0 + at as usize), count, scavenged: PageCount(scavenged) })
    }

    /// Allocates the first page in the cache; `None` if it is empty.
    #[inline]
    pub fn allocate_one(&mut self) -> Option<PageRun> {
        let free = self.free;
        if free == 0 {
            return None;
        }
        let at = free.trailing_zeros();
        let scavenged = PageCount((self.scavenged >> at & 1) as usize);
        self.free = free & (free - 1);
        self.scavenged &= self.free;
        Some(PageRun { first: PageIndex(self.base.0 + at as usize), count: PageCount(1), scavenged })
    }

    /// Keeps the first `keep` pages, and returns the others.
    pub fn split_off(&mut self, keep: PageCount) -> PageCache {
        let mut rest = *self;
        for _ in 0..keep.0 {
            rest.free &= rest.free.wrapping_sub(1);
        }
        rest.scavenged &= rest.free;
        self.free &= !rest.free;
        self.scavenged &= self.free;
        rest
    }

    /// The first page of the block.
    pub fn base(&self) -> PageIndex {
        self.base
    }

    /// The number of cached pages.
    pub fn pages(&self) -> PageCount {
        PageCount(self.free.count_ones() as usize)
    }

    /// Whether no page is cached.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.free == 0
    }

    /// Whether a page is scavenged, if it is in the cache.
    pub fn get(&self, page: PageIndex) -> Option<bool> {
        let at = page.0.checked_sub(self.base.0).filter(|&at| at < Self::BLOCK)?;
        (self.free >> at & 1 == 1).then_some(self.scavenged >> at & 1 == 1)
    }
}

impl<G: Geometry> PageAllocator<G> {
    /// The pages of a block: those of a word, or of a smaller chunk.
    const BLOCK_PAGES: usize = if PageCache::BLOCK < TreeShape::<G>::CHUNK_PAGES {
        PageCache::BLOCK
    } else {
        TreeShape::<G>::CHUNK_PAGES
    };

    /// Allocates a run of `count` pages for a cache that could not serve the request. A small request fills the cache
    /// with the rest of the block that holds the first such run, after the cache's old pages are returned.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate). The cache may have been emptied, since its pages could have completed a run.
    #[inline]
    pub fn allocate_into(
        &mut self,
        cache: &mut PageCache,
        count: PageCount,
    ) -> Result<PageRun, AllocateError> {
        if count.0.wrapping_sub(1) >= self.free {
            return self.allocate_after_flush(cache, count);
        }
        if count > PageCache::MOST {
            return self.allocate(count).or_else(|_| self.allocate_after_flush(cache, count));
        }
        let Some(first) = self.find(count.0) else { return self.allocate_after_flush(cache, count) };
        let (chunk, place) = (first >> G::LOG_CHUNK_PAGES, first & (TreeShape::<G>::CHUNK_PAGES - 1));
        if place % Self::BLOCK_PAGES + count.0 > Self::BLOCK_PAGES {
            // The run crosses blocks.
            return Ok(self.take_run(first, count));
        }
        // The flush comes first, since the old pages may lie in the same block.
        self.flush(cache);
        *cache = self.take_block(chunk, place / 64);
        match cache.allocate(count) {
            Some(run) => Ok(run),
            None => self.allocate(count),
        }
    }

    /// Fills an empty cache with the first block that has a free page; false if there is none.
    pub fn fill(&mut self, cache: &mut PageCache) -> bool {
        debug_assert!(cache.is_empty());
        let Some(first) = self.find(1) else { return false };
        let (chunk, place) = (first >> G::LOG_CHUNK_PAGES, first & (TreeShape::<G>::CHUNK_PAGES - 1));
        *cache = self.take_block(chunk, place / 64);
        !cache.is_empty()
    }

    /// The last resort: cached pages may complete a run.
    #[cold]
    fn allocate_after_flush(
        &mut self,
        cache: &mut PageCache,
        count: PageCount,
    ) -> Result<PageRun, AllocateError> {
        if !cache.is_empty() && count.0 > 0 && count.0 <= self.reservation().0 {
            self.flush(cache);
        }
        self.allocate(count)
    }

    /// Returns all pages of the cache.
    pub fn flush(&mut self, cache: &mut PageCache) {
        self.flush_pages(core::mem::take(cache));
    }

    fn take_block(&mut self, chunk: usize, word: usize) -> PageCache {
        let base = (chunk << G::LOG_CHUNK_PAGES) + word * 64;
        let Some(bits) = self.chunks.get_mut(chunk) else { return PageCache::EMPTY };
        let (free, scavenged) = bits.take_word(word);
        let (first, run) = (word * 64 + free.trailing_zeros() as usize, ones(free));
        if free >> (first % 64) == u64::MAX >> (64 - run) && bits.is_start(first) {
            // Allocated like any other run, whose summary is computed without a look at all bits.
            let old = self.tree.leaf(chunk);
            let only = base - word * 64 + first == self.hint;
            let new = bits.after_taken(first, run, only, old);
            if only {
                self.tree.taken_first(chunk, new, self.hint, run);
            } else {
                self.tree.taken(chunk, new);
            }
        } else {
            let new = bits.summarize();
            self.tree.taken(chunk, new);
        }
        self.free -= ones(free);
        self.scavenged -= ones(scavenged);
        // If the hint lies in the block, no page before the block's end is free any more.
        let end = base + Self::BLOCK_PAGES;
        if (base..end).contains(&self.hint) {
            self.hint = end;
        }
        self.settle_hint();
        PageCache { base: PageIndex(base), free, scavenged }
    }

    fn flush_pages(&mut self, PageCache { base, free, scavenged }: PageCache) {
        if free == 0 {
            return;
        }
        let (chunk, place) = (base.chunk::<G>().0, base.in_chunk::<G>());
        let Some(bits) = self.chunks.get_mut(chunk) else { return };
        bits.free_word(place / 64, free, scavenged);
        let new = bits.summarize();
        self.tree.freed(chunk, new);
        self.free += ones(free);
        self.scavenged += ones(scavenged);
        self.hint = self.hint.min(base.0 + free.trailing_zeros() as usize);
    }
}
