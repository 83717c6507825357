//! Threads on one allocator of 1 GiB: each fills a list with runs and frees them in batches, repeatedly. Invariant: all
//! begin together, each is timed by its own clock, and at the end every page is free.

use super::frees::BATCH;
use super::states::{Pages, Shared, fresh};
use crate::timing::Clock;
use heapwood_pages::{AllocateError, PageCache, PageCount, PageRun};
use heapwood_report::CommandError;
use heapwood_report::Spread;
use serde::Serialize;
use std::sync::Barrier;

const HEAP: PageCount = PageCount::from_bytes(1 << 30);

/// The most runs that a thread holds.
const HELD: usize = 1024;

/// The number of times that it fills and empties its list in a pass. An allocation is an operation, and so is a free.
const TIMES: usize = 64;
const OPERATIONS: usize = 2 * HELD * TIMES;

/// The pages of one allocation.
const SIZES: [usize; 3] = [1, 8, 15];

/// The largest number of threads.
const MOST: usize = 2;

/// All combinations.
pub(super) struct Threads {
    heap: Shared,
    cases: Vec<Case>,
}

struct Case {
    pages: usize,
    cached: bool,
    threads: usize,
    ns: Vec<f64>,
    visits: Vec<f64>,
}

/// The result of one combination.
#[derive(Serialize)]
pub(super) struct Outcome {
    pub(super) pages: usize,
    pub(super) cached: bool,
    pub(super) threads: usize,
    /// Operations of each thread.
    pub(super) operations: usize,
    /// Nanoseconds an operation, the mean of all threads.
    pub(super) ns: Spread,
    /// Acquisitions of the lock for a thousand operations of all threads.
    pub(super) visits_per_1000: Spread,
}

impl Threads {
    pub(super) fn new() -> Result<Threads, CommandError> {
        let most = std::thread::available_parallelism().map_or(1, |n| n.get()).min(MOST);
        let mut cases = Vec::new();
        for pages in SIZES {
            for cached in [false, true] {
                for threads in 1..=most {
                    cases.push(Case { pages, cached, threads, ns: Vec::new(), visits: Vec::new() });
                }
            }
        }
        Ok(Threads { heap: fresh(HEAP)?, cases })
    }

    /// Measures every case once.
    pub(super) fn round(&mut self, clock: &Clock, measuring: bool) -> Result<(), CommandError> {
        for case in &mut self.cases {
            let (ns, visits) = case.pass(clock, &self.heap)?;
            if measuring {
                case.ns.push(ns);
                case.visits.push(visits);
            }
        }
        Ok(())
    }

    pub(super) fn outcomes(self) -> Vec<Outcome> {
        let outcome = |case: Case| Outcome {
            pages: case.pages,
            cached: case.cached,
            threads: case.threads,
            operations: OPERATIONS,
            ns: Spread::of(case.ns),
            visits_per_1000: Spread::of(case.visits),
        };
        self.cases.into_iter().map(outcome).collect()
    }
}

impl Case {
    /// Nanoseconds and acquisitions.
    fn pass(&self, clock: &Clock, heap: &Shared) -> Result<(f64, f64), CommandError> {
        let (count, barrier) = (PageCount(self.pages), Barrier::new(self.threads));
        let before = heap.stats().lock_acquisitions;
        let one = || {
            let mut cache = PageCache::EMPTY;
            let mut held = Vec::with_capacity(HELD);
            barrier.wait();
            let (ns, done) = clock.time(|| match self.cached {
                true => fill_and_empty(heap, &mut held, || heap.allocate(&mut cache, count)),
                false => fill_and_empty(heap, &mut held, || heap.allocate_uncached(count)),
            });
            done.map(|()| (ns / OPERATIONS as f64, cache))
        };
        let results: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads).map(|_| scope.spawn(one)).collect();
            threads.into_iter().map(|thread| thread.join()).collect()
        });
        let visits = heap.stats().lock_acquisitions - before;
        let mut sum = 0.0;
        for result in results {
            let (ns, mut cache) = result.map_err(|_| CommandError::run("a thread ended early"))??;
            heap.flush(&mut cache);
            sum += ns;
        }
        if heap.stats().free != HEAP {
            return Err(CommandError::run("threads on one heap lost pages"));
        }
        let operations = (self.threads * OPERATIONS) as f64;
        Ok((sum / self.threads as f64, 1000.0 * visits as f64 / operations))
    }
}

#[inline(always)]
fn fill_and_empty(
    heap: &Shared,
    held: &mut Vec<Pages>,
    mut allocate: impl FnMut() -> Result<PageRun, AllocateError>,
) -> Result<(), CommandError> {
    for _ in 0..TIMES {
        for _ in 0..HELD {
            let PageRun { first, count, .. } = allocate().map_err(CommandError::run)?;
            held.push((first, count));
        }
        for batch in held.chunks(BATCH) {
            heap.free_batch(batch).map_err(CommandError::run)?;
        }
        held.clear();
    }
    Ok(())
}

// Both threads may hold their maximum at once, beside full caches.
const _: () = assert!(MOST * HELD * SIZES[SIZES.len() - 1] * 2 < HEAP.0);
