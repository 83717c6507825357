//! Pages that a mutator has set aside, so that it takes the page allocator's lock once for many: a few blocks, each a page
//! cache. Invariant: they count as in use in the allocator until they are given back.

use core::cell::Cell;
use heapwood_os::region::Zeroed;
use heapwood_pages::{AllocateError, Bits48, PageCache, PageCount, PageRun, SharedPages};

/// How many blocks there are: 256 pages, 2 MiB.
const BLOCKS: usize = 4;

/// A mutator's blocks.
#[derive(Default)]
pub(crate) struct PageBlocks([Cell<PageCache>; BLOCKS]);

// SAFETY: caches of zeros are empty, and need no drop.
unsafe impl Zeroed for PageBlocks {}

impl PageBlocks {
    /// Takes pages that were set aside; none if there are none.
    #[inline]
    pub(crate) fn take(&self, count: PageCount) -> Option<PageRun> {
        self.0.iter().find_map(|block| {
            let mut pages = block.get();
            let run = pages.allocate(count)?;
            block.set(pages);
            Some(run)
        })
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

    /// Gives all back.
    pub(crate) fn flush(&self, pages: &SharedPages<Bits48>) {
        if !self.is_empty() {
            self.with(|blocks| pages.flush_all(blocks));
        }
    }

    fn with<R>(&self, f: impl FnOnce(&mut [PageCache; BLOCKS]) -> R) -> R {
        let mut blocks = self.0.each_ref().map(Cell::get);
        let result = f(&mut blocks);
        self.0.iter().zip(blocks).for_each(|(block, pages)| block.set(pages));
        result
    }

    /// How many are set aside.
    pub(crate) fn count(&self) -> PageCount {
        PageCount(self.0.iter().map(|block| block.get().pages().0).sum())
    }

    /// Whether none are.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|block| block.get().is_empty())
    }
}
