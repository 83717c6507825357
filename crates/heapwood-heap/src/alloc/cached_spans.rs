//! The cached spans of one shape in a mutator: swept spans to allocate from next, used-up spans to return, cells that
//! the program freed, and the batch size of the next central refill. That size is at most twice the last one, and
//! follows the demand expected for the shape before the mutator's share is used up, as in tcmalloc's thread caches.
//! Invariant: these spans are the mutator's and were swept in this cycle. Only the mutator's thread changes them, or
//! the thread that has stopped it.

#[cfg(doc)]
use crate::alloc::thread_cache::ThreadCache;
use crate::freed::FreedCells;
use crate::spans::lookup::Spans;
use crate::spans::span_list::SpanList;
use core::cell::Cell;
use heapwood_os::memory::region::Zeroed;
use heapwood_pages::{PageCount, PageIndex};

/// The most spans of one refill: 1 MiB with 8 KiB each.
pub(crate) const MOST_SPANS: u32 = 128;
/// A refill was worthwhile if its spans had room for this many objects.
const WORTH_IT: u32 = 64;

/// One shape's cached spans.
#[derive(Default)]
pub(crate) struct CachedSpans {
    /// Spans with free cells, to be used next.
    pub(super) spans: Cell<SpanList>,
    /// Spans without free cells.
    pub(super) used: Cell<SpanList>,
    pub(super) freed: Cell<FreedCells>,
    /// The batch size of the last refill, and the cycle of that refill.
    batch: Cell<u16>,
    /// The objects that its spans had room for, of those opened since.
    room: Cell<u16>,
    batch_in: Cell<u32>,
    /// Bytes in the buffer's span that hold no object, as the mutator's account has them.
    held: Cell<u32>,
    /// Pages of the spans that the buffer got recently: a part of the mutator's demand ([`ThreadCache`]).
    demand: Cell<u16>,
}

// Each mutator has one for each shape. A cache line keeps the shapes in use compact.
const _: () = assert!(size_of::<CachedSpans>() == 64);

/// A mutator's expectation until its next refill: all shapes together use up `room` bytes, each its part of the
/// `demand`.
#[derive(Clone, Copy)]
pub(super) struct Forecast {
    pub(super) room: usize,
    pub(super) demand: PageCount,
}

// SAFETY: all-zero bytes are empty lists and no freed cells; they hold plain numbers.
unsafe impl Zeroed for CachedSpans {}

impl CachedSpans {
    /// The batch size of a refill in this cycle: twice the last one. The first of a cycle repeats the last of the
    /// previous cycle, and is one if that had none.
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

    /// Whether a refill in this cycle is likely to find spans with room: the first is, and so is each that follows one
    /// which did. With the first alone, a program with scattered survivors would take new pages while most of its spans
    /// are nearly empty. Without an end, a program with nearly full spans would take the lock every few objects.
    pub(super) fn is_refill_worthwhile(&self, cycle: u32) -> bool {
        self.batch_in.get() != cycle || self.room.get() as u32 >= WORTH_IT
    }

    /// Adds the room, in objects, of a span from the last refill that the buffer opens.
    pub(super) fn note_room(&self, objects: usize) {
        self.room.set(self.room.get().saturating_add(objects as u16));
    }

    /// The spans that the shape is expected to need, besides its cached ones and `left` bytes in its buffer.
    pub(super) fn expected(&self, forecast: Forecast, left: usize, span_bytes: usize) -> u32 {
        let part = forecast.room * self.demand.get() as usize / forecast.demand.0.max(1);
        let has = left + self.spans.get().len() as usize * span_bytes;
        part.saturating_sub(has).div_ceil(span_bytes) as u32
    }

    /// The batch size of the last refill.
    pub(super) fn last_batch(&self) -> u32 {
        self.batch.get().max(1) as u32
    }

    /// Adds a span of `pages` pages that its buffer got to the demand.
    pub(super) fn note_demand(&self, pages: PageCount) {
        self.demand.set(self.demand.get().saturating_add(pages.0 as u16));
    }

    /// Halves the demand if it `ages`, but never to zero; returns the demand.
    pub(super) fn age_demand(&self, ages: bool) -> PageCount {
        if ages {
            self.demand.set(self.demand.get().div_ceil(2));
        }
        PageCount(self.demand.get() as usize)
    }

    /// Replaces the account's bytes for the buffer's span; returns the old number.
    pub(super) fn replace_held(&self, bytes: usize) -> usize {
        self.held.replace(bytes as u32) as usize
    }

    /// Forgets the last refill: the thread leaves or has other work.
    pub(super) fn forget_refills(&self) {
        self.batch_in.set(0);
    }

    /// Adds a used-up span.
    pub(super) fn add_used(&self, spans: &Spans, page: PageIndex) {
        let mut used = self.used.get();
        used.push(spans, page);
        self.used.set(used);
    }
}
