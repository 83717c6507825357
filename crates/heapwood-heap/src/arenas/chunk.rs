//! Pieces: the runs of pages that arenas are made of. A chunk has the descriptor of a large object, and more in it: how far objects
//! with pointers reach, how far the last collection saw them, and the next chunk of the arena's ring.
//!
//! ```text
//!   free pages --take--> IN USE (an arena) --close, sweep--> FREE (for the next arena) --idle--> free pages
//!                           ^                 |                 ^
//!                           +--- take --------|-----------------+ a full marking has met no pointer into it
//!                                             +--> RESTING (addresses without memory)
//! ```
//!
//! Invariants: in use, a chunk is in one ring, and exists as an object; else it does not. What lies in a page has the kind of a chunk
//! until a full marking has met no pointer into it, so a pointer that was left somewhere leads to a chunk, whatever became of it.

use crate::spans::span::Span;
use core::sync::atomic::Ordering;
use heapwood_os::HUGE_PAGE;
use heapwood_pages::{PAGE_SIZE, PageCount};

/// How many sizes of chunks there are.
pub(crate) const SIZES: usize = 5;
/// The last: a chunk with a huge page.
pub(crate) const CHUNK: usize = SIZES - 1;

/// The size below, of which a chunk makes four: an arena that gets one is no small one any more, and so has a huge page behind it.
pub(crate) const QUARTER: usize = CHUNK - 1;

/// The pages of a chunk: each size has four times as many as the one before.
pub(crate) const fn pages_of(size: usize) -> PageCount {
    PageCount(1 << (2 * size))
}

const _: () = assert!(pages_of(CHUNK).0 * PAGE_SIZE == HUGE_PAGE);

/// The size of a chunk of N pages.
pub(crate) fn size_of_pages(pages: PageCount) -> usize {
    pages.0.trailing_zeros() as usize / 2
}

/// What is longer is passed to the heap: a quarter of a chunk, so that no chunk loses more than that at its end.
pub const MOST_IN_ARENA: usize = HUGE_PAGE / 4;

/// How it stands with a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ArenaChunkState {
    /// An arena's.
    InUse = 1,
    /// For the next arena.
    Free = 2,
    /// For nobody, and without memory.
    Quarantined = 3,
}

/// The flags of a chunk: a marking has met a pointer into it that is not used any more; it has marks of its inside; it was given up
/// with the promise that nothing refers to it; it was given up during a concurrent marking, which does not look at what leads there.
const MET: u8 = 1;
const INSIDE: u8 = 2;
const PROMISED: u8 = 4;
const GIVEN_UP: u8 = 8;

/// A chunk, by its descriptor. Where a span of cells has links to batches, it has how far it is used.
#[derive(Clone, Copy)]
pub(crate) struct ArenaChunk<'s>(&'s Span);

impl<'s> ArenaChunk<'s> {
    /// The chunk whose descriptor this is.
    pub(crate) fn of(span: &'s Span) -> Self {
        ArenaChunk(span)
    }

    /// Its first byte.
    pub(crate) fn start(self) -> usize {
        self.0.cells_start()
    }

    /// One past its last.
    pub(crate) fn end(self) -> usize {
        self.0.cells_end()
    }

    pub(crate) fn pages(self) -> PageCount {
        self.0.pages()
    }

    /// How it stands with it.
    pub(crate) fn state(self) -> ArenaChunkState {
        match self.0.held_bits().load(Ordering::Acquire) {
            1 => ArenaChunkState::InUse,
            2 => ArenaChunkState::Free,
            _ => ArenaChunkState::Quarantined,
        }
    }

    pub(super) fn set_state(self, state: ArenaChunkState) {
        self.0.held_bits().store(state as u8, Ordering::Release);
    }

    /// Objects with pointers reach up to this address, as of the last stop.
    pub(crate) fn frontier(self) -> usize {
        self.start() + self.0.link(0).load(Ordering::Relaxed) as usize
    }

    pub(super) fn set_frontier(self, at: usize) {
        self.0.link(0).store((at - self.start()) as u32, Ordering::Relaxed);
    }

    /// And did so when the last collection ended.
    pub(crate) fn seen(self) -> usize {
        self.start() + self.0.link(1).load(Ordering::Relaxed) as usize
    }

    pub(super) fn set_seen(self, at: usize) {
        self.0.link(1).store((at - self.start()) as u32, Ordering::Relaxed);
    }

    /// The first page of the next chunk of the ring, or of the next that is free.
    pub(crate) fn next(self) -> u32 {
        self.0.next()
    }

    pub(super) fn set_next(self, page: u32) {
        self.0.set_next(page);
    }

    /// A marking has come to it by a pointer to its inside, and has marked that.
    pub(crate) fn note_inside(self) {
        self.set_flag(INSIDE);
    }

    /// Whether one has, since it was taken.
    pub(crate) fn has_marks_inside(self) -> bool {
        self.0.flags().load(Ordering::Relaxed) & INSIDE != 0
    }

    /// A marking has met a pointer into it, which is not used.
    pub(crate) fn note_met(self) {
        self.set_flag(MET);
    }

    pub(super) fn was_met(self) -> bool {
        self.0.flags().load(Ordering::Relaxed) & MET != 0
    }

    pub(super) fn take_met(self) -> bool {
        self.0.flags().fetch_and(!MET, Ordering::Relaxed) & MET != 0
    }

    /// It was promised that nothing refers to it.
    pub(super) fn note_promised(self) {
        self.set_flag(PROMISED);
    }

    pub(super) fn is_promised(self) -> bool {
        self.0.flags().load(Ordering::Relaxed) & PROMISED != 0
    }

    /// Its arena was closed or emptied during a concurrent marking that had begun before the chunk was made.
    pub(super) fn note_given_up(self) {
        self.set_flag(GIVEN_UP);
    }

    pub(super) fn is_given_up(self) -> bool {
        self.0.flags().load(Ordering::Relaxed) & GIVEN_UP != 0
    }

    fn set_flag(self, flag: u8) {
        if self.0.flags().load(Ordering::Relaxed) & flag == 0 {
            self.0.flags().fetch_or(flag, Ordering::Relaxed);
        }
    }

    /// Whether its memory reads as zeros.
    pub(crate) fn is_fresh(self) -> bool {
        self.0.is_fresh()
    }

    /// The arena that has it, or had it last.
    pub(crate) fn arena(self) -> u64 {
        self.0.owner_number()
    }

    /// When it came to be free: a count of full markings.
    pub(super) fn freed_in(self) -> u32 {
        self.0.swept_in()
    }
}
