//! A collection's visit of a stopped mutator's arenas. It publishes their objects; open arenas are roots, and a young
//! collection visits the active ones. Invariant: the next collection visits the values of an old chunk beyond the end
//! that the last collection saw, whatever happens to the arena meanwhile.

use super::chunk::ArenaChunk;
use super::header::ArenaHeader;
use super::state::ArenaState;
use crate::alloc::owner::Owner;
use crate::marks::Collection;
use core::ops::Range;
use heapwood_layout::WORD;

/// Words of an arena that a collection visits.
#[derive(Clone, Debug)]
pub enum ArenaWords {
    /// Slots that each hold the address of an object.
    Roots(Range<usize>),
    /// Part of a chunk, whose pointers have bits.
    Values(Range<usize>),
}

impl Owner<'_> {
    /// Publishes the objects of arenas while the mutator is stopped.
    pub(crate) fn publish_arenas(&self) {
        self.cache.arenas.forget_closed();
        for arena in self.cache.arenas.active().filter(|arena| arena.state() != ArenaState::Left) {
            self.publish_arena(arena);
        }
    }

    /// Calls `f` with the words of arenas that a collection visits: of all arenas, or the active ones.
    pub fn for_each_arena(&self, kind: Collection, mut f: impl FnMut(ArenaWords)) {
        let lists = &self.cache.arenas;
        let address = |slot: &core::cell::Cell<usize>| core::ptr::from_ref(slot) as usize;
        if kind == Collection::Full {
            for arena in lists.open() {
                let slot = address(&arena.this);
                f(ArenaWords::Roots(slot..slot + 2 * WORD));
            }
        }
        for arena in lists.active() {
            let slot = address(&arena.this);
            // An arena that was left is a root only for a young collection; its header is one as long as it is on the
            // list.
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

    /// The values that an open arena's old chunk got since the last collection.
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
    pub(crate) fn for_each_arena_cell_at_cursor(&self, mut f: impl FnMut(Range<usize>)) {
        for arena in self.cache.arenas.active() {
            let (cursor, limit) = (arena.cursor(), arena.limit());
            if cursor < limit {
                f(cursor..(cursor + arena.step()).min(limit));
            }
        }
    }

    /// Begins a cycle: all values so far are old.
    pub(crate) fn begin_cycle_of_arenas(&self, keeps: bool) {
        let lists = &self.cache.arenas;
        let mut next = lists.active().next();
        while let Some(arena) = next {
            next = arena.following_active();
            if arena.newest.get() != 0 {
                let chunk = ArenaChunk::of(self.span_at(arena.newest.get()));
                chunk.set_seen(chunk.frontier());
            }
            arena.resumed.set(arena.newest.get());
            if !keeps || arena.state() == ArenaState::Left {
                // Sends the next allocation to the slow path, which makes the arena active.
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
