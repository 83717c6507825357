//! A mutator's arenas: the open ones, the active ones (used since the last collection), and headers of closed ones for
//! reuse. Invariant: an arena on one of the first two lists keeps its header alive, and its chunks if it is open; the
//! third list is empty while a collection marks.

use super::header::{ACTIVE, ArenaHeader};
use crate::policy::arenas::CLOSED_HEADERS;
use core::cell::Cell;

/// A mutator's arenas.
#[derive(Default)]
pub(crate) struct ArenaLists {
    open: Cell<usize>,
    active: Cell<usize>,
    /// Closed arenas whose headers will be reused: the one closed first, and the last; and their number.
    closed: Cell<(usize, usize)>,
    closed_len: Cell<usize>,
}

/// The links of a list in a header: next and previous.
type Links = fn(&ArenaHeader) -> (&Cell<usize>, &Cell<usize>);

fn of_open(arena: &ArenaHeader) -> (&Cell<usize>, &Cell<usize>) {
    (&arena.next, &arena.before)
}

fn of_active(arena: &ArenaHeader) -> (&Cell<usize>, &Cell<usize>) {
    (&arena.next_active, &arena.before_active)
}

impl ArenaLists {
    fn header<'a>(at: usize) -> Option<&'a ArenaHeader> {
        // SAFETY: the lists hold this mutator's headers, and keep them alive.
        unsafe { (at as *const ArenaHeader).as_ref() }
    }

    fn iter<'a>(list: &Cell<usize>, links: Links) -> impl Iterator<Item = &'a ArenaHeader> {
        core::iter::successors(Self::header(list.get()), move |arena| Self::header(links(arena).0.get()))
    }

    /// The open arenas.
    pub(super) fn open(&self) -> impl Iterator<Item = &ArenaHeader> {
        Self::iter(&self.open, of_open)
    }

    /// The arenas used since the last collection.
    pub(super) fn active(&self) -> impl Iterator<Item = &ArenaHeader> {
        Self::iter(&self.active, of_active)
    }

    /// Adds an arena to the front of a list.
    fn push(list: &Cell<usize>, arena: &ArenaHeader, links: Links) {
        let (this, first, (next, before)) = (arena.this.get(), list.get(), links(arena));
        next.set(first);
        before.set(0);
        Self::header(first).inspect(|first| links(first).1.set(this));
        list.set(this);
    }

    /// Removes an arena from a list.
    fn unlink(list: &Cell<usize>, arena: &ArenaHeader, links: Links) {
        let (next, before) = (links(arena).0.get(), links(arena).1.get());
        match Self::header(before) {
            Some(before) => links(before).0.set(next),
            None => list.set(next),
        }
        Self::header(next).inspect(|next| links(next).1.set(before));
    }

    pub(super) fn add_active(&self, arena: &ArenaHeader) {
        Self::push(&self.active, arena, of_active);
    }

    pub(super) fn remove_active(&self, arena: &ArenaHeader) {
        Self::unlink(&self.active, arena, of_active);
        arena.set(ACTIVE, false);
    }

    /// Takes a header for reuse, of an arena that has been closed for a while.
    pub(super) fn take_closed(&self) -> Option<&ArenaHeader> {
        if self.closed_len.get() < CLOSED_HEADERS {
            return None;
        }
        let (first, last) = self.closed.get();
        let arena = Self::header(first)?;
        self.closed.set((arena.next.get(), last));
        self.closed_len.set(self.closed_len.get() - 1);
        Some(arena)
    }

    pub(super) fn add_closed(&self, arena: &ArenaHeader) {
        let (this, (first, last)) = (arena.this.get(), self.closed.get());
        arena.next.set(0);
        match self.closed_len.get() {
            0 => self.closed.set((this, this)),
            _ => {
                Self::header(last).inspect(|last| last.next.set(this));
                self.closed.set((first, this));
            }
        }
        self.closed_len.set(self.closed_len.get() + 1);
    }

    /// Drops the closed headers as a collection begins: they are garbage, unless a handle is left somewhere.
    pub(super) fn forget_closed(&self) {
        self.closed.set((0, 0));
        self.closed_len.set(0);
    }

    pub(super) fn add_open(&self, arena: &ArenaHeader) {
        Self::push(&self.open, arena, of_open);
    }

    pub(super) fn remove_open(&self, arena: &ArenaHeader) {
        Self::unlink(&self.open, arena, of_open);
    }

    /// Clears the active and closed lists; whether any arena was active.
    pub(super) fn forget(&self) -> bool {
        let mut had = false;
        while let Some(arena) = self.active().next() {
            self.remove_active(arena);
            had = true;
        }
        self.forget_closed();
        had
    }
}
