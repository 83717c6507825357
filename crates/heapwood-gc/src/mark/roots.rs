//! What roots are to a marker, alone or one of several. Invariant: what is named here stays readable until the marking ends.

use super::mode::Mode;
use super::queue::Marker;
use super::scan::{PIECE, WORD};
use super::stack::Range as Waiting;
use crate::state::remembered::Entry;
use core::ops::Range;
use heapwood_heap::Address;

/// Takes roots, by the addresses of their words.
pub(crate) trait ScanRoots {
    /// Each word holds null, an address outside the heap, or the address of an object.
    fn slots(&mut self, slots: Range<usize>);

    /// Any word may be a pointer.
    fn words(&mut self, words: Range<usize>);

    /// What was remembered of old objects.
    fn remembered(&mut self, entry: Entry);

    /// Whether the marking has taken so long that what is left is left.
    fn is_late(&mut self) -> bool;
}

impl<M: Mode> Marker<'_, M> {
    /// The slots of an object that is old, if it still exists: the program may have freed it.
    fn remembered_object(&mut self, object: usize) {
        let found = self.space.find(Address::new(object));
        if found.is_some_and(|found| found.base.get() == object) {
            let entry = self.entry(object);
            self.scan(object, entry);
        }
    }
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

    fn remembered(&mut self, entry: Entry) {
        // The program may have freed the object meanwhile, or stored a word that is no pointer: so what a slot holds is looked
        // up.
        match entry {
            Entry::Slot(slot) => self.scan_ambiguous(slot, slot + WORD),
            Entry::Words(start, end) => self.scan_ambiguous(start, end),
            Entry::Object(object) => self.remembered_object(object),
        }
    }

    fn is_late(&mut self) -> bool {
        self.mode.is_late()
    }
}
