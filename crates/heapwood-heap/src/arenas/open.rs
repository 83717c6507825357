//! Opening, emptying and closing arenas, and leaving them to the collector. Invariant: only an arena's mutator changes
//! it, within a no-preempt region.

use super::chunk::ArenaChunk;
use super::header::{ACTIVE, ArenaHeader, ArenaKind, NOWHERE};
use super::state::ArenaState;
use crate::alloc::owner::Owner;
use crate::policy::arenas::QUARANTINED_PART;
use core::ptr::NonNull;
use heapwood_pages::PageIndex;

impl Owner<'_> {
    /// Opens an arena in the header of another that has been closed for a while, if there is one.
    pub fn reopen_arena(&self, kind: ArenaKind, zeroes: bool) -> Option<NonNull<ArenaHeader>> {
        let place = NonNull::from(self.cache.arenas.take_closed()?);
        // SAFETY: it is a header object of the heap, and no open arena's.
        unsafe { self.open_arena(place, kind, zeroes) };
        Some(place)
    }

    /// Opens an arena with its header at `place`. It has no memory before its first value. If `zeroes`, values with
    /// pointers are allocated as zeros.
    ///
    /// # Safety
    /// 1. `place` is a new object of the heap without pointers, of [`ArenaHeader::BYTES`] bytes, and used for nothing
    ///    else.
    pub unsafe fn open_arena(&self, place: NonNull<ArenaHeader>, kind: ArenaKind, zeroes: bool) {
        let number = self.sweeper().chunks.lock().count_arena();
        // SAFETY: contract 1.
        let arena = unsafe {
            place.write(ArenaHeader::new(place.as_ptr() as usize, kind, zeroes, number));
            place.as_ref()
        };
        self.cache.arenas.add_open(arena);
        self.activate_arena(arena);
    }

    /// Ends all values of an open arena at once. Its chunks become `chunks`: free, quarantined, or left to the collector.
    /// The arena is `after` then: open or closed.
    ///
    /// # Safety
    /// 1. It is an open arena of this mutator's.
    /// 2. Nothing uses its values any more. If the addresses are not quarantined, nothing points to them either.
    pub unsafe fn end_arena(&self, arena: &ArenaHeader, chunks: ArenaState, after: ArenaState) {
        self.take_values(arena, chunks);
        if after == ArenaState::Open {
            return;
        }
        self.cache.arenas.remove_open(arena);
        if arena.has(ACTIVE) {
            self.cache.arenas.remove_active(arena);
        }
        arena.set_state(after);
        if chunks == ArenaState::Free {
            self.cache.arenas.add_closed(arena);
        }
    }

    fn take_values(&self, arena: &ArenaHeader, chunks: ArenaState) {
        self.end_run_of(arena);
        let (spans, mut chunk) = (&self.heap().spans, arena.newest.replace(0));
        let last = arena.oldest.replace(0);
        while chunk != 0 && chunks != ArenaState::Left {
            let page = spans.page_of(chunk);
            let next = spans.address_of(PageIndex(ArenaChunk::of(spans.at(page)).next() as usize));
            self.sweeper().free_chunk(
                page,
                chunks == ArenaState::Quarantined,
                arena.kind() != ArenaKind::Escaping,
            );
            chunk = if chunk == last { 0 } else { next };
        }
        if chunks == ArenaState::Left {
            self.abandon_new_chunks(arena, (chunk, last));
        }
        // Arena chunks count towards the next collection, as in Go.
        match chunks {
            ArenaState::Quarantined => self.cache.note_left_by_arena(arena.bytes() / QUARANTINED_PART),
            ArenaState::Left => self.cache.note_left_by_arena(arena.bytes()),
            _ => {}
        }
        arena.bytes.set(0);
        arena.passed.set(0);
        arena.resumed.set(0);
        arena.run_start.set(0);
        arena.set_cursor(0);
        arena.set_limit(0);
        arena.real_limit.set(0);
        arena.floor.set(0);
        arena.set_data(NOWHERE, NOWHERE);
    }

    /// Abandons the new chunks, from `newest` on, of an arena that a marking may visit. The marking skips them; a
    /// young collection frees them. The old chunks, the last of them `oldest`, no longer lead to them.
    fn abandon_new_chunks(&self, arena: &ArenaHeader, (newest, oldest): (usize, usize)) {
        let (spans, resumed) = (&self.heap().spans, arena.resumed.get());
        let mut chunk = newest;
        while chunk != 0 && chunk != resumed {
            let page = spans.page_of(chunk);
            let new = ArenaChunk::of(spans.at(page));
            let next = spans.address_of(PageIndex(new.next() as usize));
            new.note_abandoned();
            new.set_next(page.0 as u32);
            chunk = if chunk == oldest { 0 } else { next };
        }
        if resumed != 0 {
            ArenaChunk::of(spans.at(spans.page_of(oldest))).set_next(spans.page_of(resumed).0 as u32);
        }
    }

    fn end_run_of(&self, arena: &ArenaHeader) {
        self.publish_arena(arena);
    }

    /// Leaves an arena to the collector: it takes no more values, and lives as long as anything points into it.
    ///
    /// # Safety
    /// 1. It is an open arena of this mutator's.
    pub unsafe fn leave_arena(&self, arena: &ArenaHeader) {
        self.publish_arena(arena);
        self.cache.note_left_by_arena(arena.bytes());
        // It stays on the active list: a young collection still visits its values since the last collection.
        self.cache.arenas.remove_open(arena);
        arena.set_limit(arena.cursor());
        arena.real_limit.set(arena.cursor());
        arena.floor.set(arena.cursor());
        arena.set_data(NOWHERE, NOWHERE);
        arena.set_state(ArenaState::Left);
    }

    /// Leaves all open arenas to the collector, as their mutator ends; calls `f` with each before.
    pub fn leave_all_arenas(&self, mut f: impl FnMut(&ArenaHeader)) {
        while let Some(arena) = self.cache.arenas.open().next() {
            f(arena);
            // SAFETY: it is open, and this mutator's.
            unsafe { self.leave_arena(arena) };
        }
    }

    /// Clears the active list: the next collection does not visit the arenas used since the last. Whether there were
    /// any.
    pub fn forget_active_arenas(&self) -> bool {
        self.cache.arenas.forget()
    }

    /// The arena's newest cell that names a value in the heap, the head of their list; 0 if there is none.
    pub fn external_of(&self, arena: &ArenaHeader) -> usize {
        arena.passed.get()
    }

    /// Sets the newest cell that names a value in the heap.
    pub fn set_external_of(&self, arena: &ArenaHeader, cell: usize) {
        arena.passed.set(cell);
    }
}
