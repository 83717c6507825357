//! An arena's header: its cursors, and its place among its mutator's arenas. It is a heap object without pointers,
//! which its mutator's list keeps alive while the arena is open. An old handle that a collection can see thus leads to
//! a header that is marked closed, never to another arena's.
//!
//! The current chunk holds, in order of address: objects with pointers up to the cursor, room for more up to the limit,
//! a gap, and from the floor on blocks of values without pointers, the lowest with room from the data cursor up to the
//! data limit. The slow path takes from the gap on either side. Both kinds ascend, which suits hardware prefetching.
//! Invariants: cursor, limit, floor, data and data limit are in this order; objects from the start of the run up to the
//! cursor are of the run's layout and have no bits yet; only the mutator's thread uses the header, or a thread that has
//! stopped it.

use super::layout::ArenaLayout;
use super::state::{ArenaState, transition};
use crate::granule::GRANULE;
use crate::publication;
use core::cell::Cell;
use core::mem::offset_of;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_layout::WORD;

/// The way that an arena's memory is reused after it is closed or emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ArenaKind {
    /// Lifetimes guarantee that nothing points into it by then: another arena may have its chunks at once.
    Borrowed = 1,
    /// Pointers into it may be left: its memory is released, and its addresses are quarantined until a collection has
    /// seen no such pointer.
    Escaping = 2,
    /// As borrowed, but by the program's promise, which may be wrong. Pointers that are left then harm the program's
    /// values, not the heap: values of the arena that live in the heap stay the collector's to free.
    Promised = 3,
}

/// The address of values of size 0 without pointers in an arena without a chunk.
pub(super) const NOWHERE: usize = GRANULE;

const MAGIC: u32 = 0x4152_4E41;

/// An arena.
#[repr(C, align(16))]
pub struct ArenaHeader {
    // The fields that inline code uses.
    cursor: AtomicUsize,
    limit: AtomicUsize,
    /// The client's key of the run's layout; 0 without a run.
    run: AtomicUsize,
    /// The bytes of an object of the run.
    step: AtomicUsize,
    data: AtomicUsize,
    data_limit: AtomicUsize,
    /// Words for the client.
    client: [Cell<usize>; 2],
    // Private from here on.
    magic: Cell<u32>,
    kind: Cell<u32>,
    state: Cell<u32>,
    pub(super) flags: Cell<u32>,
    /// The address of this header and of the newest chunk: two adjacent slots that are roots while the arena is open.
    /// And the oldest chunk, whose next in the ring is the newest.
    pub(super) this: Cell<usize>,
    pub(super) newest: Cell<usize>,
    pub(super) oldest: Cell<usize>,
    /// The old chunk, if any, in which it continued after the last collection.
    pub(super) resumed: Cell<usize>,
    /// The start of the run.
    pub(super) run_start: Cell<usize>,
    pub(super) layout: Cell<ArenaLayout>,
    /// The actual limit; `limit` may be lower, so that the next allocation takes the slow path.
    pub(super) real_limit: Cell<usize>,
    /// The start of values without pointers.
    pub(super) floor: Cell<usize>,
    pub(super) number: Cell<u64>,
    /// Bytes of its chunks.
    pub(super) bytes: Cell<usize>,
    /// The newest cell that names a value in the heap, the head of their list.
    pub(super) passed: Cell<usize>,
    /// Links of its mutator's open arenas, and of the active ones.
    pub(super) next: Cell<usize>,
    pub(super) before: Cell<usize>,
    pub(super) next_active: Cell<usize>,
    pub(super) before_active: Cell<usize>,
}

/// The flag of an arena whose objects with pointers are allocated as zeros.
pub(super) const ZEROES: u32 = 1;
/// The flag of an arena on the active list.
pub(super) const ACTIVE: u32 = 2;
/// The flag of an arena with room for one value at a time, so that each allocation can be checked.
pub(super) const SINGLE: u32 = 4;

const _: () = assert!(size_of::<ArenaHeader>() <= ArenaHeader::BYTES);
/// The two root slots are adjacent.
const _: () = assert!(offset_of!(ArenaHeader, newest) == offset_of!(ArenaHeader, this) + size_of::<usize>());

impl ArenaHeader {
    /// The bytes of a header's cell.
    pub const BYTES: usize = 384;
    /// Offset of the address of the next object with pointers.
    pub const CURSOR_OFFSET: usize = offset_of!(ArenaHeader, cursor);
    /// Offset of one past the room for those.
    pub const LIMIT_OFFSET: usize = offset_of!(ArenaHeader, limit);
    /// Offset of the run's key.
    pub const RUN_OFFSET: usize = offset_of!(ArenaHeader, run);
    /// Offset of the bytes of an object of the run.
    pub const STEP_OFFSET: usize = offset_of!(ArenaHeader, step);
    /// Offset of the address of the next value without pointers.
    pub const DATA_OFFSET: usize = offset_of!(ArenaHeader, data);
    /// Offset of one past the room for those.
    pub const DATA_LIMIT_OFFSET: usize = offset_of!(ArenaHeader, data_limit);

    /// An arena without a chunk.
    pub(super) fn new(this: usize, kind: ArenaKind, zeroes: bool, number: u64) -> Self {
        let nothing = || Cell::new(0);
        ArenaHeader {
            cursor: AtomicUsize::new(0),
            limit: AtomicUsize::new(0),
            run: AtomicUsize::new(0),
            step: AtomicUsize::new(NO_LAYOUT.bytes()),
            data: AtomicUsize::new(NOWHERE),
            data_limit: AtomicUsize::new(NOWHERE),
            client: [nothing(), nothing()],
            magic: Cell::new(MAGIC),
            kind: Cell::new(kind as u32),
            state: Cell::new(ArenaState::Open as u32),
            flags: Cell::new(if zeroes { ZEROES } else { 0 }),
            this: Cell::new(this),
            newest: nothing(),
            oldest: nothing(),
            resumed: nothing(),
            run_start: nothing(),
            layout: Cell::new(NO_LAYOUT),
            real_limit: nothing(),
            floor: nothing(),
            number: Cell::new(number),
            bytes: nothing(),
            passed: nothing(),
            next: nothing(),
            before: nothing(),
            next_active: nothing(),
            before_active: nothing(),
        }
    }

    /// Whether this memory holds a header, open or not.
    pub fn is_header(&self) -> bool {
        self.magic.get() == MAGIC
    }

    /// The arena's state.
    pub fn state(&self) -> ArenaState {
        ArenaState::of(self.state.get() as u8)
    }

    pub(super) fn set_state(&self, state: ArenaState) {
        self.state.set(transition(self.state(), state) as u32);
    }

    /// The arena's kind.
    pub fn kind(&self) -> ArenaKind {
        match self.kind.get() {
            1 => ArenaKind::Borrowed,
            3 => ArenaKind::Promised,
            _ => ArenaKind::Escaping,
        }
    }

    /// Makes it an escaping arena: from now on pointers into it may be left somewhere.
    pub fn let_escape(&self) {
        self.kind.set(ArenaKind::Escaping as u32);
    }

    /// Sends each allocation to the slow path from now on.
    pub fn take_one_by_one(&self) {
        self.set(SINGLE, true);
    }

    /// Its number: arenas of a heap are counted from 1 on.
    pub fn number(&self) -> u64 {
        self.number.get()
    }

    /// The bytes of its chunks.
    pub fn bytes(&self) -> usize {
        self.bytes.get()
    }

    /// The client's words.
    pub fn client(&self) -> &[Cell<usize>; 2] {
        &self.client
    }

    /// The address of the next object of the run, if there is room for one of `bytes` bytes.
    #[inline(always)]
    pub fn peek(&self, key: usize, bytes: usize) -> Option<usize> {
        let cursor = self.cursor.load(Ordering::Relaxed);
        let fits = self.limit.load(Ordering::Relaxed).wrapping_sub(cursor) >= bytes;
        (fits && self.run.load(Ordering::Relaxed) == key).then_some(cursor)
    }

    /// Commits the object of `bytes` bytes at the address that `peek` returned: it exists from now on.
    #[inline(always)]
    pub fn commit(&self, object: usize, bytes: usize) {
        publication::publish_object();
        self.cursor.store(object + bytes, Ordering::Relaxed);
    }

    /// Takes room for a value without pointers, if there is some, at a multiple of 8 bytes, or of 16 if `align` says
    /// so.
    #[inline(always)]
    pub fn take_data(&self, bytes: usize, align: usize) -> Option<usize> {
        let mut at = self.data.load(Ordering::Relaxed);
        if align > WORD {
            at = at.next_multiple_of(GRANULE);
        }
        let end = at + bytes.next_multiple_of(WORD);
        if end > self.data_limit.load(Ordering::Relaxed) {
            return None;
        }
        self.data.store(end, Ordering::Relaxed);
        Some(at)
    }

    pub(super) fn cursor(&self) -> usize {
        self.cursor.load(Ordering::Relaxed)
    }

    pub(super) fn set_cursor(&self, at: usize) {
        self.cursor.store(at, Ordering::Relaxed);
    }

    pub(super) fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    pub(super) fn set_limit(&self, at: usize) {
        self.limit.store(at, Ordering::Relaxed);
    }

    pub(super) fn set_run(&self, key: usize, layout: ArenaLayout) {
        self.layout.set(layout);
        self.step.store(layout.bytes(), Ordering::Relaxed);
        self.run.store(key, Ordering::Relaxed);
    }

    pub(super) fn run(&self) -> usize {
        self.run.load(Ordering::Relaxed)
    }

    pub(super) fn step(&self) -> usize {
        self.step.load(Ordering::Relaxed)
    }

    /// Sets the block for values without pointers.
    pub(super) fn set_data(&self, data: usize, limit: usize) {
        // A limit of 0 keeps a thread stopped here from taking a cell between two blocks.
        self.data_limit.store(0, Ordering::Relaxed);
        self.data.store(data, Ordering::Relaxed);
        self.data_limit.store(limit, Ordering::Relaxed);
    }

    pub(super) fn has(&self, flag: u32) -> bool {
        self.flags.get() & flag != 0
    }

    pub(super) fn set(&self, flag: u32, on: bool) {
        self.flags.set(self.flags.get() & !flag | if on { flag } else { 0 });
    }
}

/// The layout of an arena without a run.
const NO_LAYOUT: ArenaLayout = match ArenaLayout::new(8, [0; 4]) {
    Some(layout) => layout,
    None => unreachable!(),
};
