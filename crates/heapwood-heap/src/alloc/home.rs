//! What a mutator keeps of each shape beside its bump: swept spans that wait to be allocated from, spans that are used
//! up and wait to be handed in, cells that the program freed, and how many spans the next visit may bring. Elsewhere such
//! a thing is the thread's cache of a size class. Invariant: spans here are the mutator's and were swept in this cycle; the
//! owner's thread changes them, or whoever has stopped it.

use crate::freed::FreedCells;
use crate::spans::lookup::Spans;
use crate::spans::span_list::SpanList;
use core::cell::Cell;
use heapwood_os::region::Zeroed;
use heapwood_pages::PageIndex;

/// The most spans that a visit brings: with 8 KiB each, a MiB.
pub(crate) const MOST_SPANS: u32 = 128;
/// A visit was worth it if what it brought had room for so many objects.
const WORTH_IT: u32 = 64;

/// One shape's.
#[derive(Default)]
pub(crate) struct Home {
    /// Spans with free cells, to be used next.
    pub(super) spans: Cell<SpanList>,
    /// Spans without.
    pub(super) used: Cell<SpanList>,
    pub(super) freed: Cell<FreedCells>,
    /// How many spans the last visit might bring, and in which cycle that was.
    batch: Cell<u32>,
    batch_in: Cell<u32>,
    /// How many objects the spans had room for that were opened since.
    room: Cell<u32>,
}

// SAFETY: all-zero bytes are empty lists and no freed cells; they hold plain numbers.
unsafe impl Zeroed for Home {}

impl Home {
    /// How many spans a visit in this cycle may bring: twice as many as the last, as many at first as the last of the cycle
    /// before, and one if there was none in that.
    pub(super) fn next_batch(&self, cycle: u32) -> u32 {
        let (last, last_in) = (self.batch.get(), self.batch_in.replace(cycle));
        let next = match cycle.wrapping_sub(last_in) {
            0 => last * 2,
            1 => last,
            _ => 1,
        };
        self.batch.set(next.clamp(1, MOST_SPANS));
        self.room.set(0);
        self.batch.get()
    }

    /// Whether a visit in this cycle is expected to bring spans with room: the first is, and every one after one that did. Without
    /// the others a program whose survivors lie scattered takes new pages while most of its spans are nearly empty; and
    /// without an end to them one whose spans are nearly full takes the lock for every few objects.
    pub(super) fn is_worth_a_visit(&self, cycle: u32) -> bool {
        self.batch_in.get() != cycle || self.room.get() >= WORTH_IT
    }

    /// A span of those that were brought is allocated from next, with room for so many objects.
    pub(super) fn note_room(&self, objects: usize) {
        self.room.set(self.room.get().saturating_add(objects as u32));
    }

    /// Its thread leaves, or does something else: the next visit is the first.
    pub(super) fn forget_visits(&self) {
        self.batch_in.set(0);
    }

    /// Adds a span to those that are used up.
    pub(super) fn add_used(&self, spans: &Spans, page: PageIndex) {
        let mut used = self.used.get();
        used.push(spans, page);
        self.used.set(used);
    }
}
