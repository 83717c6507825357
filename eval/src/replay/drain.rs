//! Allocation from a sample until no page is left. Invariant: a pass ends only when the allocator itself refuses, with
//! nothing in the cache.
//!
//! Results are consumed field by field: `black_box` of a whole `Result` writes it to the stack in parts and reads it
//! back whole, which costs more than some allocations here.

use crate::args::Request;
use crate::draw::Draw;
use crate::moments::{Pages, pages_of};
use heapwood_pages::{AllocateError, PageCache, PageCount, PageRun, Snapshot};
use heapwood_report::CommandError;
use std::hint::black_box;

/// The number of random sizes, which are then repeated; a power of two.
const DRAWN: usize = 4096;

/// The requests, and whether a cache serves them.
pub(crate) struct Drain {
    pub(crate) request: Request,
    pub(crate) cached: bool,
    /// The sizes of a mix.
    sizes: Vec<u8>,
}

/// The result of a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DrainResult {
    pub(crate) allocations: usize,
    /// Acquisitions of the lock.
    pub(crate) visits: u64,
    /// Free pages at the end.
    pub(crate) left: usize,
}

impl Drain {
    pub(crate) fn new(request: Request, cached: bool) -> Drain {
        let mut draw = Draw::new();
        let mut size = || draw.small_run() as u8;
        let sizes = if request == Request::Mix { (0..DRAWN).map(|_| size()).collect() } else { Vec::new() };
        Drain { request, cached, sizes }
    }

    /// An allocator of the sample's pages.
    pub(crate) fn make(&self, sample: &Snapshot) -> Result<Pages, CommandError> {
        pages_of(sample)
    }

    /// Allocates until no page is left. Returns the number of allocations.
    pub(crate) fn all(&self, pages: &Pages) -> usize {
        match (self.cached, self.request) {
            (false, Request::Pages(count)) => fixed::<false>(pages, PageCount(count)),
            (true, Request::Pages(count)) => fixed::<true>(pages, PageCount(count)),
            (false, Request::Mix) => mixed::<false>(pages, &self.sizes),
            (true, Request::Mix) => mixed::<true>(pages, &self.sizes),
        }
    }

    /// The result, without timing.
    pub(crate) fn run(&self, sample: &Snapshot) -> Result<DrainResult, CommandError> {
        let pages = self.make(sample)?;
        let allocations = self.all(&pages);
        let figures = pages.stats();
        Ok(DrainResult { allocations, visits: figures.lock_acquisitions, left: figures.free.0 })
    }
}

#[inline(always)]
fn take<const CACHED: bool>(
    pages: &Pages,
    cache: &mut PageCache,
    count: PageCount,
) -> Result<PageRun, AllocateError> {
    if CACHED { pages.allocate(cache, count) } else { pages.allocate_uncached(count) }
}

#[inline(always)]
fn consume(run: PageRun) {
    black_box(run.first);
    black_box(run.scavenged);
}

/// Runs of one size. Flushing the cache may complete a run in the allocator.
fn fixed<const CACHED: bool>(pages: &Pages, count: PageCount) -> usize {
    let (mut cache, mut allocations) = (PageCache::EMPTY, 0);
    loop {
        match take::<CACHED>(pages, &mut cache, count) {
            Ok(run) => {
                consume(run);
                allocations += 1;
            }
            Err(_) if cache.is_empty() => return allocations,
            Err(_) => pages.flush(&mut cache),
        }
    }
}

/// Runs of random sizes. A size without a free run is replaced by the next smaller one.
fn mixed<const CACHED: bool>(pages: &Pages, sizes: &[u8]) -> usize {
    let (mut cache, mut allocations, mut most) = (PageCache::EMPTY, 0, u8::MAX);
    loop {
        let size = sizes[allocations % DRAWN].min(most);
        match take::<CACHED>(pages, &mut cache, PageCount(size.into())) {
            Ok(run) => {
                consume(run);
                allocations += 1;
            }
            Err(_) if !cache.is_empty() => pages.flush(&mut cache),
            Err(_) if size == 1 => return allocations,
            Err(_) => most = size - 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwood_pages::{ChunkIndex, ChunkSnapshot};

    /// Two chunks, every fourth page of the first in use and the second free.
    fn sample() -> Snapshot {
        let chunk = |index, in_use| ChunkSnapshot {
            chunk: ChunkIndex(index),
            in_use: vec![in_use; 8],
            scavenged: vec![0; 8],
        };
        Snapshot { reservation: PageCount(2048), chunks: vec![chunk(0, 0x1111_1111_1111_1111), chunk(1, 0)] }
    }

    fn drained(request: Request, cached: bool) -> DrainResult {
        Drain::new(request, cached).run(&sample()).unwrap()
    }

    #[test]
    fn no_run_that_fits_is_left() {
        for cached in [false, true] {
            let one = drained(Request::Pages(1), cached);
            assert_eq!((one.allocations, one.left), (384 + 512, 0));
            let three = drained(Request::Pages(3), cached);
            assert!(three.allocations >= 128 + 160 && three.left == 896 - 3 * three.allocations, "{three:?}");
            let long = drained(Request::Pages(100), cached);
            assert_eq!((long.allocations, long.left), (5, 396));
            assert_eq!(drained(Request::Pages(513 + 2), cached).allocations, 1);
            assert_eq!(drained(Request::Pages(517), cached).allocations, 0);
            let mix = drained(Request::Mix, cached);
            assert_eq!(mix.left, 0);
            assert!((100..400).contains(&mix.allocations), "{mix:?}");
            assert_eq!(drained(Request::Mix, cached), mix);
        }
    }

    #[test]
    fn a_cache_saves_locks() {
        // One a block of 64, and the last finds nothing.
        assert_eq!(drained(Request::Pages(1), true).visits, 16 + 1);
        assert_eq!(drained(Request::Pages(1), false).visits, 896 + 1);
        assert_eq!(drained(Request::Pages(17), true).visits, drained(Request::Pages(17), false).visits);
    }
}
