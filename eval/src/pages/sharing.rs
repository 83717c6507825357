//! The cost of sharing: the acquisitions of the lock for allocating 1 GiB in spans and freeing it, with caches and
//! batched frees or one by one, and the time inside the lock. The shared allocator counts acquisitions. The time inside
//! is that of the bare allocator for the same work: a first run without timing records the cache of each acquisition.
//! The timed run passes the same caches in the same order, without the requests that caches serve themselves. It leaves
//! out the scavenger's index, a load and a compare for each freed run. Invariant: the timed run leaves every page free,
//! as the counted one does.

use super::frees::BATCH;
use super::states::{Bare, Pages, Shared, fresh};
use crate::timing::Clock;
use heapwood_pages::{PageCache, PageCount};
use heapwood_report::CommandError;
use heapwood_report::Spread;
use serde::Serialize;
use std::hint::black_box;

const HEAP: PageCount = PageCount::from_bytes(1 << 30);

/// Pages a span.
const SIZES: [usize; 5] = [1, 4, 8, 15, 16];

/// Read-modify-writes on shared cache lines for an uncontended acquisition: the compare-exchange that takes the lock
/// and the swap that releases it. The count of pages in use and the index are plain stores.
pub(super) const WRITES_A_VISIT: u64 = 2;

/// All cases.
pub(super) struct Sharing(Vec<Case>);

struct Case {
    pages: usize,
    cached: bool,
    visits: u64,
    plan: Plan,
    ns: Vec<f64>,
}

/// The operations that allocate everything and free it.
struct Plan {
    /// The cache at each acquisition that requests pages; empty without caching.
    refills: Vec<PageCache>,
    /// The cache at the end.
    rest: PageCache,
    spans: Vec<Pages>,
}

/// The result of one case.
#[derive(Serialize)]
pub(super) struct Outcome {
    pub(super) pages: usize,
    pub(super) cached: bool,
    pub(super) spans: usize,
    pub(super) visits: u64,
    pub(super) visits_per_mib: f64,
    pub(super) shared_writes_per_mib: f64,
    /// Time inside the lock.
    pub(super) ns_per_visit: Spread,
    pub(super) ns_per_mib: Spread,
}

impl Sharing {
    pub(super) fn new() -> Result<Sharing, CommandError> {
        let each = SIZES.into_iter().flat_map(|pages| [(pages, false), (pages, true)]);
        let case = |(pages, cached)| {
            let plan = Plan::new(PageCount(pages), cached)?;
            Ok(Case { pages, cached, visits: plan.visits(cached)?, plan, ns: Vec::new() })
        };
        Ok(Sharing(each.map(case).collect::<Result<_, CommandError>>()?))
    }

    /// Measures every case once.
    pub(super) fn round(&mut self, clock: &Clock, measuring: bool) -> Result<(), CommandError> {
        for case in &mut self.0 {
            let ns = case.plan.inside(clock, case.cached)? / case.visits as f64;
            if measuring {
                case.ns.push(ns);
            }
        }
        Ok(())
    }

    pub(super) fn outcomes(self) -> Vec<Outcome> {
        self.0.into_iter().map(Outcome::of).collect()
    }
}

impl Outcome {
    fn of(case: Case) -> Outcome {
        let mib = (case.plan.spans.len() * PageCount(case.pages).bytes()) as f64 / (1 << 20) as f64;
        let (visits_per_mib, ns_per_visit) = (case.visits as f64 / mib, Spread::of(case.ns));
        Outcome {
            pages: case.pages,
            cached: case.cached,
            spans: case.plan.spans.len(),
            visits: case.visits,
            visits_per_mib,
            shared_writes_per_mib: visits_per_mib * WRITES_A_VISIT as f64,
            ns_per_visit,
            ns_per_mib: ns_per_visit.over(1.0 / visits_per_mib),
        }
    }
}

impl Plan {
    fn new(count: PageCount, cached: bool) -> Result<Plan, CommandError> {
        let mut heap: Bare = fresh(HEAP)?;
        let mut plan = Plan { refills: Vec::new(), rest: PageCache::EMPTY, spans: Vec::new() };
        loop {
            let cache = plan.rest;
            let run = match plan.rest.allocate(count).filter(|_| cached) {
                Some(run) => run,
                None if cached => match heap.allocate_into(&mut plan.rest, count) {
                    Ok(run) => {
                        plan.refills.push(cache);
                        run
                    }
                    Err(_) => {
                        // The failed request and its effect on the cache are not part of the timed run.
                        plan.rest = cache;
                        return Ok(plan);
                    }
                },
                None => match heap.allocate(count) {
                    Ok(run) => run,
                    Err(_) => return Ok(plan),
                },
            };
            plan.spans.push((run.first, run.count));
        }
    }

    /// Counts by the shared allocator.
    fn visits(&self, cached: bool) -> Result<u64, CommandError> {
        let heap: Shared = fresh(HEAP)?;
        let before = heap.stats().lock_acquisitions;
        let mut cache = PageCache::EMPTY;
        for &(first, count) in &self.spans {
            let run = if cached { heap.allocate(&mut cache, count) } else { heap.allocate_uncached(count) };
            if run.map_err(CommandError::run)?.first != first {
                return Err(differs());
            }
        }
        if cached {
            heap.flush(&mut cache);
            self.spans
                .chunks(BATCH)
                .try_for_each(|batch| heap.free_batch(batch))
                .map_err(CommandError::run)?;
        } else {
            let mut spans = self.spans.iter();
            spans.try_for_each(|&(first, count)| heap.free(first, count)).map_err(CommandError::run)?;
        }
        let figures = heap.stats();
        if figures.free == HEAP { Ok(figures.lock_acquisitions - before) } else { Err(differs()) }
    }

    /// The bare allocator's time for the work inside the lock.
    fn inside(&self, clock: &Clock, cached: bool) -> Result<f64, CommandError> {
        let mut heap: Bare = fresh(HEAP)?;
        let count = self.spans.first().map_or(PageCount(0), |&(_, count)| black_box(count));
        let (ns, well) = clock.time(|| match cached {
            true => {
                let refilled = self.refills.iter().all(|&cache| {
                    let run = heap.allocate_into(&mut { cache }, count);
                    run.map(|run| (black_box(run.first), black_box(run.scavenged))).is_ok()
                });
                heap.flush(&mut { self.rest });
                refilled && self.spans.chunks(BATCH).all(|batch| heap.free_batch(batch).is_ok())
            }
            false => {
                let taken = (0..self.spans.len()).all(|_| {
                    let run = heap.allocate(count);
                    run.map(|run| (black_box(run.first), black_box(run.scavenged))).is_ok()
                });
                taken && self.spans.iter().all(|&(first, count)| heap.free(first, count).is_ok())
            }
        });
        if well && heap.free_pages() == HEAP { Ok(ns) } else { Err(differs()) }
    }
}

fn differs() -> CommandError {
    CommandError::run("the timed run allocated other spans than the counted run")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_are_taken_for_refills_and_batches() {
        for pages in [1, 15] {
            let plan = Plan::new(PageCount(pages), true).unwrap();
            let batches = plan.spans.len().div_ceil(BATCH);
            let flush = !plan.rest.is_empty() as usize;
            let visits = plan.visits(true).unwrap();
            assert_eq!(visits as usize, plan.refills.len() + flush + batches);
            assert!(plan.inside(&Clock::new(), true).unwrap() > 0.0);
            let plan = Plan::new(PageCount(pages), false).unwrap();
            assert_eq!(plan.visits(false).unwrap() as usize, 2 * plan.spans.len());
            assert!(plan.inside(&Clock::new(), false).unwrap() > 0.0);
        }
    }
}
