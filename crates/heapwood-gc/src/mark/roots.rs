//! Roots, as a marker takes them. Invariant: what is named here stays readable until the marking ends.

use super::mode::{Limit, Mode, Team};
use super::queue::Marker;
use super::scan::{SLICE_WORDS, WORD};
use super::stack::Range as Waiting;
use crate::inject::Fault;
use crate::roots::ScanRoots;
use crate::state::remembered::RememberedEntry;
use core::ops::Range;
use heapwood_heap::Address;

impl<M: Mode> Marker<'_, M> {
    /// The slots of an object that is old, if it still exists: the program may have freed it.
    fn remembered_object(&mut self, object: usize) {
        let found = self.space.find(Address::new(object));
        if found.is_some_and(|found| found.base.get() == object) {
            let entry = self.entry(object);
            self.scan(object, entry);
        }
    }

    /// Whether a slot was one of an arena that is no more, where perhaps nobody may read.
    fn is_gone(&self, slot: usize) -> bool {
        self.space.find_arena(Address::new(slot)).is_some_and(|place| !place.is_there)
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
        if !M::Team::SEVERAL || words.len() <= SLICE_WORDS * WORD || !self.stacks.ranges.push(range) {
            self.scan_ambiguous(words.start, words.end);
        }
    }

    fn arena(&mut self, part: Range<usize>) {
        if self.faults.fails(Fault::ArenaWindowLost) {
            return;
        }
        let piece = self.space.known_by(Address::new(part.start)).map_or(part.start, Address::get);
        self.scan_chunk_part(part, piece);
    }

    fn remembered(&mut self, entry: RememberedEntry) {
        // The program may have freed the object meanwhile, or stored a word that is no pointer: so what a slot holds is looked
        // up.
        match entry {
            RememberedEntry::Slot(slot) if self.is_gone(slot) => {}
            RememberedEntry::Words(start, _) if self.is_gone(start) => {}
            RememberedEntry::Slot(slot) => self.scan_ambiguous(slot, slot + WORD),
            RememberedEntry::Words(start, end) => self.scan_ambiguous(start, end),
            RememberedEntry::Object(object) => self.remembered_object(object),
        }
    }

    fn is_late(&mut self) -> bool {
        self.mode.limit_mut().is_late()
    }
}
