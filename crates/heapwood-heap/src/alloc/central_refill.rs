//! The central refill. One lock acquisition settles the mutator's account, returns used spans, takes spans of the shape
//! in need and of shapes that soon will be, and grants credit for new spans and a share of the sweeping. The mutator
//! sweeps its spans afterwards, without the lock. Each shape gets spans by its recent demand and what it has left, so
//! that shapes with little demand do not fill the mutator's share. Demand-driven batches come from tcmalloc.
//!
//! Invariant: the memory that a mutator caches stays within the share that its last refill set, plus one span. Each
//! refill, new span and batch of pages checks this. Cells that die in the spans of its buffers come on top when a
//! collection ends. They are at most the share and one span again, unless a signal has stopped the mutator
//! (`Owner::begin_cycle`). The next refill counts those in the buffers' spans against the share. Nobody can use the
//! ones below a span's fresh range before the next collection.

use super::owner::{Owner, RefillRequest};
use crate::error::SpaceError;
use crate::freed::FreedCells;
use crate::layout::shape_id::ShapeId;
use crate::policy::arenas::ANNOUNCED_BYTES;
use crate::policy::refill::{self, Forecast, MOST_OTHERS};
use crate::reclaim::central::{Central, RefillResult, ReturnedSpans};
use crate::spans::span_list::SpanList;
use heapwood_os::process::ticks::ticks;
use heapwood_pages::PageCount;

/// The spans that a shape is expected to need.
#[derive(Clone, Copy)]
struct ExpectedDemand {
    id: ShapeId,
    spans: u32,
}

impl Owner<'_> {
    /// Settles the account and takes spans; without unswept ones, grants credit for new spans.
    ///
    /// # Errors
    /// A collection is due.
    #[cold]
    pub(super) fn refill_from_central(&self, request: RefillRequest<'_>) -> Result<(), SpaceError> {
        let (cycle, cached, began) = (self.cycle(), self.cache.cached(request.id), ticks());
        self.measure_buffers();
        let lacks_room = self.cache.share() != 0 && !self.has_room(request);
        if lacks_room {
            self.cache.pages.flush(&self.heap().pages);
        }
        let forecast = self.forecast(lacks_room);
        let wanted = cached.expected(forecast, 0, request.span_bytes());
        let others = self.expected_of_others(request.id, forecast, wanted as usize * request.span_bytes());

        let mut central = self.sweeper().lock();
        if lacks_room {
            self.shrink_to_share(&mut central, request);
        }
        self.announce(&mut central);
        self.return_used_spans(&mut central, request.id);
        if let Err(refused) = central.budget.check(1) {
            self.cache.end_credit();
            return Err(refused);
        }
        self.join_run_owners(&mut central);
        let (share, credit) = (central.budget.share(), central.budget.credit());
        let batch = (credit / request.span_pages().0 as u32).min(cached.next_batch(cycle)).max(1);
        let most = batch.min(wanted).max(1);
        let (RefillResult { spans, swept }, freed) = self.take_for_refill(&mut central, request.id, most);
        // Where freed cells come back, no new spans are made before the next refill.
        let come_back = freed.len(self.full_cycle()) != 0 && !request.id.is_shared();
        self.cache.set_large_credit(self.large_credit(&central));
        self.cache.set_share(share, if come_back { 0 } else { credit });
        let others = self.take_for_others(&mut central, others);
        let brings = if spans.is_empty() { credit } else { spans.len() * request.span_pages().0 as u32 };
        // Under a limit a thread that finds no page must know about other sweepers, and no counter covers the sweeping
        // here.
        let due = match self.heap().is_limited() {
            true => 0,
            false => central.share_of_sweeping(brings).saturating_sub(if swept { 0 } else { spans.len() }),
        };
        let due = self.cache.sweep_batch(due, central.budget.least_sweep_batch());
        let sweep_batch = central.next_sweep_batch(due);
        drop(central);

        self.keep_freed(request.id, freed);
        self.add_to_cache(request, spans, swept);
        for (request, RefillResult { spans, swept }) in others.into_iter().flatten() {
            self.add_to_cache(request, spans, swept);
        }
        if let Some(sweep_batch) = sweep_batch {
            let (result, swept) = self.sweeper().sweep(sweep_batch);
            self.cache.note_swept(swept);
            self.cache.swept_spans.set(result);
            // The swept spans wait for the next refill, unless they exceed the share.
            if self.held_bytes() > self.cache.share() {
                let mut central = self.sweeper().lock();
                central.return_swept(self.cache.swept_spans.take());
            }
        }
        if lacks_room || forecast.room < batch as usize * request.span_bytes() {
            // Sweeping is not shorter in a larger heap.
            let took = ticks().saturating_sub(began);
            self.cache.note_starved(took.saturating_sub(self.cache.swept().ticks()));
        }
        Ok(())
    }

    /// Measures the unused part of all buffers' spans, and halves large demand.
    fn measure_buffers(&self) {
        let cache = self.cache;
        let (decays, mut demand) = (refill::decays(cache.demand()), 0);
        cache.for_each_active(|id| {
            self.measure_buffer(id);
            demand += cache.cached(id).age_demand(decays).0;
        });
        cache.set_demand(PageCount(demand));
    }

    /// Measures the unused part of a buffer's span.
    pub(super) fn measure_buffer(&self, id: ShapeId) {
        let buffer = self.buffer(id);
        if buffer.span().is_some() {
            self.cache.hold(id, buffer.unused_bytes());
        }
    }

    /// The forecast until the next refill, by the share that the last one set. A mutator that lacks room returns the
    /// cached spans of its other shapes and takes none for them.
    fn forecast(&self, lacks_room: bool) -> Forecast {
        let room = match lacks_room {
            true => 0,
            false => self.cache.share().saturating_sub(self.held_bytes()),
        };
        Forecast { room, demand: self.cache.demand() }
    }

    /// The spans that shapes other than the requested one are expected to need, when `bytes` bytes go to that one.
    fn expected_of_others(
        &self,
        request: ShapeId,
        forecast: Forecast,
        bytes: usize,
    ) -> [Option<ExpectedDemand>; MOST_OTHERS] {
        let (mut expected, mut len) = ([None; MOST_OTHERS], 0);
        let mut room = forecast.room.saturating_sub(bytes);
        self.cache.for_each_active(|id| {
            let buffer = self.buffer(id);
            let Some(page) = buffer.span() else { return };
            if len == MOST_OTHERS || id == request || !self.sweeper().lists.has_some(id) {
                return;
            }
            let (cached, span_bytes) = (self.cache.cached(id), self.heap().spans.at(page).pages().bytes());
            let spans = cached.expected(forecast, buffer.left(), span_bytes).min(cached.last_batch());
            let spans = spans.min((room / span_bytes) as u32);
            if spans != 0 {
                expected[len] = Some(ExpectedDemand { id, spans });
                (room, len) = (room - spans as usize * span_bytes, len + 1);
            }
        });
        expected
    }

    /// Takes spans of a shape off the central lists, and its freed cells.
    fn take_for_refill(
        &self,
        central: &mut Central<'_>,
        id: ShapeId,
        most: u32,
    ) -> (RefillResult, FreedCells) {
        let (result, freed) = central.take_for_refill(id, most);
        if id.is_shared() {
            // Other mutators read this flag under the lock.
            let table = &self.heap().spans;
            result.spans.walk(table).for_each(|(page, _)| table.own(page).set_held(true));
        }
        (result, freed)
    }

    /// Takes spans for the mutator's other shapes, which would soon need a refill of their own.
    fn take_for_others<'m>(
        &'m self,
        central: &mut Central<'_>,
        expected: [Option<ExpectedDemand>; MOST_OTHERS],
    ) -> [Option<(RefillRequest<'m>, RefillResult)>; MOST_OTHERS] {
        expected.iter().flatten().for_each(|expected| central.prefetch(expected.id));
        expected.map(|expected| {
            let ExpectedDemand { id, spans } = expected?;
            let (result, freed) = self.take_for_refill(central, id, spans);
            central.add_freed(id, freed);
            Some((RefillRequest { buffer: self.buffer(id), id, shape: self.small_shape(id) }, result))
        })
    }

    fn add_to_cache(&self, request: RefillRequest<'_>, spans: SpanList, swept: bool) {
        let (cached, table) = (self.cache.cached(request.id), &self.heap().spans);
        let mut usable = spans;
        if !swept {
            let (sorted, swept) = self.sweeper().sweep_taken(spans);
            self.cache.note_swept(swept);
            cached.add_full(table, sorted.full);
            usable = sorted.partial;
        }
        self.cache.note_cached(usable.len() as usize * request.span_bytes());
        let mut waiting = cached.spans.get();
        waiting.append(table, usable);
        cached.spans.set(waiting);
    }

    /// An upper bound of the mutator's memory that holds no object, in bytes: cached pages, cached spans, and free
    /// cells of the spans that it allocates from.
    pub fn held_bytes(&self) -> usize {
        self.cache.held_bytes()
    }

    /// Whether the share allows one more span; in cached pages it always does.
    pub(super) fn has_room(&self, request: RefillRequest<'_>) -> bool {
        let more = if self.cache.pages.has_no_blocks() { request.span_bytes() } else { 0 };
        self.held_bytes() + more <= self.cache.share()
    }

    /// Returns the cached spans, since the share allows no further span; if that is not enough, returns all. This
    /// happens to a mutator of many shapes in a small heap, or to one of many mutators.
    fn shrink_to_share(&self, central: &mut Central<'_>, request: RefillRequest<'_>) {
        self.return_cached_spans(central);
        if !self.has_room(request) {
            self.return_all_spans(central);
        }
        self.cache.activate(request.id);
    }

    /// Settles the account since the last refill, and returns spans swept for all.
    pub(crate) fn announce(&self, central: &mut Central<'_>) {
        if !self.cache.refills_in(self.cycle()) {
            central.budget.note_refilling_mutator();
        }
        self.sweeper().settle(central, self.cache.take_account());
        central.budget.note_external(self.heap().external.change().rose);
        central.return_swept(self.cache.swept_spans.take());
    }

    /// Adds what the mutator has taken for objects since its last refill to the statistics.
    pub fn settle(&self) {
        let mut central = self.sweeper().lock();
        self.sweeper().settle(&mut central, self.cache.take_account());
    }

    /// Announces the bytes that arenas left to the collector, if they are many.
    ///
    /// # Errors
    /// A collection is due.
    pub fn announce_arenas(&self) -> Result<(), SpaceError> {
        if self.cache.left_by_arenas() < ANNOUNCED_BYTES {
            return Ok(());
        }
        let mut central = self.sweeper().lock();
        self.announce(&mut central);
        central.budget.check(1)
    }

    /// Sets what the heap's entries of links and finalisers take. Once they have used up the budget the mutator loses its credit: its
    /// next refill takes the central lock, and finds a collection due. Of threads that register at once one may set an older sum; the
    /// next registration corrects it.
    pub fn announce_entries(&self, bytes: usize) {
        let external = &self.heap().external;
        external.set_entries(bytes);
        if external.is_to_look(0) {
            let mut central = self.sweeper().lock();
            central.budget.note_external(external.change().rose);
            external.looked(0, central.budget.left_bytes());
            if central.budget.check(1).is_err() {
                self.cache.end_credit();
            }
        }
    }

    /// Returns the used-up spans of a shape, and its freed cells if they are many.
    pub(super) fn return_used_spans(&self, central: &mut Central<'_>, id: ShapeId) {
        let cached = self.cache.cached(id);
        let without_free = cached.take_without_free(&self.heap().spans);
        central.return_spans(id, without_free, ReturnedSpans::default());
        if refill::returns_freed(cached.freed.get().len(self.full_cycle()), true) {
            central.add_freed(id, cached.freed.take());
        }
    }

    /// Adds freed cells of a shape to the mutator's own.
    fn keep_freed(&self, id: ShapeId, freed: FreedCells) {
        let cached = self.cache.cached(id);
        let mut mine = cached.freed.get();
        mine.prepend(freed, self.full_cycle());
        cached.freed.set(mine);
    }
}
