//! The visit to what mutators share: one lock acquisition settles the account, hands in what is used up, brings spans of
//! the shape that is needed and of those that will soon be, the right to so many new ones, and a share of what is to be swept
//! for everyone. What it brings is swept afterwards, without the lock. How many spans a shape gets follows from how many
//! its allocation buffer was given lately, and what that has left: shapes that use up little get none, or what they have waiting would leave
//! no room for the others. Invariant: what a mutator takes into its hands stays within the share that its last central refill told, but for
//! a span.

use super::cached_spans::Forecast;
use super::owner::{Owner, RefillRequest};
use crate::error::SpaceError;
use crate::freed::FreedCells;
use crate::layout::shape_id::ShapeId;
use crate::reclaim::central::{Central, RefillResult, ReturnedSpans};
use crate::spans::span_list::SpanList;
use heapwood_os::timed_lock::ticks;
use heapwood_pages::PageCount;

/// The most pages that a mutator may take for new spans after a central refill: 4 MiB.
const MOST_NEW: u32 = 512;
/// So many shapes get spans in one central refill, beside the one that needs one.
const MOST_OTHERS: usize = 32;
/// When N pages of spans were given to allocation buffers, what was counted of them before counts half: 4 MiB.
const DEMAND_AGES: PageCount = PageCount(512);
/// So many bytes that arenas have left to the collector are told before the next central refill.
const MUCH_IN_ARENAS: usize = 64 << 10;
/// So many cells that were freed stay with the mutator that frees them; with more, all are for everyone.
pub(super) const MOST_FREED: u32 = 64;

/// How many spans a shape is expected to need.
#[derive(Clone, Copy)]
struct Expected {
    id: ShapeId,
    spans: u32,
}

impl Owner<'_> {
    /// Settles the account and brings what there is; with nothing to sweep, the right to new spans.
    ///
    /// # Errors
    /// A collection is due.
    #[cold]
    pub(super) fn refill_from_central(&self, request: RefillRequest<'_>) -> Result<(), SpaceError> {
        let (cycle, cached, began) = (self.cycle(), self.cache().cached(request.id), ticks());
        self.measure_buffers();
        let lacks_room = self.cache().share().bytes != 0 && !self.has_room(request);
        if lacks_room {
            self.cache().pages().flush(self.heap().pages());
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
        if central.collection_due(1) {
            self.cache().end_credit();
            return Err(SpaceError::CollectionDue);
        }
        let (share, credit) = (central.share(), central.credit(MOST_NEW));
        let batch = (credit / request.span_pages().0 as u32).min(cached.next_batch(cycle)).max(1);
        let most = batch.min(wanted).max(1);
        let (RefillResult { spans, swept }, freed) = self.take_for_refill(&mut central, request.id, most);
        // Where cells are freed and come back no new spans are made before the next central refill.
        let come_back = freed.len(self.full_cycle()) != 0 && !request.id.is_shared();
        self.cache().set_large_credit(self.large_credit(&central));
        self.cache().set_share(share, if come_back { 0 } else { credit });
        let others = self.take_for_others(&mut central, others);
        let brings = if spans.is_empty() { credit } else { spans.len() * request.span_pages().0 as u32 };
        // Under a limit the thread that finds no page must know that somebody sweeps, and nobody counts what is swept here.
        let due = match self.heap().is_limited() {
            true => 0,
            false => central.share_of_sweeping(brings).saturating_sub(if swept { 0 } else { spans.len() }),
        };
        let due = self.cache().sweep_batch(due, central.least_sweep_batch());
        let sweep_batch = self.sweeper().next_sweep_batch(&mut central, due);
        drop(central);

        self.keep_freed(request.id, freed);
        self.add_to_cache(request, spans, swept);
        for (request, RefillResult { spans, swept }) in others.into_iter().flatten() {
            self.add_to_cache(request, spans, swept);
        }
        if let Some(sweep_batch) = sweep_batch {
            let (result, swept) = self.sweeper().sweep(sweep_batch);
            self.cache().note_swept(swept);
            self.cache().swept_spans().set(result);
            // It waits for the next central refill, unless that is too much to wait.
            if self.held_bytes() > self.cache().share().bytes {
                let mut central = self.sweeper().lock();
                self.sweeper().return_swept(&mut central, self.cache().swept_spans().take());
            }
        }
        if lacks_room || forecast.room < batch as usize * request.span_bytes() {
            self.cache().note_starved(ticks().saturating_sub(began));
        }
        Ok(())
    }

    /// Finds out how much of their spans the allocation buffers have used, and lets demand age.
    fn measure_buffers(&self) {
        let cache = self.cache();
        let (ages, mut demand) = (cache.demand() > DEMAND_AGES, 0);
        cache.for_each_active(|id| {
            self.look_at(id);
            demand += cache.cached(id).age_demand(ages).0;
        });
        cache.set_demand(PageCount(demand));
    }

    /// Finds out how much of its span an allocation buffer has used.
    pub(super) fn look_at(&self, id: ShapeId) {
        let buffer = self.buffer(id);
        if buffer.span().is_some() {
            self.cache().hold(id, buffer.unused_bytes());
        }
    }

    /// What is expected until the next central refill, as far as the last one told. A mutator that lacks room gives back what its other shapes
    /// have, and takes nothing for them.
    fn forecast(&self, lacks_room: bool) -> Forecast {
        let room = match lacks_room {
            true => 0,
            false => self.cache().share().bytes.saturating_sub(self.held_bytes()),
        };
        Forecast { room, demand: self.cache().demand() }
    }

    /// What shapes other than the one that needs a span are expected to need, beside N bytes for that.
    fn expected_of_others(
        &self,
        request: ShapeId,
        forecast: Forecast,
        bytes: usize,
    ) -> [Option<Expected>; MOST_OTHERS] {
        let (mut expected, mut len) = ([None; MOST_OTHERS], 0);
        let mut room = forecast.room.saturating_sub(bytes);
        self.cache().for_each_active(|id| {
            let buffer = self.buffer(id);
            let Some(page) = buffer.span() else { return };
            if len == MOST_OTHERS || id == request || !self.sweeper().has_some(id) {
                return;
            }
            let (cached, span_bytes) =
                (self.cache().cached(id), self.heap().spans().at(page).pages().bytes());
            let spans = cached.expected(forecast, buffer.left(), span_bytes).min(cached.last_batch());
            let spans = spans.min((room / span_bytes) as u32);
            if spans != 0 {
                expected[len] = Some(Expected { id, spans });
                (room, len) = (room - spans as usize * span_bytes, len + 1);
            }
        });
        expected
    }

    /// Takes spans of a shape off the shared lists, and the cells of it that were freed.
    fn take_for_refill(&self, central: &mut Central, id: ShapeId, most: u32) -> (RefillResult, FreedCells) {
        let (refill, freed) = self.sweeper().take_for_refill(central, id, most);
        if id.is_shared() {
            // Others ask about these under the lock.
            let table = self.heap().spans();
            refill.spans.walk(table).for_each(|(page, _)| table.own(page).set_held(true));
        }
        (refill, freed)
    }

    /// Takes spans for the mutator's other shapes: they would soon need a central refill of their own.
    fn take_for_others<'m>(
        &'m self,
        central: &mut Central,
        expected: [Option<Expected>; MOST_OTHERS],
    ) -> [Option<(RefillRequest<'m>, RefillResult)>; MOST_OTHERS] {
        expected.iter().flatten().for_each(|expected| self.sweeper().prefetch(central, expected.id));
        expected.map(|expected| {
            let Expected { id, spans } = expected?;
            let (refill, freed) = self.take_for_refill(central, id, spans);
            self.sweeper().add_freed(central, id, freed);
            Some((RefillRequest { buffer: self.buffer(id), id, shape: self.small_shape(id) }, refill))
        })
    }

    fn add_to_cache(&self, request: RefillRequest<'_>, spans: SpanList, swept: bool) {
        let (cached, table) = (self.cache().cached(request.id), self.heap().spans());
        let mut usable = spans;
        if !swept {
            let mut used = cached.used.get();
            let swept;
            (usable, swept) = self.sweeper().sweep_taken(spans, &mut used);
            self.cache().note_swept(swept);
            cached.used.set(used);
        }
        self.cache().note_cached(usable.len() as usize * request.span_bytes());
        let mut waiting = cached.spans.get();
        waiting.append(table, usable);
        cached.spans.set(waiting);
    }

    /// Bytes of memory in the mutator's hands that no object has, or at most so many: pages, spans that wait, and cells of
    /// those that it allocates from.
    pub fn held_bytes(&self) -> usize {
        self.cache().held_bytes()
    }

    /// Whether it may have one span more. In pages that it has already it may.
    pub(super) fn has_room(&self, request: RefillRequest<'_>) -> bool {
        let more = if self.cache().pages().has_no_blocks() { request.span_bytes() } else { 0 };
        self.held_bytes() + more <= self.cache().share().bytes
    }

    /// Gives back what waits, since its share is too small for what it has in its hands and a span more, and if that is not
    /// enough, everything: a mutator of many shapes in a small heap, or one of many mutators.
    fn shrink_to_share(&self, central: &mut Central, request: RefillRequest<'_>) {
        self.return_cached_spans(central);
        if !self.has_room(request) {
            self.return_all_spans(central);
        }
        self.cache().activate(request.id);
    }

    /// Says what was taken since the last central refill, and hands in what was swept for others.
    pub(crate) fn announce(&self, central: &mut Central) {
        if !self.cache().refills_in(self.cycle()) {
            central.note_refilling_mutator();
        }
        self.sweeper().settle(central, self.cache().take_account());
        self.sweeper().return_swept(central, self.cache().swept_spans().take());
    }

    /// Says what arenas have left to the collector, if that is much.
    ///
    /// # Errors
    /// A collection is due.
    pub fn announce_arenas(&self) -> Result<(), SpaceError> {
        if self.cache().left_by_arenas() < MUCH_IN_ARENAS {
            return Ok(());
        }
        let mut central = self.sweeper().lock();
        self.announce(&mut central);
        if central.collection_due(1) { Err(SpaceError::CollectionDue) } else { Ok(()) }
    }

    /// Hands in the spans of a shape that are used up, and what was freed if that is much.
    pub(super) fn return_used_spans(&self, central: &mut Central, id: ShapeId) {
        let cached = self.cache().cached(id);
        self.sweeper().return_spans(central, id, cached.used.take(), ReturnedSpans::default());
        if cached.freed.get().len(self.full_cycle()) > MOST_FREED {
            self.sweeper().add_freed(central, id, cached.freed.take());
        }
    }

    /// Cells of a shape that were freed are this mutator's to use.
    fn keep_freed(&self, id: ShapeId, freed: FreedCells) {
        let cached = self.cache().cached(id);
        let mut mine = cached.freed.get();
        mine.prepend(freed, self.full_cycle());
        cached.freed.set(mine);
    }
}
