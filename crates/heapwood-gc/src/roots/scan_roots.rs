//! The receiver of roots: a marker. Invariant: the words passed to it stay readable until the marking ends.

use crate::state::remembered::RememberedEntry;
use core::ops::Range;

/// Receives roots, as addresses of their words.
pub(crate) trait ScanRoots {
    /// Slots: each word holds null, an address outside the heap, or the address of an object.
    fn slots(&mut self, slots: Range<usize>);

    /// Ambiguous words: any may be a pointer. Threads that are not stopped may write them meanwhile.
    fn words(&mut self, words: Range<usize>);

    /// The same of stacks and registers.
    fn stack(&mut self, words: Range<usize>);

    /// Part of an arena chunk, whose pointer slots have bits.
    fn arena(&mut self, part: Range<usize>);

    /// An entry of the remembered set.
    fn remembered(&mut self, entry: RememberedEntry);

    /// Whether the time of the marking is over.
    fn is_late(&mut self) -> bool;
}
