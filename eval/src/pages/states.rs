//! Heaps in known states, which are only tables: their pages are never touched. Invariant: a state depends only on the
//! size, so every round and every run has the same pages. States with holes are made from a full heap by freeing pages,
//! chunk by chunk. Their free pages count as resident, as in a heap that was used.

use heapwood_os::SYSTEM;
use heapwood_pages::{
    AllocateError, Bits48, Effort, FreeError, PageAllocator, PageCache, PageCount, PageIndex, PageRun,
    ScavengePolicy, SharedPages,
};
use heapwood_report::CommandError;
use heapwood_workloads::random::Random;

pub(super) type Bare = PageAllocator<Bits48>;
pub(super) type Shared = SharedPages<Bits48>;

/// A run of pages.
pub(super) type Pages = (PageIndex, PageCount);

pub(super) const ONE: PageCount = PageCount(1);

/// The pages of a chunk. A heap is a whole number of chunks.
pub(super) const CHUNK: usize = 512;

/// The tables of a chunk: two bits a page, its summary and its share of those above, and a word of the scavenger's
/// index.
const CHUNK_TABLES: f64 = 2.0 * CHUNK as f64 / 8.0 + 8.0 * 8.0 / 7.0 + 4.0;

/// The size from which a heap's tables are too large to be made for every pass.
pub(super) const LARGE: PageCount = PageCount(1 << 26);

/// The bytes of a heap's tables.
pub(super) fn tables_bytes(size: PageCount) -> u64 {
    ((size.0 / CHUNK) as f64 * CHUNK_TABLES) as u64
}

/// The interface of both kinds of allocators.
pub(super) trait Allocator: Sized {
    fn made_of(pages: Bare) -> Result<Self, CommandError>;
    /// Without a page cache.
    fn take(&mut self, count: PageCount) -> Result<PageRun, AllocateError>;
    fn give(&mut self, first: PageIndex, count: PageCount) -> Result<(), FreeError>;
    fn give_batch(&mut self, runs: &[Pages]) -> Result<(), FreeError>;
    fn flush(&mut self, cache: &mut PageCache);
    /// Makes the tables of unused pages resident, so that no stream pays for page faults.
    fn touch(&mut self) -> Result<(), CommandError>;
    /// Begins a cycle, as a collection does.
    fn new_cycle(&mut self);
}

/// The operations that both have under one name or another: allocating without a cache, freeing, flushing.
macro_rules! forward {
    ($type:ident, $take:ident) => {
        #[inline(always)]
        fn take(&mut self, count: PageCount) -> Result<PageRun, AllocateError> {
            self.$take(count)
        }
        #[inline(always)]
        fn give(&mut self, first: PageIndex, count: PageCount) -> Result<(), FreeError> {
            self.free(first, count)
        }
        #[inline(always)]
        fn give_batch(&mut self, runs: &[Pages]) -> Result<(), FreeError> {
            self.free_batch(runs)
        }
        fn flush(&mut self, cache: &mut PageCache) {
            $type::flush(self, cache);
        }
    };
}

impl Allocator for Bare {
    forward!(PageAllocator, allocate);
    fn made_of(pages: Bare) -> Result<Self, CommandError> {
        Ok(pages)
    }
    fn touch(&mut self) -> Result<(), CommandError> {
        Ok(())
    }
    fn new_cycle(&mut self) {}
}

impl Allocator for Shared {
    forward!(SharedPages, allocate_uncached);
    fn made_of(pages: Bare) -> Result<Self, CommandError> {
        SharedPages::over(&SYSTEM, pages).map_err(CommandError::run)
    }
    fn touch(&mut self) -> Result<(), CommandError> {
        // Growing does not write the index, so a page is allocated, freed and released.
        let first = self.take(ONE).map_err(CommandError::run)?.first;
        self.give(first, ONE).map_err(CommandError::run)?;
        let policy = ScavengePolicy { most: ONE, huge_pages: false };
        match self.scavenge(Effort::Full, policy, |_, _| true) {
            Some((ONE, true)) => Ok(()),
            _ => Err(CommandError::run("a page that was used could not be released")),
        }
    }
    fn new_cycle(&mut self) {
        SharedPages::new_cycle(self);
    }
}

/// A heap of pages that were never used.
pub(super) fn fresh<A: Allocator>(size: PageCount) -> Result<A, CommandError> {
    let mut pages = Bare::new(&SYSTEM, size).map_err(CommandError::run)?;
    pages.grow(PageIndex(0), size).map_err(CommandError::run)?;
    let mut pages = A::made_of(pages)?;
    pages.touch()?;
    Ok(pages)
}

/// Pages never used, above the pages in use. Small heaps are made again for every pass, so that each begins at the
/// first page. On a large heap the passes of a round follow one another.
pub(super) struct Fresh<A> {
    /// One heap, or several small ones.
    pub(super) heaps: Vec<A>,
    size: PageCount,
    /// The first page that was never used.
    next: usize,
}

impl<A: Allocator> Fresh<A> {
    pub(super) fn new(size: PageCount) -> Self {
        Fresh { heaps: Vec::new(), size, next: 0 }
    }

    fn is_large(&self) -> bool {
        self.size >= LARGE
    }

    /// Prepares heaps with at least `pages` unused pages, or with all pages if they have fewer. There is only one large
    /// heap.
    pub(super) fn make(&mut self, heaps: usize, pages: usize) -> Result<(), CommandError> {
        if !self.is_large() || self.size.0 - self.next < pages {
            // Drops the old tables first.
            self.heaps.clear();
            self.next = 0;
        }
        if self.heaps.is_empty() {
            let heaps = if self.is_large() { 1 } else { heaps };
            self.heaps = (0..heaps).map(|_| fresh(self.size)).collect::<Result<_, _>>()?;
        }
        Ok(())
    }

    /// Ends a pass that used the pages below `end`. On a large heap, takes the rest of the chunk, so that the next pass
    /// begins at a chunk.
    pub(super) fn used(&mut self, end: usize, cache: &mut PageCache) -> Result<(), CommandError> {
        if !self.is_large() {
            *cache = PageCache::EMPTY;
            return Ok(());
        }
        for heap in &mut self.heaps {
            heap.flush(cache);
            self.next = loop {
                let page = heap.take(ONE).map_err(CommandError::run)?.first.0;
                if page >= end && page % CHUNK == CHUNK - 1 {
                    break page + 1;
                }
            };
        }
        Ok(())
    }

    /// A heap with all pages in use.
    pub(super) fn into_full(mut self) -> Result<A, CommandError> {
        let left = if self.is_large() { self.size.0 - self.next } else { self.size.0 };
        self.make(1, left)?;
        let mut heap = self.heaps.pop().ok_or_else(|| CommandError::run("no heap was made"))?;
        if left > 0 {
            heap.take(PageCount(left)).map_err(CommandError::run)?;
        }
        Ok(heap)
    }
}

/// The bits of a chunk, set where pages are free.
type Free = [u64; CHUNK / 64];

/// A heap with the holes of `free`, by chunk.
fn with_holes(size: PageCount, mut free: impl FnMut(usize) -> Free) -> Result<Bare, CommandError> {
    let mut pages: Bare = fresh(size)?;
    pages.allocate(size).map_err(CommandError::run)?;
    let mut runs = Vec::with_capacity(CHUNK);
    for chunk in 0..size.0 / CHUNK {
        runs.clear();
        for (word, mut bits) in free(chunk).into_iter().enumerate() {
            let base = chunk * CHUNK + word * 64;
            while bits != 0 {
                let first = bits.trailing_zeros();
                let count = (bits >> first).trailing_ones();
                runs.push((PageIndex(base + first as usize), PageCount(count as usize)));
                bits &= u64::MAX.checked_shl(first + count).unwrap_or(0);
            }
        }
        pages.free_batch(&runs).map_err(CommandError::run)?;
    }
    Ok(pages)
}

/// Every even page is free, and so are the last 64, the only run.
pub(super) fn checkerboard(size: PageCount) -> Result<Shared, CommandError> {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let last = size.0 / CHUNK - 1;
    Shared::made_of(with_holes(size, |chunk| {
        let mut free = [EVEN; CHUNK / 64];
        if chunk == last {
            free[CHUNK / 64 - 1] = u64::MAX;
        }
        free
    })?)
}

/// Each page is free with a probability of 102/1024.
pub(super) fn random_pages(size: PageCount) -> Result<Shared, CommandError> {
    let mut random = Random::new();
    Shared::made_of(with_holes(size, |_| core::array::from_fn(|_| one_in_ten(&mut random)))?)
}

/// Random bits with a probability of 102/1024: the binary digits of that number, from the lowest, select OR or AND with
/// random bits.
fn one_in_ten(random: &mut Random) -> u64 {
    (0..10).fold(
        0,
        |word, bit| {
            if 102 >> bit & 1 == 1 { word | random.next_u64() } else { word & random.next_u64() }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: PageCount = PageCount(8 * CHUNK);

    #[test]
    fn states_have_the_pages_of_their_names() {
        let board = checkerboard(SIZE).unwrap();
        board.is_valid().unwrap();
        assert_eq!(board.stats().free, PageCount(SIZE.0 / 2 + 32));
        assert_eq!(board.allocate_uncached(PageCount(2)).unwrap().first, PageIndex(SIZE.0 - 64));
        assert!(board.allocate_uncached(PageCount(63)).is_err());

        let pages = random_pages(PageCount(200 * CHUNK)).unwrap();
        pages.is_valid().unwrap();
        let share = pages.stats().free.0 as f64 / (200 * CHUNK) as f64;
        assert!((share - 0.1).abs() < 0.01, "{share}");
    }

    #[test]
    fn fresh_heaps_have_no_resident_page() {
        let heap: Shared = fresh(SIZE).unwrap();
        heap.is_valid().unwrap();
        assert_eq!((heap.stats().free, heap.stats().scavenged), (SIZE, SIZE));
    }

    #[test]
    fn a_heap_that_was_used_becomes_full() {
        for size in [SIZE, LARGE] {
            let mut fresh = Fresh::<Bare>::new(size);
            fresh.make(2, 100).unwrap();
            let heap = &mut fresh.heaps[0];
            let run = heap.allocate(PageCount(100)).unwrap();
            assert_eq!((run.first, run.scavenged), (PageIndex(0), run.count));
            heap.free(PageIndex(50), ONE).unwrap();
            fresh.used(100, &mut PageCache::default()).unwrap();
            fresh.make(2, 100).unwrap();
            assert_eq!(fresh.heaps.len(), if size < LARGE { 2 } else { 1 });
            let run = fresh.heaps[0].allocate(PageCount(7)).unwrap();
            assert_eq!(run.first, PageIndex(if size < LARGE { 0 } else { CHUNK }));
            assert_eq!(run.scavenged, run.count, "never used");
            fresh.used(run.first.0 + 7, &mut PageCache::default()).unwrap();
            let full = fresh.into_full().unwrap();
            assert_eq!(full.free_pages(), PageCount(0));
        }
    }
}
