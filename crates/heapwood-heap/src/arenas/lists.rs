//! A mutator's arenas: those that are open, those that were used since the last collection, and the headers of some that were closed.
//! Invariant: an arena on one of the first two lists keeps its header alive, and if it is open its chunks; no header is on the last when
//! a collection marks.

use super::header::{ACTIVE, ArenaHeader};
use core::cell::Cell;

/// A mutator's arenas.
#[derive(Default)]
pub(crate) struct ArenaLists {
    open: Cell<usize>,
    active: Cell<usize>,
    /// Closed ones whose headers are used again: the one that was closed first, and the last; and how many.
    closed: Cell<(usize, usize)>,
    closed_len: Cell<usize>,
}

/// So many arenas are closed before the header of one is used again: until then its old handle is known as one.
const CLOSED: usize = 32;

/// Where a header keeps the next of a list, and the one before.
type Links = fn(&ArenaHeader) -> (&Cell<usize>, &Cell<usize>);

fn of_open(arena: &ArenaHeader) -> (&Cell<usize>, &Cell<usize>) {
    (&arena.next, &arena.before)
}

fn of_active(arena: &ArenaHeader) -> (&Cell<usize>, &Cell<usize>) {
    (&arena.next_active, &arena.before_active)
}

impl ArenaLists {
    fn header<'a>(at: usize) -> Option<&'a ArenaHeader> {
        // SAFETY: the lists hold headers of this mutator's, which they keep alive.
        unsafe { (at as *const ArenaHeader).as_ref() }
    }

    fn iter<'a>(list: &Cell<usize>, links: Links) -> impl Iterator<Item = &'a ArenaHeader> {
        core::iter::successors(Self::header(list.get()), move |arena| Self::header(links(arena).0.get()))
    }

    /// Those that are open.
    pub(super) fn open(&self) -> impl Iterator<Item = &ArenaHeader> {
        Self::iter(&self.open, of_open)
    }

    /// Those that were used since the last collection.
    pub(super) fn active(&self) -> impl Iterator<Item = &ArenaHeader> {
        Self::iter(&self.active, of_active)
    }

    /// It is the first of a list.
    fn push(list: &Cell<usize>, arena: &ArenaHeader, links: Links) {
        let (this, first, (next, before)) = (arena.this.get(), list.get(), links(arena));
        next.set(first);
        before.set(0);
        Self::header(first).inspect(|first| links(first).1.set(this));
        list.set(this);
    }

    /// It is on a list no more.
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

    /// A header that nobody has known as an open arena's for a while.
    pub(super) fn take_closed(&self) -> Option<&ArenaHeader> {
        if self.closed_len.get() < CLOSED {
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

    /// A collection begins: headers of closed ones are garbage, unless a handle is left somewhere.
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

    /// From now on none is active, or closed; whether any was active.
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
