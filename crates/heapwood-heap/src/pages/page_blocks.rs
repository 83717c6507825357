//! A mutator's cached pages, with which it takes the page allocator's lock once for many pages: a few blocks, each a
//! page cache as in Go, and two caches for longer runs. Invariant: the allocator counts cached pages as in use until
//! they are returned.

use core::cell::{Cell, UnsafeCell};
use heapwood_os::memory::region::Zeroed;
use heapwood_pages::{AllocateError, Bits48, LongCache, PageCache, PageCount, PageRun, SharedPages};

/// The number of blocks: 256 pages, 2 MiB.
const BLOCKS: usize = 4;
/// The number of caches for long runs: the rest of one serves short runs while the other serves long ones.
const LONG: usize = 2;

/// A mutator's caches.
#[derive(Default)]
pub(crate) struct PageBlocks {
    blocks: [Cell<PageCache>; BLOCKS],
    long: UnsafeCell<[LongCache<Bits48>; LONG]>,
}

/// The cache for pages beyond those taken, with their most number: none, the blocks for spans, or the long caches for
/// large objects.
#[derive(Clone, Copy)]
pub(crate) enum CacheTarget<'c> {
    Uncached,
    Blocks(&'c PageBlocks, PageCount),
    Long(&'c PageBlocks, PageCount),
}

impl CacheTarget<'_> {
    /// The most pages to cache.
    pub(crate) fn most(self) -> PageCount {
        match self {
            CacheTarget::Uncached => PageCount(0),
            CacheTarget::Blocks(_, most) | CacheTarget::Long(_, most) => most,
        }
    }

    /// The same with at most `bound` pages.
    pub(crate) fn at_most(self, bound: PageCount) -> Self {
        match self {
            CacheTarget::Uncached => CacheTarget::Uncached,
            _ if bound.0 == 0 => CacheTarget::Uncached,
            CacheTarget::Blocks(blocks, most) => CacheTarget::Blocks(blocks, most.min(bound)),
            CacheTarget::Long(blocks, most) => CacheTarget::Long(blocks, most.min(bound)),
        }
    }

    /// Takes free pages from the allocator, if it has some.
    pub(crate) fn take(self, pages: &SharedPages<Bits48>, count: PageCount) -> Option<PageRun> {
        let taken = match self {
            CacheTarget::Blocks(blocks, most) => blocks.take_from(pages, count, most),
            CacheTarget::Long(blocks, most) => blocks.take_long_from(pages, count, most),
            CacheTarget::Uncached => pages.allocate_uncached(count),
        };
        taken.ok()
    }
}

// SAFETY: caches of zeros are empty, and need no drop.
unsafe impl Zeroed for PageBlocks {}

impl PageBlocks {
    /// Takes cached pages, if there are enough.
    #[inline]
    pub(crate) fn take(&self, count: PageCount) -> Option<PageRun> {
        let run = self.blocks.iter().find_map(|block| {
            let mut pages = block.get();
            let run = pages.allocate(count)?;
            block.set(pages);
            Some(run)
        });
        run.or_else(|| self.take_long(count))
    }

    /// Takes a long run of cached pages, if there is one.
    pub(crate) fn take_long(&self, count: PageCount) -> Option<PageRun> {
        self.with_long(|caches| caches.iter_mut().find_map(|cache| cache.allocate(count)))
    }

    /// Takes pages from the allocator, and caches up to `most` more that it finds with them.
    fn take_from(
        &self,
        pages: &SharedPages<Bits48>,
        count: PageCount,
        most: PageCount,
    ) -> Result<PageRun, AllocateError> {
        self.with(|blocks| pages.allocate_with(blocks, count, most))
    }

    /// Takes a long run from the allocator, and caches pages that follow it, up to `most` long pages in all.
    fn take_long_from(
        &self,
        pages: &SharedPages<Bits48>,
        count: PageCount,
        most: PageCount,
    ) -> Result<PageRun, AllocateError> {
        self.with_long(|caches| {
            // The cache with the fewest pages is replaced. Sorted, caches with fewer pages are used first.
            caches.sort_unstable_by_key(LongCache::pages);
            let (first, others) = caches.split_first_mut().expect("there are some");
            let held: usize = others.iter().map(|cache| cache.pages().0).sum();
            pages.allocate_long(first, count, PageCount(most.0.saturating_sub(held)))
        })
    }

    /// Returns all pages to the allocator.
    pub(crate) fn flush(&self, pages: &SharedPages<Bits48>) {
        if !self.has_no_blocks() {
            self.with(|blocks| pages.flush_all(blocks));
        }
        if self.long_pages().0 > 0 {
            self.with_long(|caches| pages.flush_all_long(caches));
        }
    }

    fn with<R>(&self, f: impl FnOnce(&mut [PageCache; BLOCKS]) -> R) -> R {
        let mut blocks = self.blocks.each_ref().map(Cell::get);
        let result = f(&mut blocks);
        self.blocks.iter().zip(blocks).for_each(|(block, pages)| block.set(pages));
        result
    }

    /// Long caches are too large to copy. `f` uses no caches but its argument.
    #[inline]
    fn with_long<R>(&self, f: impl FnOnce(&mut [LongCache<Bits48>; LONG]) -> R) -> R {
        // SAFETY: PageBlocks is not Sync, so one thread at a time uses this, and no caller does so again within `f`.
        f(unsafe { &mut *self.long.get() })
    }

    /// The number of cached pages.
    pub(crate) fn count(&self) -> PageCount {
        let blocks: usize = self.blocks.iter().map(|block| block.get().pages().0).sum();
        PageCount(blocks + self.long_pages().0)
    }

    /// The cached pages of long runs.
    pub(crate) fn long_pages(&self) -> PageCount {
        PageCount(self.with_long(|caches| caches.iter().map(|cache| cache.pages().0).sum()))
    }

    /// Whether no page is cached.
    pub(crate) fn is_empty(&self) -> bool {
        self.has_no_blocks() && self.long_pages().0 == 0
    }

    /// Whether no page for short runs is cached.
    pub(crate) fn has_no_blocks(&self) -> bool {
        self.blocks.iter().all(|block| block.get().is_empty())
    }
}
