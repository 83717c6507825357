//! What a collection does with a stopped mutator's arenas: what they hold is published; those that are open are roots, and a young
//! collection looks at those that were used since the last. Invariant: what lies between where the last collection saw an old chunk
//! end and where it ends now is looked at by the next, whatever becomes of the arena meanwhile.

use super::chunk::ArenaChunk;
use super::header::{ArenaHeader, ArenaState};
use crate::alloc::owner::Owner;
use crate::marks::Collection;
use core::ops::Range;
use heapwood_layout::WORD;

/// Words of an arena that a collection looks at.
#[derive(Clone, Debug)]
pub enum ArenaWords {
    /// Slots, each of which holds the address of an object.
    Roots(Range<usize>),
    /// Part of a chunk: its pointers are told by bits.
    Values(Range<usize>),
}

impl Owner<'_> {
    /// What arenas hold can be found from now on, as long as the mutator is stopped.
    pub(crate) fn publish_arenas(&self) {
        self.cache().arenas().forget_closed();
        for arena in self.cache().arenas().active().filter(|arena| arena.state() != ArenaState::Left) {
            self.publish_arena(arena);
        }
    }

    /// Calls `f` with what a collection looks at of the arenas, all of them or those that were used since the last.
    pub fn for_each_arena(&self, kind: Collection, mut f: impl FnMut(ArenaWords)) {
        let lists = self.cache().arenas();
        let address = |slot: &core::cell::Cell<usize>| core::ptr::from_ref(slot) as usize;
        if kind == Collection::Full {
            for arena in lists.open() {
                let slot = address(&arena.this);
                f(ArenaWords::Roots(slot..slot + 2 * WORD));
            }
        }
        for arena in lists.active() {
            let slot = address(&arena.this);
            // One that was left is a root for a young collection alone, but its header is as long as it is on the list.
            let words = if kind == Collection::Full && arena.state() == ArenaState::Left { 1 } else { 2 };
            f(ArenaWords::Roots(slot..slot + words * WORD));
            if kind == Collection::Young && arena.resumed.get() != 0 {
                let chunk = ArenaChunk::of(self.span_at(arena.resumed.get()));
                if chunk.seen() < chunk.frontier() {
                    f(ArenaWords::Values(chunk.seen()..chunk.frontier()));
                }
            }
        }
    }

    /// What an open arena's old chunk was given since the last collection.
    pub fn unseen_in_arena(&self, arena: &ArenaHeader) -> Range<usize> {
        self.publish_arena(arena);
        match arena.resumed.get() {
            0 => 0..0,
            chunk => {
                let chunk = ArenaChunk::of(self.span_at(chunk));
                chunk.seen()..chunk.frontier()
            }
        }
    }

    /// Calls `f` with the words of objects in arenas that the thread, stopped between two instructions, may be writing.
    pub(crate) fn for_each_arena_cell_in_hand(&self, mut f: impl FnMut(Range<usize>)) {
        for arena in self.cache().arenas().active() {
            let (cursor, limit) = (arena.cursor(), arena.limit());
            if cursor < limit {
                f(cursor..(cursor + arena.step()).min(limit));
            }
        }
    }

    /// A cycle has begun: what was there is old.
    pub(crate) fn begin_cycle_of_arenas(&self, keeps: bool) {
        let lists = self.cache().arenas();
        let mut next = lists.active().next();
        while let Some(arena) = next {
            next = arena.following_active();
            if arena.newest.get() != 0 {
                let chunk = ArenaChunk::of(self.span_at(arena.newest.get()));
                chunk.set_seen(chunk.frontier());
            }
            arena.resumed.set(arena.newest.get());
            if !keeps || arena.state() == ArenaState::Left {
                // The next allocation is noticed.
                if arena.state() == ArenaState::Open {
                    arena.set_limit(arena.cursor());
                }
                lists.remove_active(arena);
            }
        }
    }
}

impl super::header::ArenaHeader {
    fn following_active<'a>(&self) -> Option<&'a Self> {
        // SAFETY: the list holds headers, which it keeps alive.
        unsafe { (self.next_active.get() as *const Self).as_ref() }
    }
}
