//! The slow path of an arena: another run, more room in the chunk, or another chunk. Invariant: pointer bits are
//! written for whole runs, before the run's layout is replaced, and before a marking reads them.

use super::chunk::{ArenaChunk, HUGE_CHUNK, MOST_IN_ARENA, pages_of};
use super::header::{ACTIVE, ArenaHeader, SINGLE, ZEROES};
use super::layout::ArenaLayout;
use crate::alloc::owner::Owner;
use crate::error::SpaceError;
use crate::granule::GRANULE;
use crate::layout::pointer_bits::{self, MOST_AT_ONCE};
use crate::publication;
use crate::spans::span::Span;
use heapwood_layout::WORD;
use heapwood_layout::program::decode::mask_times;

/// Memory that is allocated as zeros is zeroed in steps of this size, which stay in the cache.
const ZERO_STEP: usize = 16 << 10;
/// Each kind of values takes a quarter of the gap between them at a time, and no less than this.
const LEAST_STEP: usize = 1 << 10;
/// A longer value without pointers does not end a block.
const LONG_DATA: usize = 4 << 10;

/// The size of the shortest chunk that has room for `bytes` bytes.
fn least_size(bytes: usize) -> usize {
    (0..HUGE_CHUNK).find(|&size| pages_of(size).bytes() >= bytes).unwrap_or(HUGE_CHUNK)
}

impl Owner<'_> {
    /// Reserves room for `count` adjacent values of a layout, and for more in the run that begins. The caller writes
    /// the first values, then [commits](ArenaHeader::commit). `key` is not 0, and differs between layouts.
    ///
    /// # Errors
    /// There is no memory for another chunk.
    ///
    /// # Safety
    /// 1. The arena is an open one of this mutator's.
    /// 2. The values have at most [`MOST_IN_ARENA`] bytes together.
    pub unsafe fn reserve_in_arena(
        &self,
        arena: &ArenaHeader,
        (key, layout): (usize, ArenaLayout),
        count: usize,
    ) -> Result<usize, SpaceError> {
        let bytes = layout.bytes() * count;
        debug_assert!(bytes <= MOST_IN_ARENA);
        self.begin_run(arena, (key, layout));
        while !self.extends_run(arena, bytes) {
            self.take_next_chunk(arena, bytes)?;
        }
        Ok(arena.cursor())
    }

    /// The same within the current chunk; `None` if it has no room. This serves values of many types that take turns.
    ///
    /// # Safety
    /// As [`reserve_in_arena`](Owner::reserve_in_arena)'s.
    #[inline]
    pub unsafe fn go_on_in_arena(
        &self,
        arena: &ArenaHeader,
        (key, layout): (usize, ArenaLayout),
        count: usize,
    ) -> Option<usize> {
        self.begin_run(arena, (key, layout));
        self.extends_run(arena, layout.bytes() * count).then(|| arena.cursor())
    }

    #[inline]
    fn begin_run(&self, arena: &ArenaHeader, (key, layout): (usize, ArenaLayout)) {
        self.activate_arena(arena);
        if arena.run() != key {
            self.end_run(arena);
            arena.set_run(key, layout);
        }
    }

    /// Takes room for a value of `bytes` bytes without pointers; `align` is a power of two, at most 16.
    ///
    /// # Errors
    /// There is no memory for another chunk.
    ///
    /// # Safety
    /// 1. The arena is an open one of this mutator's.
    /// 2. The value has at most [`MOST_IN_ARENA`] bytes.
    pub unsafe fn take_arena_data(
        &self,
        arena: &ArenaHeader,
        bytes: usize,
        align: usize,
    ) -> Result<usize, SpaceError> {
        debug_assert!(bytes <= MOST_IN_ARENA && align <= GRANULE);
        loop {
            if let Some(at) = arena.take_data(bytes, align) {
                return Ok(at);
            }
            let (need, gap) = (bytes.next_multiple_of(GRANULE), self.gap_of(arena));
            if need > gap {
                self.take_next_chunk(arena, need)?;
                continue;
            }
            let floor = arena.floor.get();
            if need > LONG_DATA && need < gap / 2 {
                // Takes only this value; the rest of the block stays for others.
                arena.floor.set(floor - need);
                return Ok(floor - need);
            }
            let step = if self.is_single(arena) { 0 } else { (gap / 4).max(LEAST_STEP) };
            let more = need.max(step.min(gap)) / GRANULE * GRANULE;
            arena.floor.set(floor - more);
            arena.set_data(floor - more, floor);
        }
    }

    /// The bytes of the chunk that neither kind of values has yet.
    fn gap_of(&self, arena: &ArenaHeader) -> usize {
        if arena.newest.get() == 0 { 0 } else { arena.floor.get() - arena.real_limit.get() }
    }

    /// Makes room for `bytes` bytes of the run, from the gap if needed; false if that does not suffice.
    fn extends_run(&self, arena: &ArenaHeader, bytes: usize) -> bool {
        let (limit, gap) = (arena.real_limit.get(), self.gap_of(arena));
        let need = (arena.cursor() + bytes).saturating_sub(limit).next_multiple_of(GRANULE);
        if need > gap || arena.newest.get() == 0 {
            return false;
        }
        arena.set_limit(limit);
        if need == 0 {
            return true;
        }
        let step = match arena.has(ZEROES) {
            _ if self.is_single(arena) => 0,
            true => ZERO_STEP,
            false => (gap / 4).max(LEAST_STEP),
        };
        let more = need.max(step.min(gap)) / GRANULE * GRANULE;
        if arena.has(ZEROES) && !self.chunk_of(arena).is_fresh() {
            // SAFETY: the gap is this arena's, and nothing lies in it.
            unsafe { (limit as *mut u8).write_bytes(0, more) };
        }
        publication::publish();
        arena.real_limit.set(limit + more);
        arena.set_limit(limit + more);
        true
    }

    /// Whether the arena makes room for one value at a time.
    fn is_single(&self, arena: &ArenaHeader) -> bool {
        self.space.single_cells || arena.has(SINGLE)
    }

    /// The chunk that an arena allocates from.
    fn chunk_of(&self, arena: &ArenaHeader) -> ArenaChunk<'_> {
        ArenaChunk::of(self.span_at(arena.newest.get()))
    }

    pub(super) fn span_at(&self, address: usize) -> &Span {
        let spans = &self.heap().spans;
        spans.at(spans.page_of(address))
    }

    /// Continues in a new chunk with room for `bytes` bytes. Each is four times as long as the one before, up to a huge
    /// chunk; a large enough arena gets a free huge chunk at once, if there is one.
    fn take_next_chunk(&self, arena: &ArenaHeader, bytes: usize) -> Result<(), SpaceError> {
        let (sweeper, has) = (self.sweeper(), arena.bytes.get());
        let mut size = least_size(bytes);
        while size < HUGE_CHUNK && pages_of(size).bytes() <= has {
            size += 1;
        }
        if size > 1 && sweeper.chunks.lock().has(HUGE_CHUNK) {
            size = HUGE_CHUNK;
        }
        self.continue_in_chunk(arena, size)
    }

    /// Continues in the shortest chunk that has room for `bytes` bytes, at most [`MOST_IN_ARENA`]: for an arena that was
    /// refused a longer one.
    ///
    /// # Errors
    /// There is no memory for that either.
    ///
    /// # Safety
    /// 1. The arena is an open one of this mutator's.
    pub unsafe fn take_least_chunk(&self, arena: &ArenaHeader, bytes: usize) -> Result<(), SpaceError> {
        debug_assert!(bytes <= MOST_IN_ARENA);
        self.continue_in_chunk(arena, least_size(bytes))
    }

    fn continue_in_chunk(&self, arena: &ArenaHeader, size: usize) -> Result<(), SpaceError> {
        // First of all: the current chunk is then the newest old one.
        self.activate_arena(arena);
        let (sweeper, spans, has) = (self.sweeper(), &self.heap().spans, arena.bytes.get());
        let page = sweeper.take_chunk(size, arena.number())?;
        self.close_chunk(arena);
        let chunk = ArenaChunk::of(spans.at(page));
        if arena.newest.get() != 0 {
            chunk.set_next(spans.page_of(arena.newest.get()).0 as u32);
            ArenaChunk::of(self.span_at(arena.oldest.get())).set_next(page.0 as u32);
        } else {
            arena.oldest.set(chunk.start());
        }
        arena.newest.set(chunk.start());
        arena.bytes.set(has + chunk.pages().bytes());
        arena.run_start.set(chunk.start());
        arena.set_cursor(chunk.start());
        arena.set_limit(chunk.start());
        arena.real_limit.set(chunk.start());
        arena.floor.set(chunk.end());
        arena.set_data(chunk.end(), chunk.end());
        chunk.set_frontier(chunk.start());
        chunk.set_seen(chunk.start());
        publication::publish();
        Ok(())
    }

    /// Ends allocation in the current chunk.
    fn close_chunk(&self, arena: &ArenaHeader) {
        if arena.newest.get() != 0 {
            self.publish_arena(arena);
        }
    }

    /// Publishes the arena's objects, which can be found as long as nothing more is allocated from it.
    pub(super) fn publish_arena(&self, arena: &ArenaHeader) {
        if arena.newest.get() != 0 {
            self.write_bits(arena);
            self.chunk_of(arena).set_frontier(arena.cursor());
        }
    }

    /// Ends the run before another layout: its values begin at a multiple of 16 bytes.
    fn end_run(&self, arena: &ArenaHeader) {
        self.write_bits(arena);
        let (cursor, next) = (arena.cursor(), arena.cursor().next_multiple_of(GRANULE));
        if cursor != next && next <= arena.real_limit.get() {
            let bits = &self.heap().pointer_bits;
            // SAFETY: the words are this arena's, which this thread owns, and no marking visits them before the frontier
            // has passed them.
            unsafe {
                bits.write(cursor..next, |out, first| pointer_bits::clear(out, first, (next - cursor) / WORD))
            };
            arena.set_cursor(next);
            arena.run_start.set(next);
        }
    }

    /// Writes the pointer bits of the run so far.
    fn write_bits(&self, arena: &ArenaHeader) {
        let (start, cursor, layout) = (arena.run_start.get(), arena.cursor(), arena.layout.get());
        if start == cursor {
            return;
        }
        let (bits, words) = (&self.heap().pointer_bits, layout.words());
        let most = MOST_AT_ONCE / arena.step() * arena.step();
        for at in (start..cursor).step_by(most) {
            let end = cursor.min(at + most);
            let count = (end - at) / arena.step();
            // SAFETY: the words are this arena's, which this thread owns or has stopped, and no marking visits them
            // before the frontier has passed them.
            unsafe {
                bits.write(at..end, |out, first| match count {
                    1 if words <= 64 => pointer_bits::put(out, first, words, layout.mask()[0]),
                    _ => mask_times(layout.mask(), words, count, out, first),
                });
            }
        }
        arena.run_start.set(cursor);
    }

    /// Puts the arena on the active list of this cycle.
    pub(super) fn activate_arena(&self, arena: &ArenaHeader) {
        if !arena.has(ACTIVE) {
            arena.set(ACTIVE, true);
            arena.resumed.set(arena.newest.get());
            self.cache.arenas.add_active(arena);
        }
    }
}
