//! The pages that page caches add to a heap: mutators in turn free and allocate runs at constant live size, with or
//! without caches. Invariant: the sequence of sizes, mutators and freed runs does not depend on the allocator, so two
//! heaps differ only by their caches.

use super::heap::CHUNK_PAGES;
use super::live::Live;
use crate::draw::Draw;
use crate::moments::{Pages, pages_of};
use heapwood_pages::{ChunkSnapshot, PAGE_SIZE, PageCache, PageCount, PageIndex, Snapshot};
use heapwood_report::CommandError;
use serde::Serialize;

/// The rounds, each of which allocates as many pages as are in use. The first half only ages the heap.
const ROUNDS: usize = 20;
const OLD: usize = ROUNDS / 2;

/// The pages that a simulated heap may grow by: 16 GiB.
const ROOM: usize = 1 << 21;

/// The percentage of the sample's pages in use.
const LIVE_PERCENT: usize = 90;

/// The effect of N mutators' caches on a heap, compared with none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CacheCost {
    pub(crate) mutators: usize,
    /// Pages in caches, averaged over the ends of the later rounds, like the footprints.
    pub(crate) cached_pages: f64,
    /// Pages that exist up to the highest in use.
    pub(crate) footprint_pages: f64,
    pub(crate) uncached_footprint_pages: f64,
    pub(crate) added_kib: f64,
    pub(crate) added_percent: f64,
    /// The pages that the heap grew by.
    pub(crate) grown_pages: usize,
    pub(crate) uncached_grown_pages: usize,
}

/// The pages a program of the experiment has in use.
pub(crate) fn live_pages(sample: &Snapshot) -> usize {
    sample.grown_pages().0 * LIVE_PERCENT / 100
}

/// For each number of mutators; nothing if the sample has too few pages for a program.
pub(crate) fn simulate(sample: &Snapshot, mutators: &[usize]) -> Result<Vec<CacheCost>, CommandError> {
    if live_pages(sample) == 0 {
        return Ok(Vec::new());
    }
    // Without caches the turns do not matter.
    let without = Turns::new(sample, 0)?.play()?;
    let added = |&mutators: &usize| {
        let with = Turns::new(sample, mutators)?.play()?;
        let added = with.footprint - without.footprint;
        Ok(CacheCost {
            mutators,
            cached_pages: with.cached,
            footprint_pages: with.footprint,
            uncached_footprint_pages: without.footprint,
            added_kib: added * (PAGE_SIZE / 1024) as f64,
            added_percent: added / without.footprint * 100.0,
            grown_pages: with.grown,
            uncached_grown_pages: without.grown,
        })
    };
    mutators.iter().map(added).collect()
}

/// Averages over the later rounds, and the total growth of the heap.
struct Outcome {
    footprint: f64,
    cached: f64,
    grown: usize,
}

/// Mutators that share a heap.
struct Turns {
    pages: Pages,
    /// One for each mutator, or none.
    caches: Vec<PageCache>,
    live: Live,
    draw: Draw,
    most: usize,
    /// The existing chunks in order, with their numbers of pages.
    chunks: Vec<(usize, usize)>,
    grown: usize,
}

impl Turns {
    fn new(sample: &Snapshot, mutators: usize) -> Result<Turns, CommandError> {
        let mut draw = Draw::new();
        let live = Live::new(sample, || draw.mixed_run());
        let exist = |words: (&u64, &u64)| (!(words.0 & words.1)).count_ones() as usize;
        let chunk =
            |c: &ChunkSnapshot| (c.chunk.0, c.in_use.iter().zip(&c.scavenged).map(exist).sum::<usize>());
        let mut chunks: Vec<(usize, usize)> = sample.chunks.iter().map(chunk).collect();
        chunks.sort_unstable();
        Ok(Turns {
            pages: pages_of(&with_room(sample))?,
            caches: vec![PageCache::EMPTY; mutators],
            live,
            draw,
            most: live_pages(sample),
            chunks,
            grown: 0,
        })
    }

    fn play(mut self) -> Result<Outcome, CommandError> {
        let (mut footprint, mut cached) = (0, 0);
        for round in 0..ROUNDS {
            let mut allocated = 0;
            while allocated < self.most {
                allocated += self.turn()?;
            }
            if round >= OLD {
                footprint += self.footprint();
                cached += self.caches.iter().map(|cache| cache.pages().0).sum::<usize>();
            }
        }
        let average = |sum: usize| sum as f64 / (ROUNDS - OLD) as f64;
        Ok(Outcome { footprint: average(footprint), cached: average(cached), grown: self.grown })
    }

    /// Frees runs until a new one fits below the maximum, and allocates it. Returns its pages.
    fn turn(&mut self) -> Result<usize, CommandError> {
        let size = self.draw.mixed_run().min(self.most);
        // Drawn without caches as well, so that all other draws are equal.
        let whose = self.draw.below(self.caches.len().max(1));
        while self.live.pages() + size > self.most {
            let Some((first, count)) = self.live.take(&mut self.draw) else { break };
            self.pages.free(first, count).map_err(CommandError::run)?;
        }
        let first = match self.allocate(whose, PageCount(size)) {
            Some(first) => first,
            None => {
                self.grow()?;
                let found = self.allocate(whose, PageCount(size));
                found.ok_or_else(|| CommandError::run("a heap that grew has no room for a run"))?
            }
        };
        self.live.add(first, PageCount(size));
        Ok(size)
    }

    fn allocate(&mut self, whose: usize, count: PageCount) -> Option<PageIndex> {
        let run = match self.caches.get_mut(whose) {
            Some(cache) => self.pages.allocate(cache, count),
            None => self.pages.allocate_uncached(count),
        };
        run.ok().map(|run| run.first)
    }

    /// Adds a chunk above the highest.
    fn grow(&mut self) -> Result<(), CommandError> {
        let next = self.chunks.last().map_or(0, |(index, _)| index + 1);
        self.pages.grow(PageIndex(next * CHUNK_PAGES), PageCount(CHUNK_PAGES)).map_err(CommandError::run)?;
        self.chunks.push((next, CHUNK_PAGES));
        self.grown += CHUNK_PAGES;
        Ok(())
    }

    /// The pages that exist up to the highest in use. An incomplete chunk counts as if its pages came first.
    fn footprint(&self) -> usize {
        let end = self.live.end().0;
        let below = |&(index, pages): &(usize, usize)| pages.min(end.saturating_sub(index * CHUNK_PAGES));
        self.chunks.iter().map(below).sum()
    }
}

/// The sample in an address range with room to grow.
fn with_room(sample: &Snapshot) -> Snapshot {
    let end = sample.chunks.iter().map(|c| (c.chunk.0 + 1) * CHUNK_PAGES).max().unwrap_or(0);
    Snapshot { reservation: PageCount(sample.reservation.0.max(end + ROOM).min(1 << 35)), ..sample.clone() }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{chunk, fragmented, sample};
    use super::*;

    #[test]
    fn many_caches_hold_more_than_few() {
        let sample = sample((0..20).map(|k| chunk(k, &[(0, 400)])).collect());
        let added = simulate(&sample, &[1, 16, 64]).unwrap();
        assert_eq!(simulate(&sample, &[1, 16, 64]).unwrap(), added);
        assert_eq!(simulate(&sample, &[16]).unwrap(), added[1..2]);
        assert!(added[0].cached_pages <= 64.0 && added[0].cached_pages < added[1].cached_pages);
        assert!(added[1].cached_pages < added[2].cached_pages && added[2].cached_pages <= 64.0 * 64.0);
        for row in &added {
            let live = live_pages(&sample) as f64;
            assert!(row.uncached_footprint_pages >= live - 64.0, "{row:?}");
            let difference = row.footprint_pages - row.uncached_footprint_pages;
            assert_eq!(row.added_kib, difference * 8.0);
            assert!((row.added_percent - difference / row.uncached_footprint_pages * 100.0).abs() < 1e-9);
        }
        // 64 caches of a 20-chunk heap do not fit into the tenth that is free.
        assert!(added[2].grown_pages > 0 && added[2].added_kib > 0.0, "{added:?}");
    }

    #[test]
    fn the_live_size_is_a_fixed_share_of_the_sample() {
        for sample in [fragmented(), sample(vec![chunk(3, &[])]), sample(vec![chunk(0, &[(0, 512)])])] {
            let mut turns = Turns::new(&sample, 3).unwrap();
            for _ in 0..2000 {
                turns.turn().unwrap();
            }
            let (live, most) = (turns.live.pages(), live_pages(&sample));
            assert!(live <= most && live + 128 > most, "{live} of {most}");
            let in_use = |pages: &Pages| pages.stats().grown.0 - pages.stats().free.0;
            let cached: usize = turns.caches.iter().map(|cache| cache.pages().0).sum();
            assert_eq!(in_use(&turns.pages), live + cached);
            assert!(turns.footprint() >= live);
        }
    }

    #[test]
    fn a_sample_without_pages_has_no_result() {
        assert_eq!(simulate(&sample(vec![]), &[1]).unwrap(), []);
    }
}
