//! The spans of a refill. A batch is at most twice the last one, and follows the demand that is expected for the shape
//! before the mutator's share is used up, as in tcmalloc's thread caches. Invariant: a batch has at least one span.

use super::tunables::refill::*;
use heapwood_pages::PageCount;

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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn batches_double_within_a_cycle() {
        // The last batch, cycles since, the next batch.
        let table = [
            (0, 0, 1),
            (1, 0, 2),
            (64, 0, 128),
            (128, 0, 256),
            (256, 0, 256),
            (16, 1, 16),
            (0, 1, 1),
            (64, 2, 1),
            (64, u32::MAX, 1),
        ];
        for (last, cycles, wanted) in table {
            assert_eq!(next_batch(last, cycles), wanted, "{last} spans, {cycles} cycles ago");
        }
    }

    #[test]
    fn a_shape_gets_its_part_of_the_room_less_what_it_has() {
        // Room, the demand of all, the shape's demand, what it has, spans of 8 KiB.
        let table = [
            (0, 10, 10, 0, 0),
            (80 << 10, 10, 10, 0, 10),
            (80 << 10, 10, 5, 0, 5),
            (80 << 10, 10, 5, 16 << 10, 3),
            (80 << 10, 10, 5, 15 << 10, 4),
            (80 << 10, 10, 1, 16 << 10, 0),
            (80 << 10, 0, 0, 0, 0),
        ];
        for (room, all, demand, has, wanted) in table {
            let forecast = Forecast { room, demand: PageCount(all) };
            assert_eq!(forecast.spans(PageCount(demand), has, 8 << 10), wanted, "{forecast:?}");
        }
    }

    #[test]
    fn few_spans_of_a_large_heap_are_ignored() {
        // Spans, pages of the heap.
        let table = [
            (0, 0, false),
            (1, 0, true),
            (1, 1023, true),
            (1, 1024, false),
            (2, 1024, true),
            (15, 1 << 20, false),
            (16, 1 << 20, true),
        ];
        for (spans, pages, wanted) in table {
            assert_eq!(are_enough(spans, PageCount(pages)), wanted, "{spans} spans, {pages} pages");
        }
    }

    #[test]
    fn thresholds_are_as_the_table_of_tunables_says() {
        assert_eq!(
            [is_worthwhile(true, 0), is_worthwhile(false, 63), is_worthwhile(false, 64)],
            [true, false, true]
        );
        assert_eq!([decays(PageCount(512)), decays(PageCount(513))], [false, true]);
        assert_eq!([returns_freed(64, true), returns_freed(65, true)], [false, true]);
        assert_eq!([returns_freed(128, false), returns_freed(129, false)], [false, true]);
    }
}
