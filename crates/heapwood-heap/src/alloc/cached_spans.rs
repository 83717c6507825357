//! The cached spans of one shape in a mutator: swept spans to allocate from next, used-up spans to return, cells that
//! the program freed, and the observations by which a refill decides how many spans it brings (`policy/refill`).
//! Invariant: these spans are the mutator's and were swept in this cycle. Only the mutator's thread changes them, or
//! the thread that has stopped it.

#[cfg(doc)]
use crate::alloc::thread_cache::ThreadCache;
use crate::freed::FreedCells;
use crate::policy::refill::{self, Forecast};
use crate::reclaim::central::SpansWithoutFree;
use crate::spans::lookup::Spans;
use crate::spans::span_list::SpanList;
use core::cell::Cell;
use heapwood_os::memory::region::Zeroed;
use heapwood_pages::{PageCount, PageIndex};

/// One shape's cached spans.
#[derive(Default)]
pub(crate) struct CachedSpans {
    /// Spans with free cells, to be used next.
    pub(super) spans: Cell<SpanList>,
    /// Spans without free cells: first those that the sweep found full, then those that its buffer used up.
    without_free: Cell<SpanList>,
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
    /// The number of spans that the sweep found full.
    full: Cell<u16>,
}

// Each mutator has one for each shape. A cache line keeps the shapes in use compact.
const _: () = assert!(size_of::<CachedSpans>() == 64);

// SAFETY: all-zero bytes are empty lists and no freed cells; they hold plain numbers.
unsafe impl Zeroed for CachedSpans {}

impl CachedSpans {
    /// The batch size of a refill in this cycle.
    pub(super) fn next_batch(&self, cycle: u32) -> u32 {
        let (last, last_in) = (self.batch.get() as u32, self.batch_in.replace(cycle));
        let next = refill::next_batch(last, cycle.wrapping_sub(last_in));
        self.batch.set(next as u16);
        self.room.set(0);
        next
    }

    /// Whether a refill in this cycle is likely to find spans with room.
    pub(super) fn is_refill_worthwhile(&self, cycle: u32) -> bool {
        refill::is_worthwhile(self.batch_in.get() != cycle, self.room.get() as u32)
    }

    /// Adds the room, in objects, of a span from the last refill that the buffer opens.
    pub(super) fn note_room(&self, objects: usize) {
        self.room.set(self.room.get().saturating_add(objects as u16));
    }

    /// The spans that the shape is expected to need, besides its cached ones and `left` bytes in its buffer.
    pub(super) fn expected(&self, forecast: Forecast, left: usize, span_bytes: usize) -> u32 {
        let has = left + self.spans.get().len() as usize * span_bytes;
        forecast.spans(PageCount(self.demand.get() as usize), has, span_bytes)
    }

    /// The batch size of the last refill.
    pub(super) fn last_batch(&self) -> u32 {
        self.batch.get().max(1) as u32
    }

    /// Adds a span of `pages` pages that its buffer got to the demand.
    pub(super) fn note_demand(&self, pages: PageCount) {
        self.demand.set(self.demand.get().saturating_add(pages.0 as u16));
    }

    /// Halves the demand if `ages`, but never to zero; returns the demand.
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
        let mut list = self.without_free.get();
        list.push(spans, page);
        self.without_free.set(list);
    }

    /// Adds spans that the sweep found full.
    pub(super) fn add_full(&self, spans: &Spans, full: SpanList) {
        let mut list = self.without_free.get();
        list.prepend(spans, full);
        self.without_free.set(list);
        // More than it can count are taken for used-up ones: they are swept once too often.
        self.full.set(self.full.get().saturating_add(full.len().min(u16::MAX as u32) as u16));
    }

    /// Takes the spans without free cells.
    pub(super) fn take_without_free(&self, spans: &Spans) -> SpansWithoutFree {
        let (mut used, count) = (self.without_free.take(), self.full.take() as u32);
        let mut full = used.split(spans, count);
        // The last of them may share a batch with others.
        full.append(spans, used.split(spans, count - full.len()));
        SpansWithoutFree { used, full }
    }

    /// All spans without free cells.
    pub(super) fn without_free(&self) -> SpanList {
        self.without_free.get()
    }
}
