//! The decision for or against huge pages, by the cost of a first touch. On a machine of its own a kernel clears a huge
//! page in a quarter of a millisecond; 512 small pages take four times as long. In a virtual machine with free page
//! reporting, the host must find memory for each huge page that was not in use lately; this took 4 to 8 ms, while small
//! pages are mostly still the guest's. A program that grew to 500 MiB spent two fifths of its time on this
//! (docs/results/2026-11/young.tsv). So the heap touches and times one huge page of each piece it grows by. If that takes
//! too long, it uses small pages until it is half as large again. Invariant: the decision affects only speed.

use heapwood_pages::{PAGE_SIZE, PageIndex};

/// The nanoseconds of thread time that a huge page may take: the cost of 512 small ones where these are cheap.
const WORTH: u64 = 1_000_000;
/// The heap grows by at least this much (32 MiB) before the next attempt.
const LEAST_BACKOFF: usize = (32 << 20) / PAGE_SIZE;

/// The backoff after a slow first touch.
#[derive(Debug)]
pub(crate) struct FirstTouch {
    /// No huge page is tried until the heap reaches beyond this page.
    backoff: PageIndex,
}

impl FirstTouch {
    pub(crate) const fn new() -> Self {
        FirstTouch { backoff: PageIndex(0) }
    }

    /// Whether a heap that is to reach up to page `end` gets huge pages; `touch` touches one and returns the
    /// nanoseconds that it took.
    pub(crate) fn is_worth(&mut self, end: PageIndex, touch: impl FnOnce() -> u64) -> bool {
        if end <= self.backoff {
            return false;
        }
        let is_worth = touch() <= WORTH;
        if !is_worth {
            self.backoff = PageIndex(end.0 + (end.0 / 2).max(LEAST_BACKOFF));
        }
        is_worth
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_first_touch_is_slow_it_is_tried_seldom() {
        let step = (4 << 20) / PAGE_SIZE;
        let mut touch = FirstTouch::new();
        let mut tries = Vec::new();
        // From 12 to 600 MiB, at 5 ms each.
        for end in 3..150 {
            let worth = touch.is_worth(PageIndex(end * step), || {
                tries.push(end * 4);
                5_000_000
            });
            assert!(!worth);
        }
        assert_eq!(tries, [12, 48, 84, 128, 196, 296, 448]);
        // Where a touch is fast, the whole heap has huge pages.
        assert!(touch.is_worth(PageIndex(200 * step), || 250_000));
        assert!(touch.is_worth(PageIndex(201 * step), || 250_000));
    }
}
