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

/// A policy's view of a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChunkState {
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
}

/// A release that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Released {
    /// Its first page, and their number.
    pub(crate) run: (PageIndex, PageCount),
    /// Pages that were resident.
    pub(crate) pages: usize,
    /// Huge pages that were free and resident, and were partly released.
    pub(crate) split: usize,
}

pub(crate) struct Heap {
    pages: PageAllocator<Bits48>,
    policy: Policy,
    chunks: BTreeMap<usize, ChunkState>,
    /// Rank and index of the chunks with something to release; the next is the last.
    order: BTreeSet<(usize, usize)>,
}

impl Heap {
    pub(crate) fn new(sample: &Snapshot, policy: Policy) -> Result<Heap, CommandError> {
        let pages = allocator_of(sample)?;
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

    /// Releases the policy's choice. `None` if there is nothing to release.
    pub(crate) fn release(&mut self) -> Option<Released> {
        let &(_, index) = self.order.last()?;
        let before = self.chunks[&index];
        let release = self.pages.begin_release(ChunkIndex(index), self.policy.within_chunk())?;
        let (first, count, pages) = (release.first, release.count, release.resident.0);
        self.pages.end_release(release, true);
        let (from, to) = (first.in_chunk::<Bits48>(), first.in_chunk::<Bits48>() + count.0);
        let is_split = |huge: usize| {
            let (low, high) = (huge * HUGE_PAGES, (huge + 1) * HUGE_PAGES);
            let (touched, all) = (from < high && low < to, from <= low && high <= to);
            before.huge[huge].whole && touched && !all
        };
        let split = (0..PER_CHUNK).filter(|&huge| is_split(huge)).count();
        self.look_at(index);
        Some(Released { run: (first, count), pages, split })
    }

    /// Updates the view of a chunk.
    fn look_at(&mut self, index: usize) {
        let state = self.state(index);
        let before = self.chunks.insert(index, state).unwrap_or_default();
        let rank = |state: &ChunkState| (self.policy.rank(state.has_free_huge_page()), index);
        if before.releasable {
            self.order.remove(&rank(&before));
        }
        if state.releasable {
            self.order.insert(rank(&state));
        }
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
        ChunkState { releasable: self.pages.has_releasable(chunk), huge: std::array::from_fn(huge) }
    }
}
