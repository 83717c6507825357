//! Streams of allocations from pages never used: bare, with the lock, and through a page cache. Invariant: a pass
//! requests no more pages than there are, so that no failed request is timed.

use super::record::{Access, Operation, PASS, Record, State, Stream};
use super::states::{Allocator, Bare, Fresh, Shared, tables_bytes};
use crate::timing::{Clock, Pass};
use heapwood_pages::{AllocateError, PageCache, PageCount, PageRun};
use heapwood_report::CommandError;
use std::hint::black_box;

/// The pages of one allocation.
pub(super) const SIZES: [usize; 14] = [1, 2, 4, 8, 12, 15, 16, 17, 32, 64, 128, 256, 512, 1024];

/// The most pages that a cache serves.
const MOST_CACHED: usize = PageCache::BLOCK;

/// The most operations of a pass.
pub(super) const MOST: usize = 1 << 17;

/// The most pages that a pass uses.
const MOST_PAGES: usize = 1 << 22;

/// With fewer operations the cost of the clock would dominate.
pub(super) const LEAST: usize = 8;

/// The operations after which the first ones do not matter.
const ENOUGH: usize = 1 << 12;

/// The most heaps of a pass, and the most bytes of their tables: they fit into a core's own caches.
const MOST_COPIES: usize = 64;
const CACHE: usize = 256 << 10;

/// All streams without the lock.
pub(super) fn bare(
    fresh: &mut Fresh<Bare>,
    size: PageCount,
    clock: &Clock,
    record: &mut Record,
) -> Result<(), CommandError> {
    for pages in SIZES {
        stream(fresh, size, clock, record, (pages, Access::Bare), |heap, _, count| heap.allocate(count))?;
    }
    Ok(())
}

/// All streams behind the lock.
pub(super) fn shared(
    fresh: &mut Fresh<Shared>,
    size: PageCount,
    clock: &Clock,
    record: &mut Record,
) -> Result<(), CommandError> {
    for pages in SIZES {
        stream(fresh, size, clock, record, (pages, Access::Lock), |heap, _, count| {
            heap.allocate_uncached(count)
        })?;
    }
    for pages in SIZES.into_iter().filter(|&pages| pages <= MOST_CACHED) {
        stream(fresh, size, clock, record, (pages, Access::Cached), |heap, cache, count| {
            heap.allocate(cache, count)
        })?;
    }
    Ok(())
}

/// Heaps and cache in a pass.
struct Taking<'a, A> {
    fresh: &'a mut Fresh<A>,
    cache: PageCache,
    /// The last run's first page.
    last: usize,
}

/// The heaps that a pass empties in sequence. The first operations after heaps were made cost more than later ones, and
/// one tiny heap would have few others.
fn copies(size: PageCount, operations: usize) -> usize {
    let fit = CACHE / tables_bytes(size).max(1) as usize;
    (ENOUGH / operations).min(fit).clamp(1, MOST_COPIES)
}

fn stream<A: Allocator>(
    fresh: &mut Fresh<A>,
    size: PageCount,
    clock: &Clock,
    record: &mut Record,
    (pages, how): (usize, Access),
    take: impl Fn(&mut A, &mut PageCache, PageCount) -> Result<PageRun, AllocateError>,
) -> Result<(), CommandError> {
    let stream = Stream { state: State::Fresh, what: Operation::Allocate, pages, how };
    let count = PageCount(pages);
    let most = (size.0 / pages).min(MOST).min(MOST_PAGES / pages);
    if most < LEAST {
        return Ok(());
    }
    // A cache that cannot serve a request has less than half a block.
    let (room, copies) = ((2 * most * pages).min(size.0), copies(size, most));
    fresh.make(copies, room)?;
    let copies = fresh.heaps.len();
    let mut taking = Taking { fresh, cache: PageCache::EMPTY, last: 0 };
    let again = |taking: &mut Taking<'_, A>| {
        taking.fresh.used(taking.last + pages, &mut taking.cache)?;
        taking.fresh.make(copies, room)
    };
    let work = |taking: &mut Taking<'_, A>, most: usize| {
        let mut sum = 0;
        for heap in &mut taking.fresh.heaps {
            taking.cache = PageCache::EMPTY;
            let (done, last) = runs(most, count, |count| take(heap, &mut taking.cache, count));
            taking.last = last;
            sum += done;
        }
        sum
    };
    match record.operations(stream) {
        None => {
            let done = work(&mut taking, most) / copies;
            record.tried(stream, done);
            again(&mut taking)
        }
        Some(operations) => {
            let work = |taking: &mut Taking<'_, A>| work(taking, operations);
            let pass = clock.pass(PASS, &mut taking, operations * copies, work, again)?;
            record.timed(stream, Pass { operations, ..pass });
            Ok(())
        }
    }
}

/// Takes up to `operations` runs. Returns their number, and the first page of the last one. The two numbers of a run
/// are used separately: storing a result as a whole and reading it back would cause stalls that are not the
/// allocator's.
#[inline(always)]
pub(super) fn runs(
    most: usize,
    count: PageCount,
    mut take: impl FnMut(PageCount) -> Result<PageRun, AllocateError>,
) -> (usize, usize) {
    let count = black_box(count);
    let mut last = 0;
    for done in 0..most {
        match take(count) {
            Ok(run) => {
                last = black_box(run.first).0;
                black_box(run.scavenged);
            }
            Err(_) => return (done, last),
        }
    }
    (most, last)
}
