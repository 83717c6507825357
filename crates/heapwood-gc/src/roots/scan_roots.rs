//! What takes roots: a marker. Invariant: what is named to it stays readable until the marking ends.

use crate::state::remembered::RememberedEntry;
use core::ops::Range;

/// Takes roots, by the addresses of their words.
pub(crate) trait ScanRoots {
    /// Each word holds null, an address outside the heap, or the address of an object.
    fn slots(&mut self, slots: Range<usize>);

    /// Any word may be a pointer.
    fn words(&mut self, words: Range<usize>);

    /// Part of a piece of an arena, whose pointers are told by bits.
    fn arena(&mut self, part: Range<usize>);

    /// An entry of the remembered set.
    fn remembered(&mut self, entry: RememberedEntry);

    /// Whether the time for the marking is over.
    fn is_late(&mut self) -> bool;
}
