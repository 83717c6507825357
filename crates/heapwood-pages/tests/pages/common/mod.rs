//! The model of the allocator: a state per page, searched page by page.

pub(crate) mod play;

use heapwood_os::SYSTEM;
use heapwood_pages::{Bits48, Geometry, PageAllocator, PageCount, PageIndex};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Absent,
    Free,
    Used,
}

#[derive(Clone, Debug)]
pub(crate) struct Model(pub(crate) Vec<State>);

impl Model {
    pub(crate) fn new(reservation: usize) -> Self {
        Model(vec![State::Absent; reservation])
    }

    /// The naive first fit.
    pub(crate) fn find(&self, count: usize) -> Option<usize> {
        let mut run = 0;
        for (page, &state) in self.0.iter().enumerate() {
            run = if state == State::Free { run + 1 } else { 0 };
            if run == count {
                return Some(page + 1 - count);
            }
        }
        None
    }

    /// The first free pages that begin at a multiple of their number, a power of two and at most a chunk.
    pub(crate) fn find_aligned(&self, count: usize, log_chunk: u32) -> Option<usize> {
        if !count.is_power_of_two() || count > 1 << log_chunk {
            return None;
        }
        let is_free = |&first: &usize| {
            self.0.get(first..first + count).is_some_and(|p| p.iter().all(|&p| p == State::Free))
        };
        (0..self.0.len()).step_by(count).find(is_free)
    }

    pub(crate) fn set(&mut self, first: usize, count: usize, state: State) {
        self.0[first..first + count].fill(state);
    }

    pub(crate) fn first_not(&self, first: usize, count: usize, state: State) -> Option<usize> {
        (first..first + count).find(|&page| self.0[page] != state)
    }

    pub(crate) fn count(&self, state: State) -> usize {
        self.0.iter().filter(|&&s| s == state).count()
    }
}

/// Checks bits, counts, hint and every summary, and compares the visible state with the model.
pub(crate) fn check<G: Geometry>(pages: &PageAllocator<G>, model: &Model) {
    pages.is_valid().unwrap_or_else(|e| panic!("{e}\n{model:?}"));
    for (page, &state) in model.0.iter().enumerate() {
        assert_eq!(pages.is_grown(PageIndex(page)), state != State::Absent, "page {page}");
        assert_eq!(pages.is_in_use(PageIndex(page)), state == State::Used, "page {page}");
    }
    let free = model.count(State::Free);
    assert_eq!(pages.free_pages(), PageCount(free));
    assert_eq!(pages.grown_pages(), PageCount(free + model.count(State::Used)));
}

/// The visible state of an allocator, to compare before and after an error.
pub(crate) fn seen<G: Geometry>(
    pages: &PageAllocator<G>,
) -> (PageCount, PageCount, PageIndex, Vec<(bool, bool)>) {
    let state = |page| (pages.is_grown(PageIndex(page)), pages.is_in_use(PageIndex(page)));
    let states = (0..pages.reservation().0.min(1 << 14)).map(state).collect();
    (pages.grown_pages(), pages.free_pages(), pages.hint(), states)
}

pub(crate) fn new<G: Geometry>(reservation: usize) -> PageAllocator<G> {
    PageAllocator::new(&SYSTEM, PageCount(reservation)).unwrap()
}

/// An allocator whose whole reservation is free.
pub(crate) fn fresh<G: Geometry>(reservation: usize) -> PageAllocator<G> {
    let mut pages = new(reservation);
    pages.grow(PageIndex(0), PageCount(reservation)).unwrap();
    pages
}

/// The pages of the whole 48-bit address space.
pub(crate) const ALL: usize = 1 << 35;

/// Pages of an entry of each level of `Bits48`, root first: the first is 16 GiB.
pub(crate) const ENTRY: [usize; 5] = [1 << 21, 1 << 18, 1 << 15, 1 << 12, 1 << 9];

/// An allocator in which only the given ranges are free; they may be resident.
pub(crate) fn only_free(reservation: usize, ranges: &[(usize, usize)]) -> PageAllocator<Bits48> {
    let mut pages = fresh::<Bits48>(reservation);
    pages.claim(PageIndex(0), PageCount(reservation));
    for &(first, count) in ranges {
        pages.free(PageIndex(first), PageCount(count)).unwrap();
    }
    pages.is_valid().unwrap();
    pages
}

/// xorshift, so that every run does the same work.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 as u128 * n as u128) >> 64) as usize
    }
}
