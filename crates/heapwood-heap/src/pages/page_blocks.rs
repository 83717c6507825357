//! Pages that a mutator has cached, so that it takes the page allocator's lock once for many: a few blocks, each a page
//! cache, and two caches for longer runs. Invariant: they count as in use in the allocator until they are given back.

use core::cell::{Cell, UnsafeCell};
use heapwood_os::region::Zeroed;
use heapwood_pages::{AllocateError, Bits48, LongCache, PageCache, PageCount, PageRun, SharedPages};

/// How many blocks there are: 256 pages, 2 MiB.
const BLOCKS: usize = 4;
/// How many caches for long runs: what is left in one serves the shorter of them while another serves the longer.
const LONG: usize = 2;

/// A mutator's caches.
#[derive(Default)]
pub(crate) struct PageBlocks {
    blocks: [Cell<PageCache>; BLOCKS],
    long: UnsafeCell<[LongCache<Bits48>; LONG]>,
}

/// What is cached of the pages that are taken: up to so many, for spans or for large objects.
#[derive(Clone, Copy)]
pub(crate) enum Aside<'c> {
    Nothing,
    Blocks(&'c PageBlocks, PageCount),
    Long(&'c PageBlocks, PageCount),
}

impl Aside<'_> {
    /// How many pages may be cached.
    pub(crate) fn most(self) -> PageCount {
        match self {
            Aside::Nothing => PageCount(0),
            Aside::Blocks(_, most) | Aside::Long(_, most) => most,
        }
    }

    /// The same, but no more than so many.
    pub(crate) fn at_most(self, bound: PageCount) -> Self {
        match self {
            Aside::Nothing => Aside::Nothing,
            _ if bound.0 == 0 => Aside::Nothing,
            Aside::Blocks(blocks, most) => Aside::Blocks(blocks, most.min(bound)),
            Aside::Long(blocks, most) => Aside::Long(blocks, most.min(bound)),
        }
    }
}

// SAFETY: caches of zeros are empty, and need no drop.
unsafe impl Zeroed for PageBlocks {}

impl PageBlocks {
    /// Takes pages that were cached; none if there are none.
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

    /// Takes a long run of pages that were cached; none if there is none.
    pub(crate) fn take_long(&self, count: PageCount) -> Option<PageRun> {
        self.with_long(|caches| caches.iter_mut().find_map(|cache| cache.allocate(count)))
    }

    /// Takes pages from the allocator, and sets up to `most` aside that it finds with them.
    pub(crate) fn take_from(
        &self,
        pages: &SharedPages<Bits48>,
        count: PageCount,
        most: PageCount,
    ) -> Result<PageRun, AllocateError> {
        self.with(|blocks| pages.allocate_with(blocks, count, most))
    }

    /// Takes a long run from the allocator, and sets pages aside that follow it: as many as make up `most` long ones.
    pub(crate) fn take_long_from(
        &self,
        pages: &SharedPages<Bits48>,
        count: PageCount,
        most: PageCount,
    ) -> Result<PageRun, AllocateError> {
        self.with_long(|caches| {
            // The one that has the least left is used up; those that are asked first have the least.
            caches.sort_unstable_by_key(LongCache::pages);
            let (first, others) = caches.split_first_mut().expect("there are some");
            let held: usize = others.iter().map(|cache| cache.pages().0).sum();
            pages.allocate_long(first, count, PageCount(most.0.saturating_sub(held)))
        })
    }

    /// Gives all back.
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

    /// These are too long to be copied. What is passed uses no caches but those it is given.
    #[inline]
    fn with_long<R>(&self, f: impl FnOnce(&mut [LongCache<Bits48>; LONG]) -> R) -> R {
        // SAFETY: one thread at a time uses this, which is not Sync, and none of the callers does so within `f`.
        f(unsafe { &mut *self.long.get() })
    }

    /// How many are cached.
    pub(crate) fn count(&self) -> PageCount {
        let blocks: usize = self.blocks.iter().map(|block| block.get().pages().0).sum();
        PageCount(blocks + self.long_pages().0)
    }

    /// How many of them for long runs.
    pub(crate) fn long_pages(&self) -> PageCount {
        PageCount(self.with_long(|caches| caches.iter().map(|cache| cache.pages().0).sum()))
    }

    /// Whether none are.
    pub(crate) fn is_empty(&self) -> bool {
        self.has_no_blocks() && self.long_pages().0 == 0
    }

    /// Whether none are for short runs.
    pub(crate) fn has_no_blocks(&self) -> bool {
        self.blocks.iter().all(|block| block.get().is_empty())
    }
}
