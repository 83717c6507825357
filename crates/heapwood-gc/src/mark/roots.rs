//! What roots are to a marker, alone or one of several. Invariant: what is named here stays readable until the marking ends.

use super::mode::Mode;
use super::queue::Marker;
use super::scan::{PIECE, WORD};
use super::stack::Range as Waiting;
use core::ops::Range;

/// Takes roots, by the addresses of their words.
pub(crate) trait ScanRoots {
    /// Each word holds null, an address outside the heap, or the address of an object.
    fn slots(&mut self, slots: Range<usize>);

    /// Any word may be a pointer.
    fn words(&mut self, words: Range<usize>);
}

impl<M: Mode> ScanRoots for Marker<'_, M> {
    fn slots(&mut self, slots: Range<usize>) {
        self.scan_slots(slots);
    }

    fn words(&mut self, words: Range<usize>) {
        // Others may help with many.
        let range = Waiting {
            next: words.start.next_multiple_of(WORD),
            end: words.end / WORD * WORD,
            shape: 0,
            dense: true,
        };
        if !M::SEVERAL || words.len() <= PIECE * WORD || !self.stacks.ranges.push(range) {
            self.scan_ambiguous(words.start, words.end);
        }
    }
}
