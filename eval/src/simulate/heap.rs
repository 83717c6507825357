//! The heap of a simulation: the product's page allocator, made from a sample, and the policies' view of each chunk.
//! Nothing is mapped and nothing is really released. Invariant: between two calls the order has the chunks with pages
//! to release, each with the rank of its pages.

use super::policies::Policy;
use crate::moments::allocator_of;
use heapwood_pages::scavenge::HUGE_PAGES;
use heapwood_pages::{Bits48, ChunkIndex, Geometry, PageAllocator, PageCount, PageIndex, Snapshot};
use heapwood_report::CommandError;
use std::collections::{BTreeMap, BTreeSet};

/// The pages of a chunk.
pub(crate) const CHUNK_PAGES: usize = 1 << Bits48::LOG_CHUNK_PAGES;

/// The huge pages of a chunk.
const PER_CHUNK: usize = CHUNK_PAGES / HUGE_PAGES;

/// The pages that a simulated heap may grow by: 16 GiB.
const ROOM: usize = 1 << 21;

/// A policy's view of a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChunkState {
    in_use: usize,
    releasable: bool,
    huge: [HugePage; PER_CHUNK],
}

/// One huge page of a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct HugePage {
    /// All of it is free, and some is resident.
    free: bool,
    /// All of it is free and resident.
    whole: bool,
}

impl ChunkState {
    pub(crate) fn has_free_huge_page(&self) -> bool {
        self.huge.iter().any(|huge| huge.free)
    }

    /// Pages that are in use or do not exist.
    pub(crate) fn in_use(&self) -> usize {
        self.in_use
    }
}

struct Chunk {
    state: ChunkState,
    /// Pages that were released here and not allocated since.
    released: [bool; CHUNK_PAGES],
}

/// A release that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Released {
    pub(crate) first: PageIndex,
    pub(crate) count: PageCount,
    /// Pages that were resident.
    pub(crate) pages: usize,
    /// Huge pages that were free and resident, and were partly released.
    pub(crate) split: usize,
}

pub(crate) struct Heap {
    pages: PageAllocator<Bits48>,
    policy: Policy,
    chunks: BTreeMap<usize, Chunk>,
    /// Rank and index of the chunks with something to release; the next is the last.
    order: BTreeSet<(usize, usize)>,
}

impl Heap {
    pub(crate) fn new(sample: &Snapshot, policy: Policy) -> Result<Heap, CommandError> {
        let pages = allocator_of(&with_room(sample))?;
        let mut heap = Heap { pages, policy, chunks: BTreeMap::new(), order: BTreeSet::new() };
        for chunk in &sample.chunks {
            heap.look_at(chunk.chunk.0);
        }
        Ok(heap)
    }

    /// Free resident pages.
    pub(crate) fn releasable(&self) -> usize {
        self.pages.free_pages().0 - self.pages.scavenged_pages().0
    }

    /// Resident pages, free or in use.
    pub(crate) fn backed(&self) -> usize {
        self.pages.grown_pages().0 - self.pages.scavenged_pages().0
    }

    /// Releases the policy's choice. `None` if there is nothing to release.
    pub(crate) fn release(&mut self) -> Option<Released> {
        let &(_, index) = self.order.last()?;
        let before = self.chunks[&index].state;
        let release = self.pages.begin_release(ChunkIndex(index), self.policy.within_chunk())?;
        let (first, count, pages) = (release.first, release.count, release.resident.0);
        self.pages.end_release(release, true);
        let (from, to) = (first.in_chunk::<Bits48>(), first.in_chunk::<Bits48>() + count.0);
        if let Some(chunk) = self.chunks.get_mut(&index) {
            chunk.released[from..to].fill(true);
        }
        let is_split = |huge: usize| {
            let (low, high) = (huge * HUGE_PAGES, (huge + 1) * HUGE_PAGES);
            let (touched, all) = (from < high && low < to, from <= low && high <= to);
            before.huge[huge].whole && touched && !all
        };
        let split = (0..PER_CHUNK).filter(|&huge| is_split(huge)).count();
        self.look_at(index);
        Some(Released { first, count, pages, split })
    }

    /// Takes the first run of `count` pages, at most a chunk. The heap grows if there is none. Returns the first page,
    /// and the number of pages that had been released here.
    pub(crate) fn allocate(&mut self, count: PageCount) -> Result<(PageIndex, usize), CommandError> {
        let run = match self.pages.allocate(count) {
            Ok(run) => run,
            Err(_) => {
                self.grow()?;
                self.pages.allocate(count).map_err(CommandError::run)?
            }
        };
        let mut refaults = 0;
        for page in run.first.0..run.first.0 + count.0 {
            let chunk = self.chunks.get_mut(&(page / CHUNK_PAGES));
            refaults += chunk.is_some_and(|c| std::mem::take(&mut c.released[page % CHUNK_PAGES])) as usize;
        }
        self.look_at_all(run.first, count);
        Ok((run.first, refaults))
    }

    pub(crate) fn free(&mut self, first: PageIndex, count: PageCount) -> Result<(), CommandError> {
        self.pages.free(first, count).map_err(CommandError::run)?;
        self.look_at_all(first, count);
        Ok(())
    }

    /// Adds a chunk above the highest.
    fn grow(&mut self) -> Result<(), CommandError> {
        let next = self.chunks.last_key_value().map_or(0, |(index, _)| index + 1);
        let first = ChunkIndex(next).first_page::<Bits48>();
        self.pages.grow(first, PageCount(CHUNK_PAGES)).map_err(CommandError::run)?;
        self.look_at(next);
        Ok(())
    }

    fn look_at_all(&mut self, first: PageIndex, count: PageCount) {
        for index in first.0 / CHUNK_PAGES..(first.0 + count.0 - 1) / CHUNK_PAGES + 1 {
            self.look_at(index);
        }
    }

    /// Updates the view of a chunk.
    fn look_at(&mut self, index: usize) {
        let state = self.state(index);
        let chunk = self.chunks.entry(index);
        let chunk = chunk.or_insert(Chunk { state: ChunkState::default(), released: [false; CHUNK_PAGES] });
        let rank = |state: &ChunkState| (self.policy.rank(state.has_free_huge_page(), state.in_use()), index);
        if chunk.state.releasable {
            self.order.remove(&rank(&chunk.state));
        }
        if state.releasable {
            self.order.insert(rank(&state));
        }
        chunk.state = state;
    }

    fn state(&self, index: usize) -> ChunkState {
        let chunk = ChunkIndex(index);
        let first = chunk.first_page::<Bits48>().0;
        let huge = |k: usize| {
            let pages = first + k * HUGE_PAGES..first + (k + 1) * HUGE_PAGES;
            let is_free =
                |page: usize| self.pages.is_grown(PageIndex(page)) && !self.pages.is_in_use(PageIndex(page));
            if !pages.clone().all(is_free) {
                return HugePage::default();
            }
            let backed = pages.filter(|&page| !self.pages.is_scavenged(PageIndex(page))).count();
            HugePage { free: backed > 0, whole: backed == HUGE_PAGES }
        };
        ChunkState {
            in_use: self.pages.in_use_in(chunk).0,
            releasable: self.pages.has_releasable(chunk),
            huge: std::array::from_fn(huge),
        }
    }
}

/// The sample in an address range with room to grow.
pub(crate) fn with_room(sample: &Snapshot) -> Snapshot {
    let end = sample.chunks.iter().map(|c| (c.chunk.0 + 1) * CHUNK_PAGES).max().unwrap_or(0);
    Snapshot { reservation: PageCount(sample.reservation.0.max(end + ROOM).min(1 << 35)), ..sample.clone() }
}
