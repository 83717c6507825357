//! The steady mix: a heap with 90 % of its pages in use, in which random runs are freed and runs of other sizes
//! allocated in turn. It runs without a lock, since only the bare allocator can claim given pages, which restores the
//! initial state. Invariant: before every pass the heap and the list of runs are the same.

use super::record::{Access, Operation, PASS, Record, State, Stream};
use super::states::{Bare, Pages};
use crate::draw::Draw;
use crate::timing::Clock;
use heapwood_pages::PageCount;
use heapwood_report::CommandError;
use std::hint::black_box;

/// The most runs to choose from.
pub(super) const MOST_RUNS: usize = 1 << 17;

const PAIRS: usize = 1 << 15;

/// The longest run.
const LONGEST: usize = 16;

/// The heap and its runs that may be freed.
pub(super) struct Mix {
    heap: Bare,
    /// The runs before a pass.
    runs: Vec<Pages>,
    /// The runs now.
    now: Vec<Pages>,
    /// The run to free, and the pages to allocate after it.
    pairs: Vec<(u32, u32)>,
    /// The frees and allocations of a pass, in pairs.
    done: Vec<(Pages, Pages)>,
}

impl Mix {
    pub(super) fn new(heap: Bare, runs: Vec<Pages>) -> Self {
        let mut draw = Draw::new();
        let pair = |_| (draw.below(runs.len()) as u32, draw.below(LONGEST) as u32 + 1);
        let pairs = (0..PAIRS).map(pair).collect();
        Mix { heap, now: runs.clone(), runs, pairs, done: Vec::new() }
    }

    pub(super) fn round(&mut self, clock: &Clock, record: &mut Record) -> Result<(), CommandError> {
        let stream =
            Stream { state: State::RandomRuns, what: Operation::Mix, pages: LONGEST, how: Access::Bare };
        if self.done.is_empty() {
            self.try_out()?;
            record.tried(stream, PAIRS);
            return self.undo();
        }
        let work = |mix: &mut Mix| {
            let Mix { heap, now, pairs, .. } = mix;
            pairs.iter().take_while(|&&pair| step(heap, now, pair).is_some()).count()
        };
        let pass = clock.pass(PASS, self, PAIRS, work, Mix::undo)?;
        record.timed(stream, pass);
        Ok(())
    }

    fn try_out(&mut self) -> Result<(), CommandError> {
        let Mix { heap, now, pairs, done, .. } = self;
        for &pair in &*pairs {
            let at = pair.0 as usize;
            let freed = now[at];
            step(heap, now, pair).ok_or_else(differs)?;
            done.push((freed, now[at]));
        }
        Ok(())
    }

    /// Undoes a pass, the last pair first.
    fn undo(&mut self) -> Result<(), CommandError> {
        for &((first, count), allocated) in self.done.iter().rev() {
            self.heap.free(allocated.0, allocated.1).map_err(CommandError::run)?;
            self.heap.claim(first, count);
        }
        self.now.copy_from_slice(&self.runs);
        Ok(())
    }
}

/// Frees a run and allocates one. If no run is long enough, it allocates the length of the freed run, which fits.
#[inline(always)]
fn step(heap: &mut Bare, runs: &mut [Pages], (at, pages): (u32, u32)) -> Option<()> {
    let run = runs.get_mut(at as usize)?;
    heap.free(run.0, run.1).ok()?;
    let taken = match heap.allocate(PageCount(pages as usize)) {
        Ok(taken) => taken,
        Err(_) => heap.allocate(run.1).ok()?,
    };
    black_box(taken.scavenged);
    *run = (taken.first, taken.count);
    Some(())
}

fn differs() -> CommandError {
    CommandError::run("a run in use could not be freed, or freed pages could not be taken")
}

#[cfg(test)]
mod tests {
    use super::super::states::{CHUNK, random_runs};
    use super::*;

    #[test]
    fn a_pass_restores_the_heap() {
        for chunks in [1, 20] {
            let (heap, runs) = random_runs(PageCount(chunks * CHUNK), MOST_RUNS).unwrap();
            let before = heap.snapshot();
            let (clock, mut record) = (Clock::new(), Record::default());
            let mut mix = Mix::new(heap, runs);
            for _ in 0..2 {
                mix.round(&clock, &mut record).unwrap();
                assert_eq!(mix.heap.snapshot(), before);
                record.measure();
            }
            mix.heap.is_valid().unwrap();
            assert_eq!(record.series()[0].ns.len(), 1);
        }
    }
}
