//! A mutator's part of the sweeping for all: everything is swept when the budget is used up, and a mutator does not take
//! the lock for a few spans (Go's proportional sweep). Invariant: no batch exceeds the most.

use super::tunables::sweep::*;

/// The spans that a mutator with `pages` pages of the budget should sweep for all, when `unswept` spans and `left` pages
/// are left.
pub(crate) fn part(unswept: usize, pages: u32, left: usize) -> u32 {
    let part = (unswept as u128 * pages as u128).div_ceil(left.max(1) as u128);
    part.min(MOST_SPANS as u128) as u32
}

/// The fewest spans of a mutator's batch: all mutators together leave few unswept, or one each.
pub(crate) fn least_batch(mutators: usize) -> u32 {
    (MOST_LEFT_SPANS / mutators).clamp(1, MOST_LEAST_SPANS) as u32
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_part_of_the_sweeping_is_that_of_the_budget() {
        // Unswept spans, pages taken, pages left, spans to sweep.
        let table = [
            (0, 10, 100, 0),
            (100, 0, 100, 0),
            (100, 10, 100, 10),
            (100, 1, 1_000, 1),
            (1_000, 512, 512, 512),
            (1_000, 1, 0, 512),
            (usize::MAX, u32::MAX, 1, 512),
        ];
        for (unswept, pages, left, wanted) in table {
            assert_eq!(part(unswept, pages, left), wanted, "{unswept} spans, {pages} of {left} pages");
        }
    }

    #[test]
    fn the_least_batch_shrinks_with_the_number_of_mutators() {
        for (mutators, wanted) in [(1, 32), (2, 32), (4, 16), (64, 1), (1_000, 1)] {
            assert_eq!(least_batch(mutators), wanted, "{mutators} mutators");
        }
    }
}
