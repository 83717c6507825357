//! Memory that verify mode asks the kernel about before a collection reads it. Invariant: where the kernel tells nobody, all can be read.

use core::ops::Range;
use heapwood_os::{LEAST_KERNEL_PAGE, Peek};

/// Asks, and remembers the page that was asked about last.
#[derive(Default)]
pub(super) struct Readable {
    peek: Peek,
    page: Option<usize>,
}

impl Readable {
    /// The first address of a range that cannot be read.
    pub(super) fn first_not(&mut self, range: Range<usize>) -> Option<usize> {
        let mut at = range.start;
        while at < range.end {
            let page = at / LEAST_KERNEL_PAGE;
            if self.page != Some(page) {
                if self.peek.read(at, &mut [0]) == Some(0) {
                    return Some(at);
                }
                self.page = Some(page);
            }
            at = (page + 1).saturating_mul(LEAST_KERNEL_PAGE);
        }
        None
    }
}
