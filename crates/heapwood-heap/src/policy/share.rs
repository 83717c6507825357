//! A mutator's share of the unused bytes, and its credit until the next refill. The mutators that refill divide what is
//! left of the budget, and each takes its part at a time, so that the budget is used up by all at about the same time (as
//! tcmalloc divides its cache among threads). Invariant: a mutator always gets one span.

use super::tunables::share::*;
use heapwood_pages::PageCount;

/// What is left of a cycle, for the mutators that divide it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remaining {
    /// Pages of the budget.
    pub(crate) pages: usize,
    /// Mutators, at least one.
    pub(crate) mutators: usize,
}

impl Remaining {
    /// What a mutator may take at a time, in pages.
    fn part(self) -> usize {
        self.pages / self.mutators
    }

    /// The pages of spans that a mutator may take from the lists, or make, before its next refill; a few at the end of
    /// the budget.
    pub(crate) fn credit(self) -> u32 {
        let least = (LAST_PAGES / self.mutators).clamp(1, MOST_LAST_PAGES);
        self.part().max(least).min(MOST_NEW_PAGES as usize) as u32
    }

    /// The pages of large objects that a mutator may take before its next refill; none near the end.
    pub(crate) fn large_credit(self) -> PageCount {
        PageCount(self.part().min(MOST_LARGE_PAGES))
    }
}

/// The bytes that each of these mutators may cache in a heap of a size.
pub(crate) fn share(heap_bytes: usize, mutators: usize) -> usize {
    LEAST_BYTES.max(heap_bytes / PART_OF_HEAP / mutators)
}

/// Whether cached pages leave little room for spans in a mutator's share, which is in bytes.
pub(crate) fn are_crowding(pages: PageCount, share: usize) -> bool {
    pages.bytes() > share / CROWDING_PART
}

/// The pages to cache behind a large object, when a mutator's share has room for `room`: none if few such objects fit, as
/// the cache would not pay for itself.
pub(crate) fn pages_behind_large(room: PageCount, object: PageCount) -> PageCount {
    if room.0 < LARGE_OBJECTS * object.0 { PageCount(0) } else { room }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn credit_is_a_part_with_bounds_at_both_ends() {
        // Pages left, mutators, credit in pages, credit in pages of large objects.
        let table = [
            (100_000, 1, 512, 512),
            (500, 1, 500, 500),
            (1_000, 4, 250, 250),
            (40, 1, 40, 40),
            (20, 1, 32, 20),
            (80, 2, 40, 40),
            (0, 1, 32, 0),
            (0, 4, 32, 0),
            (0, 16, 8, 0),
            (0, 1_000, 1, 0),
        ];
        for (pages, mutators, credit, large) in table {
            let remaining = Remaining { pages, mutators };
            assert_eq!((remaining.credit(), remaining.large_credit().0), (credit, large), "{remaining:?}");
        }
    }

    #[test]
    fn a_share_is_a_part_of_the_heap_but_not_less_than_the_least() {
        const MIB: usize = 1 << 20;
        let table = [
            (0, 1, MIB / 4),
            (4 * MIB, 1, MIB / 4),
            (100 * MIB, 1, 5 * MIB),
            (100 * MIB, 5, MIB),
            (100 * MIB, 99, MIB / 4),
        ];
        for (bytes, mutators, wanted) in table {
            assert_eq!(share(bytes, mutators), wanted, "{bytes} bytes, {mutators} mutators");
        }
    }

    #[test]
    fn pages_crowd_out_spans_if_they_are_more_than_half_of_the_share() {
        let (half, share) = (PageCount(16), PageCount(32).bytes());
        assert_eq!(
            [are_crowding(half, share), are_crowding(PageCount(17), share), are_crowding(PageCount(0), 0)],
            [false, true, false]
        );
    }

    #[test]
    fn pages_are_cached_where_four_objects_fit() {
        for (room, object, wanted) in [(0, 5, 0), (19, 5, 0), (20, 5, 20), (100, 5, 100)] {
            assert_eq!(pages_behind_large(PageCount(room), PageCount(object)), PageCount(wanted));
        }
    }
}
