//! Whether huge pages are worth their first touch. Where the machine is the kernel's own it clears one in a quarter of a millisecond,
//! and 512 small ones take four times as long. In a virtual machine that tells its host which memory is free (free page
//! reporting) the host must find memory for each huge page that was not in use lately, which was seen to take 4 to 8 ms,
//! while small ones are mostly such as the guest has still: a program that grew to 500 MiB spent two fifths of its time so
//! (docs/results/young.md). So of a chunk that the heap grows by one huge page is touched and timed, and where that takes too
//! long it does without them until it is half as large again. Invariant: what is decided here is a matter of speed only.

use heapwood_pages::{PAGE_SIZE, PageIndex};

/// A huge page may take N nanoseconds of its thread: what 512 small ones take where those are cheap.
const WORTH: u64 = 1_000_000;
/// A heap grows by so much at least (32 MiB) before the next is tried.
const LEAST_REST: usize = (32 << 20) / PAGE_SIZE;

/// What is known of first touches.
#[derive(Debug)]
pub(crate) struct FirstTouch {
    /// They took too long: no huge page is tried until the heap reaches beyond this page.
    rest: PageIndex,
}

impl FirstTouch {
    pub(crate) const fn new() -> Self {
        FirstTouch { rest: PageIndex(0) }
    }

    /// Whether a heap that is to reach up to this page gets huge pages; `touch` touches one and says how many nanoseconds that
    /// took.
    pub(crate) fn is_worth(&mut self, end: PageIndex, touch: impl FnOnce() -> u64) -> bool {
        if end <= self.rest {
            return false;
        }
        let is_worth = touch() <= WORTH;
        if !is_worth {
            self.rest = PageIndex(end.0 + (end.0 / 2).max(LEAST_REST));
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
        // From 12 to 600 MiB, while it takes 5 ms.
        for end in 3..150 {
            let worth = touch.is_worth(PageIndex(end * step), || {
                tries.push(end * 4);
                5_000_000
            });
            assert!(!worth);
        }
        assert_eq!(tries, [12, 48, 84, 128, 196, 296, 448]);
        // Where it is fast all of the heap has them.
        assert!(touch.is_worth(PageIndex(200 * step), || 250_000));
        assert!(touch.is_worth(PageIndex(201 * step), || 250_000));
    }
}
