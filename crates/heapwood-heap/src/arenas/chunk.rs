//! Arena chunks: the runs of pages that arenas are made of. An arena chunk has the descriptor of a large object, with
//! three more facts in it: the end of its objects with pointers, that end at the last collection, and the next chunk of
//! the arena's ring.
//!
//! The states of a chunk are those of `state`.
//!
//! Invariants: a chunk in use is in one ring, and exists as an object; any other does not exist. Its pages keep the
//! arena kind until a full marking has met no pointer into it, so a dangling pointer always leads to an arena chunk.

use super::state::{ArenaState, transition};
use crate::pages::memory::Quarantined;
use crate::spans::span::Span;
use core::sync::atomic::Ordering;
use heapwood_os::HUGE_PAGE;
use heapwood_pages::{PAGE_SIZE, PageCount};

/// The number of chunk sizes.
pub(crate) const SIZES: usize = 5;
/// The largest size: a huge chunk, with a huge page.
pub(crate) const HUGE_CHUNK: usize = SIZES - 1;

/// The size below: a huge chunk splits into four. An arena that gets one is no longer small, and so has a huge page
/// behind it.
pub(crate) const QUARTER: usize = HUGE_CHUNK - 1;

/// The pages of a chunk: each size has four times as many as the one before.
pub(crate) const fn pages_of(size: usize) -> PageCount {
    PageCount(1 << (2 * size))
}

const _: () = assert!(pages_of(HUGE_CHUNK).0 * PAGE_SIZE == HUGE_PAGE);

/// The size of a chunk of `pages` pages.
pub(crate) fn size_of_pages(pages: PageCount) -> usize {
    pages.0.trailing_zeros() as usize / 2
}

/// Longer values live in the heap. As this is a quarter of a huge chunk, no chunk wastes more than that at its end.
pub const MOST_IN_ARENA: usize = HUGE_PAGE / 4;

/// The flags of a chunk. MET: a marking has met a pointer into it while no arena had it. INSIDE: it has marks of its
/// inside. PROMISED: its closing promised that nothing refers to it. ABANDONED: its arena ended during a marking,
/// which does not look for pointers into it. PROTECTED: a thread that touches it faults.
const MET: u8 = 1;
const INSIDE: u8 = 2;
const PROMISED: u8 = 4;
const ABANDONED: u8 = 8;
const PROTECTED: u8 = 16;

/// An arena chunk, by its descriptor. The links to batches of a span of cells hold its ends here.
#[derive(Clone, Copy)]
pub(crate) struct ArenaChunk<'s>(&'s Span);

impl<'s> ArenaChunk<'s> {
    /// The arena chunk with this descriptor.
    pub(crate) fn of(span: &'s Span) -> Self {
        ArenaChunk(span)
    }

    /// Its first byte.
    pub(crate) fn start(self) -> usize {
        self.0.cells_start()
    }

    /// One past its last byte.
    pub(crate) fn end(self) -> usize {
        self.0.cells_end()
    }

    pub(crate) fn pages(self) -> PageCount {
        self.0.pages()
    }

    /// Its state.
    #[inline]
    pub(crate) fn state(self) -> ArenaState {
        ArenaState::of(self.0.held_bits().load(Ordering::Acquire))
    }

    /// Whether an arena has it.
    #[inline]
    pub(crate) fn is_in_use(self) -> bool {
        self.0.held_bits().load(Ordering::Acquire) == ArenaState::Open as u8
    }

    pub(super) fn set_state(self, state: ArenaState) {
        self.0.held_bits().store(transition(self.state(), state) as u8, Ordering::Release);
    }

    /// The end of its objects with pointers, as of the last stop, or when its arena went on to another chunk. A marker
    /// beside the program that reads it sees their bits.
    pub(crate) fn frontier(self) -> usize {
        self.start() + self.0.link(0).load(Ordering::Acquire) as usize
    }

    pub(super) fn set_frontier(self, at: usize) {
        self.0.link(0).store((at - self.start()) as u32, Ordering::Release);
    }

    /// That end when the last collection ended.
    pub(crate) fn seen(self) -> usize {
        self.start() + self.0.link(1).load(Ordering::Relaxed) as usize
    }

    pub(super) fn set_seen(self, at: usize) {
        self.0.link(1).store((at - self.start()) as u32, Ordering::Relaxed);
    }

    /// The first page of the next chunk of the ring, or of the stack.
    pub(crate) fn next(self) -> u32 {
        self.0.next()
    }

    pub(super) fn set_next(self, page: u32) {
        self.0.set_next(page);
    }

    /// Notes that a marking has followed a pointer into it and marked the inside.
    pub(crate) fn note_inside(self) {
        self.set_flag(INSIDE);
    }

    /// Whether it has had marks inside since it was taken.
    pub(crate) fn has_marks_inside(self) -> bool {
        self.0.flags().load(Ordering::Relaxed) & INSIDE != 0
    }

    /// Notes that a marking has met a pointer into it while no arena has it.
    pub(crate) fn note_met(self) {
        self.set_flag(MET);
    }

    pub(super) fn was_met(self) -> bool {
        self.0.flags().load(Ordering::Relaxed) & MET != 0
    }

    pub(super) fn take_met(self) -> bool {
        self.0.flags().fetch_and(!MET, Ordering::Relaxed) & MET != 0
    }

    /// Notes the promise that nothing refers to it.
    pub(super) fn note_promised(self) {
        self.set_flag(PROMISED);
    }

    pub(super) fn is_promised(self) -> bool {
        self.0.flags().load(Ordering::Relaxed) & PROMISED != 0
    }

    /// Notes that its arena was closed or emptied during a marking that began before the chunk was made.
    pub(super) fn note_abandoned(self) {
        self.set_flag(ABANDONED);
    }

    pub(super) fn is_abandoned(self) -> bool {
        self.0.flags().load(Ordering::Relaxed) & ABANDONED != 0
    }

    /// It cannot be read or written while it is quarantined.
    pub(super) fn note_protected(self) {
        self.set_flag(PROTECTED);
    }

    /// The state of its memory while it is quarantined.
    pub(super) fn quarantined(self) -> Quarantined {
        let protected = self.0.flags().load(Ordering::Relaxed) & PROTECTED != 0;
        Quarantined { protected, empty: self.0.is_fresh() }
    }

    pub(super) fn take_protected(self) -> bool {
        self.0.flags().fetch_and(!PROTECTED, Ordering::Relaxed) & PROTECTED != 0
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

    /// The number of the arena that has it, or had it last.
    pub(crate) fn arena(self) -> u64 {
        self.0.owner_number()
    }

    /// The full cycle in which it became free.
    pub(super) fn freed_in(self) -> u32 {
        self.0.swept_in()
    }
}
