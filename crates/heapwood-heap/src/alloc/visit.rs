//! The visit to what mutators share: one lock acquisition settles the account, hands in what is used up, brings spans of
//! the shape that is needed and of those that will soon be, the right to so many new ones, and a share of what is to be swept
//! for everyone. What it brings is swept afterwards, without the lock. How many spans a shape gets follows from how many
//! its bump was given lately, and what that has left: shapes that use up little get none, or what they have waiting would leave
//! no room for the others. Invariant: what a mutator takes into its hands stays within the share that its last visit told, but for
//! a span.

use super::home::Forecast;
use super::owner::{Needy, Owner};
use crate::error::SpaceError;
use crate::freed::FreedCells;
use crate::layout::shape_id::ShapeId;
use crate::reclaim::central::{Central, GivenBack, Spoils};
use crate::spans::span_list::SpanList;
use heapwood_os::timed_lock::ticks;
use heapwood_pages::PageCount;

/// The most pages that a mutator may take for new spans after a visit: 4 MiB.
const MOST_NEW: u32 = 512;
/// So many shapes get spans in one visit, beside the one that needs one.
const MOST_OTHERS: usize = 32;
/// When so many pages of spans were given to bumps, what was counted of them before counts half: 4 MiB.
const DEMAND_AGES: PageCount = PageCount(512);
/// So many bytes that arenas have left to the collector are told before the next visit.
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
    pub(super) fn visit(&self, needy: Needy<'_>) -> Result<(), SpaceError> {
        let (cycle, home, began) = (self.cycle(), self.cache().home(needy.id), ticks());
        self.look_at_bumps();
        let lacks_room = self.cache().share().bytes != 0 && !self.has_room(needy);
        if lacks_room {
            self.cache().pages().flush(self.heap().pages());
        }
        let forecast = self.forecast(lacks_room);
        let wanted = home.expected(forecast, 0, needy.span_bytes());
        let others = self.expected_of_others(needy.id, forecast, wanted as usize * needy.span_bytes());

        let mut central = self.sweeper().lock();
        if lacks_room {
            self.make_room(&mut central, needy);
        }
        self.announce(&mut central);
        self.hand_in_used(&mut central, needy.id);
        if central.collection_due(1) {
            self.cache().end_credit();
            return Err(SpaceError::CollectionDue);
        }
        let (share, credit) = (central.share(), central.credit(MOST_NEW));
        let batch = (credit / needy.span_pages().0 as u32).min(home.next_batch(cycle)).max(1);
        let most = batch.min(wanted).max(1);
        let (Spoils { spans, swept }, freed) = self.take_home(&mut central, needy.id, most);
        // Where cells are freed and come back no new spans are made before the next visit.
        let come_back = freed.len(self.full_cycle()) != 0 && !needy.id.is_shared();
        self.cache().set_large_credit(self.large_credit(&central));
        self.cache().set_share(share, if come_back { 0 } else { credit });
        let others = self.take_for_others(&mut central, others);
        let brings = if spans.is_empty() { credit } else { spans.len() * needy.span_pages().0 as u32 };
        // Under a limit whoever finds no page must know that somebody sweeps, and nobody counts what is swept here.
        let due = match self.heap().is_limited() {
            true => 0,
            false => central.share_of_sweeping(brings).saturating_sub(if swept { 0 } else { spans.len() }),
        };
        let due = self.cache().chore(due, central.least_chore());
        let chore = self.sweeper().next_chore(&mut central, due);
        drop(central);

        self.keep_freed(needy.id, freed);
        self.bring_home(needy, spans, swept);
        for (needy, Spoils { spans, swept }) in others.into_iter().flatten() {
            self.bring_home(needy, spans, swept);
        }
        if let Some(chore) = chore {
            let (result, swept) = self.sweeper().sweep(chore);
            self.cache().note_swept(swept);
            self.cache().swept_for_others().set(result);
            // It waits for the next visit, unless that is too much to wait.
            if self.held_bytes() > self.cache().share().bytes {
                let mut central = self.sweeper().lock();
                self.sweeper().put_down(&mut central, self.cache().swept_for_others().take());
            }
        }
        if lacks_room || forecast.room < batch as usize * needy.span_bytes() {
            self.cache().note_starved(ticks().saturating_sub(began));
        }
        Ok(())
    }

    /// Finds out how much of their spans the bumps have used, and lets demand age.
    fn look_at_bumps(&self) {
        let cache = self.cache();
        let (ages, mut demand) = (cache.demand() > DEMAND_AGES, 0);
        cache.for_each_active(|id| {
            self.look_at(id);
            demand += cache.home(id).age_demand(ages).0;
        });
        cache.set_demand(PageCount(demand));
    }

    /// Finds out how much of its span a bump has used.
    pub(super) fn look_at(&self, id: ShapeId) {
        let bump = self.bump(id);
        if bump.span().is_some() {
            self.cache().hold(id, bump.unused_bytes());
        }
    }

    /// What is expected until the next visit, as far as the last one told. A mutator that lacks room gives back what its other shapes
    /// have, and takes nothing for them.
    fn forecast(&self, lacks_room: bool) -> Forecast {
        let room = match lacks_room {
            true => 0,
            false => self.cache().share().bytes.saturating_sub(self.held_bytes()),
        };
        Forecast { room, demand: self.cache().demand() }
    }

    /// What shapes other than the one that needs a span are expected to need, beside so many bytes for that.
    fn expected_of_others(
        &self,
        needy: ShapeId,
        forecast: Forecast,
        bytes: usize,
    ) -> [Option<Expected>; MOST_OTHERS] {
        let (mut expected, mut len) = ([None; MOST_OTHERS], 0);
        let mut room = forecast.room.saturating_sub(bytes);
        self.cache().for_each_active(|id| {
            let bump = self.bump(id);
            let Some(page) = bump.span() else { return };
            if len == MOST_OTHERS || id == needy || !self.sweeper().has_some(id) {
                return;
            }
            let (home, span_bytes) = (self.cache().home(id), self.heap().spans().at(page).pages().bytes());
            let spans = home.expected(forecast, bump.left(), span_bytes).min(home.last_batch());
            let spans = spans.min((room / span_bytes) as u32);
            if spans != 0 {
                expected[len] = Some(Expected { id, spans });
                (room, len) = (room - spans as usize * span_bytes, len + 1);
            }
        });
        expected
    }

    /// Takes spans of a shape off the shared lists, and the cells of it that were freed.
    fn take_home(&self, central: &mut Central, id: ShapeId, most: u32) -> (Spoils, FreedCells) {
        let (spoils, freed) = self.sweeper().take_home(central, id, most);
        if id.is_shared() {
            // Others ask about these under the lock.
            let table = self.heap().spans();
            spoils.spans.walk(table).for_each(|(page, _)| table.own(page).set_held(true));
        }
        (spoils, freed)
    }

    /// Takes spans for the mutator's other shapes: they would soon need a visit of their own.
    fn take_for_others<'m>(
        &'m self,
        central: &mut Central,
        expected: [Option<Expected>; MOST_OTHERS],
    ) -> [Option<(Needy<'m>, Spoils)>; MOST_OTHERS] {
        expected.iter().flatten().for_each(|expected| self.sweeper().prefetch(central, expected.id));
        expected.map(|expected| {
            let Expected { id, spans } = expected?;
            let (spoils, freed) = self.take_home(central, id, spans);
            self.sweeper().add_freed(central, id, freed);
            Some((Needy { bump: self.bump(id), id, shape: self.small_shape(id) }, spoils))
        })
    }

    fn bring_home(&self, needy: Needy<'_>, spans: SpanList, swept: bool) {
        let (home, table) = (self.cache().home(needy.id), self.heap().spans());
        let mut usable = spans;
        if !swept {
            let mut used = home.used.get();
            let swept;
            (usable, swept) = self.sweeper().sweep_home(spans, &mut used);
            self.cache().note_swept(swept);
            home.used.set(used);
        }
        self.cache().came_home(usable.len() as usize * needy.span_bytes());
        let mut at_home = home.spans.get();
        at_home.append(table, usable);
        home.spans.set(at_home);
    }

    /// Bytes of memory in the mutator's hands that no object has, or at most so many: pages, spans that wait, and cells of
    /// those that it allocates from.
    pub fn held_bytes(&self) -> usize {
        self.cache().held_bytes()
    }

    /// Whether it may have one span more. In pages that it has already it may.
    pub(super) fn has_room(&self, needy: Needy<'_>) -> bool {
        let more = if self.cache().pages().has_no_blocks() { needy.span_bytes() } else { 0 };
        self.held_bytes() + more <= self.cache().share().bytes
    }

    /// Gives back what waits, since its share is too small for what it has in its hands and a span more, and if that is not
    /// enough, everything: a mutator of many shapes in a small heap, or one of many mutators.
    fn make_room(&self, central: &mut Central, needy: Needy<'_>) {
        self.put_back_waiting(central);
        if !self.has_room(needy) {
            self.put_back_all(central);
        }
        self.cache().activate(needy.id);
    }

    /// Says what was taken since the last visit, and hands in what was swept for others.
    pub(crate) fn announce(&self, central: &mut Central) {
        if !self.cache().visits_in(self.cycle()) {
            central.note_visitor();
        }
        self.sweeper().settle(central, self.cache().take_account());
        self.sweeper().put_down(central, self.cache().swept_for_others().take());
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
    pub(super) fn hand_in_used(&self, central: &mut Central, id: ShapeId) {
        let home = self.cache().home(id);
        self.sweeper().hand_in(central, id, home.used.take(), GivenBack::default());
        if home.freed.get().len(self.full_cycle()) > MOST_FREED {
            self.sweeper().add_freed(central, id, home.freed.take());
        }
    }

    /// Cells of a shape that were freed are this mutator's to use.
    fn keep_freed(&self, id: ShapeId, freed: FreedCells) {
        let home = self.cache().home(id);
        let mut mine = home.freed.get();
        mine.prepend(freed, self.full_cycle());
        home.freed.set(mine);
    }
}
