//! Opening, emptying and closing arenas, and leaving them to the collector. Invariant: what is done to an arena, its mutator's thread
//! does, in a section.

use super::chunk::ArenaChunk;
use super::header::{ACTIVE, ArenaHeader, ArenaKind, ArenaState, NOWHERE};
use crate::alloc::owner::Owner;
use core::ptr::NonNull;
use heapwood_pages::PageIndex;

/// Of addresses that rest one byte in so many counts as the collector's to free: their tables may be in memory, and so is what
/// says that they rest.
const RESTING: usize = 40;

/// What an arena was made of goes back so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// For the next arena.
    Recycled,
    /// Its addresses rest.
    Quarantine,
    /// A marking is under way that may have to go through it: the collector frees what it does not reach.
    Left,
}

impl Owner<'_> {
    /// Opens an arena with a header that was another's, if there is one that has been closed for a while.
    pub fn reopen_arena(&self, kind: ArenaKind, zeroes: bool) -> Option<NonNull<ArenaHeader>> {
        let place = NonNull::from(self.cache().arenas().take_closed()?);
        // SAFETY: such an object, and no open arena's.
        unsafe { self.open_arena(place, kind, zeroes) };
        Some(place)
    }

    /// Opens an arena, whose header is to be at `place`. It has no memory before its first value. If it `zeroes`, values with pointers
    /// are zero when they are handed out.
    ///
    /// # Safety
    /// 1. `place` is a new object of the heap without pointers, of [`ArenaHeader::BYTES`] bytes, and used for nothing else.
    pub unsafe fn open_arena(&self, place: NonNull<ArenaHeader>, kind: ArenaKind, zeroes: bool) {
        let number = self.sweeper().chunks().lock().count_arena();
        // SAFETY: contract 1.
        let arena = unsafe {
            place.write(ArenaHeader::new(place.as_ptr() as usize, kind, zeroes, number));
            place.as_ref()
        };
        self.cache().arenas().add_open(arena);
        self.activate_arena(arena);
    }

    /// Takes an open arena's values away, all at once; it stays open, or is closed, as `after` says.
    ///
    /// # Safety
    /// 1. It is an open arena of this mutator's.
    /// 2. Nothing uses its values any more. If the addresses are not quarantined, nothing points to them either.
    pub unsafe fn end_arena(&self, arena: &ArenaHeader, closing: Closing, after: ArenaState) {
        self.take_values(arena, closing);
        if after == ArenaState::Open {
            return;
        }
        self.cache().arenas().remove_open(arena);
        if arena.has(ACTIVE) {
            self.cache().arenas().remove_active(arena);
        }
        arena.set_state(after);
        if closing == Closing::Recycled {
            self.cache().arenas().add_closed(arena);
        }
    }

    fn take_values(&self, arena: &ArenaHeader, closing: Closing) {
        self.end_run_of(arena);
        let (spans, mut chunk) = (self.heap().spans(), arena.newest.replace(0));
        let last = arena.oldest.replace(0);
        while chunk != 0 && closing != Closing::Left {
            let page = spans.page_of(chunk);
            let next = spans.address_of(PageIndex(ArenaChunk::of(spans.at(page)).next() as usize));
            self.sweeper().free_piece(
                page,
                closing == Closing::Quarantine,
                arena.kind() != ArenaKind::Escaping,
            );
            chunk = if chunk == last { 0 } else { next };
        }
        if closing == Closing::Left {
            self.give_up_new_pieces(arena, (chunk, last));
        }
        // Go counts arena chunks to what a collection is due for, too.
        match closing {
            Closing::Recycled => {}
            Closing::Quarantine => self.cache().note_left_by_arena(arena.bytes() / RESTING),
            Closing::Left => self.cache().note_left_by_arena(arena.bytes()),
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

    /// Of an arena that a marking may go through, given up, the chunks from `newest` on that are new are not looked at by it: a young
    /// collection frees them. The others, of which `oldest` is the last, no longer lead there.
    fn give_up_new_pieces(&self, arena: &ArenaHeader, (newest, oldest): (usize, usize)) {
        let (spans, resumed) = (self.heap().spans(), arena.resumed.get());
        let mut chunk = newest;
        while chunk != 0 && chunk != resumed {
            let page = spans.page_of(chunk);
            let new = ArenaChunk::of(spans.at(page));
            let next = spans.address_of(PageIndex(new.next() as usize));
            new.note_given_up();
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

    /// Leaves an arena to the collector: it takes no more values, and lives as long as something points into it.
    ///
    /// # Safety
    /// 1. It is an open arena of this mutator's.
    pub unsafe fn leave_arena(&self, arena: &ArenaHeader) {
        self.publish_arena(arena);
        self.cache().note_left_by_arena(arena.bytes());
        // What it was given since the last collection a young one still looks at: it stays among those that were used.
        self.cache().arenas().remove_open(arena);
        arena.set_limit(arena.cursor());
        arena.real_limit.set(arena.cursor());
        arena.floor.set(arena.cursor());
        arena.set_data(NOWHERE, NOWHERE);
        arena.set_state(ArenaState::Left);
    }

    /// Leaves all that are open to the collector, as their mutator goes; calls `f` with each before.
    pub fn leave_all_arenas(&self, mut f: impl FnMut(&ArenaHeader)) {
        while let Some(arena) = self.cache().arenas().open().next() {
            f(arena);
            // SAFETY: it is open, and this mutator's.
            unsafe { self.leave_arena(arena) };
        }
    }

    /// Those that were used since the last collection are not looked at by the next; whether there were any.
    pub fn forget_active_arenas(&self) -> bool {
        self.cache().arenas().forget()
    }

    /// An arena's values that live in the heap, the newest first: the address of the newest's cell, 0 if there is none.
    pub fn external_of(&self, arena: &ArenaHeader) -> usize {
        arena.passed.get()
    }

    /// A cell of the arena names a value that lives in the heap.
    pub fn set_external_of(&self, arena: &ArenaHeader, cell: usize) {
        arena.passed.set(cell);
    }

    /// Calls `f` with each open arena.
    pub fn for_each_open_arena(&self, f: impl FnMut(&ArenaHeader)) {
        self.cache().arenas().open().for_each(f);
    }
}
