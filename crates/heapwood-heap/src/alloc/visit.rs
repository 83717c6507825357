//! The visit to what mutators share: one lock acquisition settles the account, hands in what is used up, brings spans of
//! the shape that is needed, one for each other shape that has none waiting, the right to so many new ones, and a share of
//! what is to be swept for everyone. What it brings is swept afterwards, without the lock. Invariant: what a mutator takes
//! into its hands stays within the share that its last visit told, but for a span.

use super::owner::{Needy, Owner};
use crate::error::SpaceError;
use crate::freed::FreedCells;
use crate::layout::shape_id::ShapeId;
use crate::reclaim::central::{Central, GivenBack, Spoils};
use crate::spans::span_list::SpanList;
use heapwood_pages::PAGE_SIZE;

/// The most pages that a mutator may take for new spans after a visit: 4 MiB.
const MOST_NEW: u32 = 512;
/// Of the room that it has a mutator of many shapes gives one in a visit one part in so many; what is left is for others,
const MOST_SHARES: usize = 8;
/// of which so many get a span in the same visit.
const MOST_OTHERS: usize = 32;
/// So many cells that were freed stay with the mutator that frees them; with more, all are for everyone.
pub(super) const MOST_FREED: u32 = 64;

impl Owner<'_> {
    /// Settles the account and brings what there is; with nothing to sweep, the right to new spans.
    ///
    /// # Errors
    /// A collection is due.
    #[cold]
    pub(super) fn visit(&self, needy: Needy<'_>) -> Result<(), SpaceError> {
        let (cycle, home) = (self.cycle(), self.cache().home(needy.id));
        self.make_room(needy);
        let mut central = self.sweeper().lock();
        self.announce(&mut central);
        self.hand_in_used(&mut central, needy.id);
        if central.collection_due(1) {
            self.cache().end_credit();
            return Err(SpaceError::CollectionDue);
        }
        let share = central.share();
        let room = share.bytes.saturating_sub(self.held_bytes()) / needy.span_bytes();
        let credit = central.credit(MOST_NEW);
        let share_of_room = room / self.cache().active_shapes().clamp(1, MOST_SHARES);
        let of_credit = credit / needy.span_pages().0 as u32;
        let most = of_credit.min(home.next_batch(cycle)).min(share_of_room as u32).max(1);
        let (Spoils { spans, swept }, freed) = self.take_home(&mut central, needy.id, most);
        // Where cells are freed and come back no new spans are made before the next visit.
        let come_back = freed.len(self.full_cycle()) != 0 && !needy.id.is_shared();
        self.cache().set_large_credit(self.large_credit(&central));
        self.cache().set_share(share, if come_back { 0 } else { credit });
        // Where it got nothing there is room for a new span.
        let taken = spans.len().max(1) as usize * needy.span_bytes();
        let room = share.bytes.saturating_sub(self.held_bytes() + taken);
        let others = self.take_for_others(&mut central, needy, room / 4 * 3);
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
        Ok(())
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

    /// Takes a span for each of the mutator's other shapes that have none waiting, as far as there is room for them: they
    /// would soon need a visit of their own.
    fn take_for_others<'m>(
        &'m self,
        central: &mut Central,
        needy: Needy<'_>,
        mut room: usize,
    ) -> [Option<(Needy<'m>, Spoils)>; MOST_OTHERS] {
        let (mut taken, mut len) = ([const { None }; MOST_OTHERS], 0);
        self.cache().for_each_active(|id| {
            let bump = self.bump(id);
            let Some(page) = bump.span() else { return };
            let bytes = self.heap().spans().at(page).pages().bytes();
            let waits = !self.cache().home(id).spans.get().is_empty();
            if waits || len == MOST_OTHERS || id == needy.id || room < bytes || !self.sweeper().has_some(id) {
                return;
            }
            let (spoils, freed) = self.take_home(central, id, 1);
            self.sweeper().add_freed(central, id, freed);
            taken[len] = Some((Needy { bump, id, shape: self.small_shape(id) }, spoils));
            (room, len) = (room - bytes, len + 1);
        });
        taken
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
    /// those that it allocates from. Those are looked at one by one where whole spans would be too much.
    pub fn held_bytes(&self) -> usize {
        let (waiting, open) = self.cache().held_bytes();
        let swept = self.cache().swept_for_others().get();
        let waiting = waiting + swept.partial.len() as usize * PAGE_SIZE;
        if waiting + open <= self.cache().share().bytes {
            return waiting + open;
        }
        let mut left = 0;
        self.cache().for_each_active(|id| {
            let bump = self.bump(id);
            if let Some(page) = bump.span() {
                left += self.heap().unused_bytes(self.heap().spans().at(page), bump.cursor());
            }
        });
        waiting + left
    }

    /// Whether it may have one span more. In pages that it has already it may.
    pub(super) fn has_room(&self, needy: Needy<'_>) -> bool {
        let more = if self.cache().pages().has_no_blocks() { needy.span_bytes() } else { 0 };
        self.held_bytes() + more <= self.cache().share().bytes
    }

    /// Gives back what waits if its share is too small for what it has in its hands and a span more, and if that is not enough,
    /// everything: a mutator of many shapes in a small heap, or one of many mutators.
    fn make_room(&self, needy: Needy<'_>) {
        if self.cache().share().bytes != 0 && !self.has_room(needy) {
            self.put_back();
            if !self.has_room(needy) {
                self.flush();
            }
            self.cache().activate(needy.id);
        }
    }

    /// Says what was taken since the last visit, and hands in what was swept for others.
    pub(crate) fn announce(&self, central: &mut Central) {
        if !self.cache().visits_in(self.cycle()) {
            central.note_visitor();
        }
        self.sweeper().settle(central, self.cache().take_account());
        self.sweeper().put_down(central, self.cache().swept_for_others().take());
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
