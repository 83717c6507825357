//! The roots, as a marker takes them. Invariant: the memory of a root stays readable until the marking ends.

use super::mode::{Limit, Mode, Scope};
use super::queue::Marker;
use super::scan::{SLICE_WORDS, WORD};
use super::stack::Range as Waiting;
use crate::inject::Fault;
use crate::roots::ScanRoots;
use crate::state::remembered::RememberedEntry;
use core::ops::Range;
use heapwood_heap::Address;

impl<M: Mode> Marker<'_, M> {
    /// Scans an old object of the remembered set, if it still exists: the program may have freed it.
    fn remembered_object(&mut self, object: usize) {
        let found = self.space.find(Address::new(object));
        if found.is_some_and(|found| found.base.get() == object) {
            let entry = self.entry(object);
            self.scan(object, entry);
        }
    }

    fn remembered_words(&mut self, start: usize, end: usize) {
        match self.is_tagged() {
            true if self.faults.fails(Fault::RememberedTagIgnored) => {
                (start..end).step_by(WORD).for_each(|at| self.push_word(Self::word(at)));
            }
            true => self.scan_tagged_words(start, end),
            false => self.scan_ambiguous(start, end),
        }
    }

    /// Whether a slot lay in an arena that is gone; its pages may be unreadable.
    fn is_gone(&self, slot: usize) -> bool {
        self.space.arenas().find(Address::new(slot)).is_some_and(|place| !place.is_there)
    }
}

impl<M: Mode> ScanRoots for Marker<'_, M> {
    fn slots(&mut self, slots: Range<usize>) {
        self.scan_slots(slots);
    }

    fn words(&mut self, words: Range<usize>) {
        // A long range waits: other markers can help, and its edges do not pile up. Where the marking may end early, or
        // there is only this moment, it does not.
        let waits = !M::Limit::BOUNDED && !M::Scope::SNAPSHOT && words.len() > SLICE_WORDS * WORD;
        let (next, end) = (words.start.next_multiple_of(WORD), words.end & !(WORD - 1));
        if !waits || !self.stacks.ranges.push(Waiting { next, end, shape: 0, dense: true }) {
            self.scan_ambiguous(words.start, words.end);
        }
    }

    fn stack(&mut self, words: Range<usize>) {
        match self.is_exact() || self.words_that_count().has_ends() {
            // Ranges that wait have lost what they came from.
            true => self.scan_stack(words.start, words.end),
            false => self.words(words),
        }
    }

    fn arena(&mut self, part: Range<usize>) {
        if self.faults.fails(Fault::ArenaWindowLost) {
            return;
        }
        let chunk = self.space.arenas().marked_as(Address::new(part.start)).map_or(part.start, Address::get);
        self.scan_chunk_part(part, chunk);
    }

    fn remembered(&mut self, entry: RememberedEntry) {
        // The program may have freed the object meanwhile, or stored a word that is no pointer: so a slot's word is
        // resolved.
        match entry {
            RememberedEntry::Slot(slot) if self.is_gone(slot) => {}
            RememberedEntry::Words(start, _) if self.is_gone(start) => {}
            RememberedEntry::Slot(slot) => self.remembered_words(slot, slot + WORD),
            RememberedEntry::Words(start, end) => self.remembered_words(start, end),
            RememberedEntry::Object(object) => self.remembered_object(object),
        }
    }

    fn is_late(&mut self) -> bool {
        self.mode.limit_mut().is_late()
    }
}
