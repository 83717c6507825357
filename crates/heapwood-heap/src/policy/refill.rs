//! What a mutator takes at a time: its share of the unused bytes and its credit until the next refill, the spans of a refill, and
//! its part of the sweeping for all.
//!
//! The mutators that refill divide what is left of the budget, and each takes its part at a time, so that the budget is used up by
//! all at about the same time (as tcmalloc divides its cache among threads). A batch of spans is at most twice the last one, and
//! follows the demand that is expected for the shape before the mutator's share is used up, as in tcmalloc's thread caches.
//! Everything is swept when the budget is used up, and a mutator does not take the lock for a few spans (Go's proportional
//! sweep). Invariant: a mutator always gets one span.

use super::tunables::refill::*;
use super::tunables::{share, sweep};
use heapwood_pages::PageCount;

/// What is left of a cycle, for the mutators that divide it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remaining {
    /// Pages of the budget.
    pub(crate) pages: usize,
    /// Mutators, at least one.
    pub(crate) mutators: usize,
    /// A marking beside the program is to come further before more is allocated.
    pub(crate) is_paced: bool,
}

impl Remaining {
    /// What a mutator may take at a time, in pages.
    fn part(self) -> usize {
        self.pages / self.mutators
    }

    /// The pages of spans that a mutator may take from the lists, or make, before its next refill; a few at the end of
    /// the budget, but not where a marking would be late for them.
    pub(crate) fn credit(self) -> u32 {
        let least = if self.is_paced {
            1
        } else {
            (share::LAST_PAGES / self.mutators).clamp(1, share::MOST_LAST_PAGES)
        };
        self.part().max(least).min(share::MOST_NEW_PAGES as usize) as u32
    }

    /// The pages of large objects that a mutator may take before its next refill; none near the end.
    pub(crate) fn large_credit(self) -> PageCount {
        PageCount(self.part().min(share::MOST_LARGE_PAGES))
    }
}

/// The bytes that each of these mutators may cache in a heap of a size.
pub(crate) fn share_of(heap_bytes: usize, mutators: usize) -> usize {
    share::LEAST_BYTES.max(heap_bytes / share::PART_OF_HEAP / mutators)
}

/// The pages to cache behind a large object, when a mutator's share has room for `room`: none if few such objects fit, as
/// the cache would not pay for itself.
pub(crate) fn pages_behind_large(room: PageCount, object: PageCount) -> PageCount {
    if room.0 < share::LARGE_OBJECTS * object.0 { PageCount(0) } else { room }
}

/// The most other shapes that one refill takes spans for.
pub(crate) const MOST_OTHERS: usize = MOST_OTHER_SHAPES;

/// A mutator's expectation until its next refill: all shapes together use up `room` bytes, each its part of the
/// `demand`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forecast {
    pub(crate) room: usize,
    pub(crate) demand: PageCount,
}

impl Forecast {
    /// The spans that a shape with this part of the demand needs besides the `has` bytes that it has.
    pub(crate) fn spans(self, demand: PageCount, has: usize, span_bytes: usize) -> u32 {
        let part = self.room * demand.0 / self.demand.0.max(1);
        part.saturating_sub(has).div_ceil(span_bytes) as u32
    }
}

/// The spans of a shape's batch: twice the last one. The first of a cycle repeats the last of the previous cycle, and is
/// one if that had none. `cycles` is the number of cycles since the last batch.
pub(crate) fn next_batch(last: u32, cycles: u32) -> u32 {
    let next = match cycles {
        0 => last * 2,
        1 => last,
        _ => 1,
    };
    next.clamp(1, MOST_SPANS)
}

/// Whether a refill is likely to find spans with room: the first of a cycle is, and so is each that follows one whose
/// spans had room for enough objects. With the first alone, a program with scattered survivors would take new pages while
/// most of its spans are nearly empty. Without an end, a program with nearly full spans would take the lock every few
/// objects.
pub(crate) fn is_worthwhile(is_first: bool, room: u32) -> bool {
    is_first || room >= WORTHWHILE_OBJECTS
}

/// Whether a shape's spans on the central lists justify a refill. A large heap ignores a few, as long as there are new
/// pages.
pub(crate) fn are_enough(spans: u32, heap: PageCount) -> bool {
    spans as usize >= (heap.0 / PAGES_A_SPAN).clamp(1, MOST_IGNORED_SPANS)
}

/// Whether a mutator's recent demand is so much that all of it is halved.
pub(crate) fn decays(demand: PageCount) -> bool {
    demand > MOST_DEMAND
}

/// Whether a mutator returns a shape's freed cells, at a refill or without one.
pub(crate) fn returns_freed(cells: u32, at_refill: bool) -> bool {
    cells > if at_refill { MOST_FREED_CELLS } else { 2 * MOST_FREED_CELLS }
}

/// The spans that a mutator with `pages` pages of the budget should sweep for all, when `unswept` spans and `left` pages
/// are left.
pub(crate) fn part_of_sweeping(unswept: usize, pages: u32, left: usize) -> u32 {
    let part = (unswept as u128 * pages as u128).div_ceil(left.max(1) as u128);
    part.min(sweep::MOST_SPANS as u128) as u32
}

/// The fewest spans of a mutator's batch: all mutators together leave few unswept, or one each.
pub(crate) fn least_sweep_batch(mutators: usize) -> u32 {
    (sweep::MOST_LEFT_SPANS / mutators).clamp(1, sweep::MOST_LEAST_SPANS) as u32
}
