//! What a mutator keeps of each shape beside its allocation buffer: swept spans that wait to be allocated from, spans that are used
//! up and wait to be handed in, cells that the program freed, and how many spans the next central refill may bring: no more than
//! twice the last, and as many as the shape is expected to use up before the mutator's room is. Elsewhere such a thing is the
//! thread's cache of a size class, whose length follows demand as tcmalloc's do. Invariant: spans here are the mutator's and
//! were swept in this cycle; the owner's thread changes them, or the thread that has stopped it.

#[cfg(doc)]
use crate::alloc::thread_cache::ThreadCache;
use crate::freed::FreedCells;
use crate::spans::lookup::Spans;
use crate::spans::span_list::SpanList;
use core::cell::Cell;
use heapwood_os::region::Zeroed;
use heapwood_pages::{PageCount, PageIndex};

/// The most spans that a central refill brings: with 8 KiB each, a MiB.
pub(crate) const MOST_SPANS: u32 = 128;
/// A visit was worth it if what it brought had room for N objects.
const WORTH_IT: u32 = 64;

/// One shape's.
#[derive(Default)]
pub(crate) struct CachedSpans {
    /// Spans with free cells, to be used next.
    pub(super) spans: Cell<SpanList>,
    /// Spans without.
    pub(super) used: Cell<SpanList>,
    pub(super) freed: Cell<FreedCells>,
    /// How many spans the last central refill might bring, and in which cycle that was.
    batch: Cell<u16>,
    /// How many objects the spans had room for that were opened since.
    room: Cell<u16>,
    batch_in: Cell<u32>,
    /// Bytes of the allocation buffer's span that no object has, as the mutator's account has them.
    held: Cell<u32>,
    /// Pages of the spans that its allocation buffer was given lately: a part of the mutator's demand ([`ThreadCache`]).
    demand: Cell<u16>,
}

// There is one for each shape in each mutator, next to the others that the program uses.
const _: () = assert!(size_of::<CachedSpans>() == 64);

/// What a mutator expects of its shapes until its next central refill: all together use up `room` bytes, each its part of the `demand`.
#[derive(Clone, Copy)]
pub(super) struct Forecast {
    pub(super) room: usize,
    pub(super) demand: PageCount,
}

// SAFETY: all-zero bytes are empty lists and no freed cells; they hold plain numbers.
unsafe impl Zeroed for CachedSpans {}

impl CachedSpans {
    /// How many spans a central refill in this cycle may bring: twice as many as the last, as many at first as the last of the cycle
    /// before, and one if there was none in that.
    pub(super) fn next_batch(&self, cycle: u32) -> u32 {
        let (last, last_in) = (self.batch.get() as u32, self.batch_in.replace(cycle));
        let next = match cycle.wrapping_sub(last_in) {
            0 => last * 2,
            1 => last,
            _ => 1,
        };
        let next = next.clamp(1, MOST_SPANS);
        self.batch.set(next as u16);
        self.room.set(0);
        next
    }

    /// Whether a central refill in this cycle is expected to bring spans with room: the first is, and every one after one that did. Without
    /// the others a program whose survivors lie scattered takes new pages while most of its spans are nearly empty; and
    /// without an end to them one whose spans are nearly full takes the lock for every few objects.
    pub(super) fn is_refill_worthwhile(&self, cycle: u32) -> bool {
        self.batch_in.get() != cycle || self.room.get() as u32 >= WORTH_IT
    }

    /// A span of those that were brought is allocated from next, with room for N objects.
    pub(super) fn note_room(&self, objects: usize) {
        self.room.set(self.room.get().saturating_add(objects as u16));
    }

    /// How many spans of N bytes it is expected to need beside those that it has, when its allocation buffer has N bytes left.
    pub(super) fn expected(&self, forecast: Forecast, left: usize, span_bytes: usize) -> u32 {
        let part = forecast.room * self.demand.get() as usize / forecast.demand.0.max(1);
        let has = left + self.spans.get().len() as usize * span_bytes;
        part.saturating_sub(has).div_ceil(span_bytes) as u32
    }

    /// How many spans the last central refill might bring.
    pub(super) fn last_batch(&self) -> u32 {
        self.batch.get().max(1) as u32
    }

    /// Its allocation buffer got a span of N pages.
    pub(super) fn note_demand(&self, pages: PageCount) {
        self.demand.set(self.demand.get().saturating_add(pages.0 as u16));
    }

    /// What it got long ago counts for less, if it `ages`, but not for nothing. Returns what counts now.
    pub(super) fn age_demand(&self, ages: bool) -> PageCount {
        if ages {
            self.demand.set(self.demand.get().div_ceil(2));
        }
        PageCount(self.demand.get() as usize)
    }

    /// Bytes that the account has for the allocation buffer's span; they are so many from now on.
    pub(super) fn replace_held(&self, bytes: usize) -> usize {
        self.held.replace(bytes as u32) as usize
    }

    /// Its thread leaves, or does something else: the next central refill is the first.
    pub(super) fn forget_refills(&self) {
        self.batch_in.set(0);
    }

    /// Adds a span to those that are used up.
    pub(super) fn add_used(&self, spans: &Spans, page: PageIndex) {
        let mut used = self.used.get();
        used.push(spans, page);
        self.used.set(used);
    }
}
