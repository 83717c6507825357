//! Streams and pairs on a heap with holes, with the lock and through a page cache. Making such a heap takes long, so it
//! is made once, and the runs of each pass are freed after it. Invariant: before every pass the heap has the same
//! holes. The runs of a stream are determined once, by a trial.

use super::fresh::{MOST, runs};
use super::record::{Access, Operation, PASS, Record, State, Stream};
use super::states::{Pages, Shared};
use crate::timing::Clock;
use heapwood_pages::{PageCache, PageCount};
use heapwood_report::CommandError;
use std::hint::black_box;

/// The pairs of a pass.
const PAIRS: usize = 1 << 14;

/// A heap with holes.
pub(super) struct Holes {
    state: State,
    heap: Shared,
    /// The runs of each stream.
    taken: Vec<(Stream, Vec<Pages>)>,
}

impl Holes {
    pub(super) fn new(state: State, heap: Shared) -> Self {
        Holes { state, heap, taken: Vec::new() }
    }

    /// Allocates until the pass is long enough or no run is left.
    pub(super) fn allocate(
        &mut self,
        pages: usize,
        how: Access,
        clock: &Clock,
        record: &mut Record,
    ) -> Result<(), CommandError> {
        let stream = Stream { state: self.state, what: Operation::Allocate, pages, how };
        let count = PageCount(pages);
        let Some((_, taken)) = self.taken.iter().find(|(of, _)| *of == stream) else {
            let taken = self.try_out(count, how)?;
            record.tried(stream, taken.len());
            self.taken.push((stream, taken));
            return Ok(());
        };
        let mut cache = PageCache::EMPTY;
        let heap = &self.heap;
        let work = |cache: &mut PageCache| match how {
            Access::Cached => runs(taken.len(), count, |count| heap.allocate(cache, count)).0,
            _ => runs(taken.len(), count, |count| heap.allocate_uncached(count)).0,
        };
        let undo = |cache: &mut PageCache| give_back(heap, cache, taken);
        let pass = clock.pass(PASS, &mut cache, taken.len(), work, undo)?;
        record.timed(stream, pass);
        Ok(())
    }

    fn try_out(&self, count: PageCount, how: Access) -> Result<Vec<Pages>, CommandError> {
        let (mut cache, mut taken) = (PageCache::EMPTY, Vec::new());
        while taken.len() < MOST {
            let run = match how {
                Access::Cached => self.heap.allocate(&mut cache, count),
                _ => self.heap.allocate_uncached(count),
            };
            match run {
                Ok(run) => taken.push((run.first, run.count)),
                Err(_) => break,
            }
        }
        give_back(&self.heap, &mut cache, &taken)?;
        Ok(taken)
    }

    /// Allocates a run, and frees it.
    pub(super) fn pair(
        &mut self,
        pages: usize,
        clock: &Clock,
        record: &mut Record,
    ) -> Result<(), CommandError> {
        let stream = Stream { state: self.state, what: Operation::AllocateAndFree, pages, how: Access::Lock };
        let count = black_box(PageCount(pages));
        let work = |heap: &mut Shared| {
            let pair = || {
                let run = heap.allocate_uncached(count).ok()?;
                black_box(run.scavenged);
                heap.free(black_box(run.first), count).ok()
            };
            (0..PAIRS).map_while(|_| pair()).count()
        };
        let pass = clock.pass(PASS, &mut self.heap, PAIRS, work, |_| Ok(()))?;
        record.timed(stream, pass);
        Ok(())
    }
}

fn give_back(heap: &Shared, cache: &mut PageCache, taken: &[Pages]) -> Result<(), CommandError> {
    heap.flush(cache);
    let changed = |why| CommandError::run(format!("a stream that is repeated took other pages: {why}"));
    taken.chunks(64).try_for_each(|batch| heap.free_batch(batch)).map_err(changed)
}

#[cfg(test)]
mod tests {
    use super::super::states;
    use super::*;

    #[test]
    fn passes_leave_the_same_holes() {
        let size = PageCount(4 * states::CHUNK);
        let heaps = [
            (State::Checkerboard, states::checkerboard(size).unwrap()),
            (State::RandomPages, states::random_pages(size).unwrap()),
        ];
        for (state, heap) in heaps {
            let before = heap.snapshot();
            let (clock, mut record) = (Clock::new(), Record::default());
            let mut holes = Holes::new(state, heap);
            for _ in 0..2 {
                for how in [Access::Lock, Access::Cached] {
                    holes.allocate(1, how, &clock, &mut record).unwrap();
                    holes.allocate(2, how, &clock, &mut record).unwrap();
                }
                holes.pair(2, &clock, &mut record).unwrap();
                assert_eq!(holes.heap.snapshot(), before);
                record.measure();
            }
            assert!(record.series().len() == 5 && record.series().iter().all(|series| series.ns.len() == 1));
        }
    }
}
