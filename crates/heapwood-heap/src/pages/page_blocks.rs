//! Pages that a mutator has set aside, so that it takes the page allocator's lock once for many: a few blocks, each a page
//! cache, and one cache for longer runs. Invariant: they count as in use in the allocator until they are given back.

use core::cell::Cell;
use heapwood_os::region::Zeroed;
use heapwood_pages::{AllocateError, Bits48, LongCache, PageCache, PageCount, PageRun, SharedPages};

/// How many blocks there are: 256 pages, 2 MiB.
const BLOCKS: usize = 4;

/// A mutator's blocks, and its cache for long runs.
#[derive(Default)]
pub(crate) struct PageBlocks {
    blocks: [Cell<PageCache>; BLOCKS],
    long: Cell<LongCache<Bits48>>,
}

/// What is set aside of the pages that are taken: up to so many, for spans or for large objects.
#[derive(Clone, Copy)]
pub(crate) enum Aside<'c> {
    Nothing,
    Blocks(&'c PageBlocks, PageCount),
    Long(&'c PageBlocks, PageCount),
}

// SAFETY: caches of zeros are empty, and need no drop.
unsafe impl Zeroed for PageBlocks {}

impl PageBlocks {
    /// Takes pages that were set aside; none if there are none.
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

    /// Takes pages from the allocator, and sets up to `most` aside that it finds with them.
    pub(crate) fn take_from(
        &self,
        pages: &SharedPages<Bits48>,
        count: PageCount,
        most: PageCount,
    ) -> Result<PageRun, AllocateError> {
        self.with(|blocks| pages.allocate_with(blocks, count, most))
    }

    /// Takes a long run of pages that were set aside; none if there is none.
    pub(crate) fn take_long(&self, count: PageCount) -> Option<PageRun> {
        let mut long = self.long.get();
        let run = long.allocate(count)?;
        self.long.set(long);
        Some(run)
    }

    /// Takes a long run from the allocator, and sets up to `most` pages aside that follow it.
    pub(crate) fn take_long_from(
        &self,
        pages: &SharedPages<Bits48>,
        count: PageCount,
        most: PageCount,
    ) -> Result<PageRun, AllocateError> {
        let mut long = self.long.get();
        let run = pages.allocate_long(&mut long, count, most);
        self.long.set(long);
        run
    }

    /// Gives all back.
    pub(crate) fn flush(&self, pages: &SharedPages<Bits48>) {
        if !self.is_empty() {
            let mut long = self.long.take();
            self.with(|blocks| pages.flush_all(blocks, &mut long));
        }
    }

    fn with<R>(&self, f: impl FnOnce(&mut [PageCache; BLOCKS]) -> R) -> R {
        let mut blocks = self.blocks.each_ref().map(Cell::get);
        let result = f(&mut blocks);
        self.blocks.iter().zip(blocks).for_each(|(block, pages)| block.set(pages));
        result
    }

    /// How many are set aside.
    pub(crate) fn count(&self) -> PageCount {
        let blocks: usize = self.blocks.iter().map(|block| block.get().pages().0).sum();
        PageCount(blocks + self.long_pages().0)
    }

    /// How many of them for long runs.
    #[inline]
    pub(crate) fn long_pages(&self) -> PageCount {
        self.long.get().pages()
    }

    /// Whether none are.
    pub(crate) fn is_empty(&self) -> bool {
        self.has_no_blocks() && self.long.get().is_empty()
    }

    /// Whether none are for short runs.
    pub(crate) fn has_no_blocks(&self) -> bool {
        self.blocks.iter().all(|block| block.get().is_empty())
    }
}
