//! An arena's header: where its next values go, and its place among its mutator's arenas. It is an object of the heap without pointers,
//! which its mutator's list keeps alive while the arena is open; so an old handle that a collector can see leads to a header that
//! says so, never to another arena's.
//!
//! In the chunk that is allocated from lie, one behind the other: objects with pointers up to the cursor, room for more up to the
//! limit, a gap, and from the floor on blocks of values without pointers, of which the lowest has room from the data cursor up to the
//! data limit. The slow path takes from the gap, on either side. Both kinds ascend, as processors like to fetch.
//! Invariants: cursor, limit, floor, data and data limit are in this order; objects from the start of the run up to the cursor are of the
//! run's layout, and have no bits yet; a header is used by its mutator's thread, or while that is stopped.

use super::layout::ArenaLayout;
use crate::granule::GRANULE;
use crate::publication;
use core::cell::Cell;
use core::mem::offset_of;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_layout::WORD;

/// What becomes of an arena's memory when it is closed or emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ArenaKind {
    /// Nothing outside points into it by then, as lifetimes promise: its chunks may be another arena's at once.
    Borrowed = 1,
    /// Pointers into it may be left somewhere: its memory goes back, and its addresses are nobody's before a collection has seen
    /// none.
    Escaping = 2,
    /// As for a borrowed one, but a program may promise too much: then what is left of pointers into it harms the program's values, and not
    /// the heap. So values of it that live in the heap are the collector's to free.
    Promised = 3,
}

/// The life cycle of an arena.
///
/// | state | event | next | its chunks |
/// |---|---|---|---|
/// | | opened | `Open` | none before the first value |
/// | `Open` | emptied | `Open` | free, quarantined, or the collector's ([`Closing`](crate::Closing)) |
/// | `Open` | closed | `Closed` | the same |
/// | `Open` | left, or its thread ends | `Left` | the collector's: freed when nothing points into them |
/// | `Closed` | a header is wanted, and no quarantine needs it | `Open` | none |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ArenaState {
    /// It takes values.
    Open = 1,
    /// It was closed.
    Closed = 2,
    /// It was left to the collector.
    Left = 3,
}

/// Where the next value without pointers goes in an arena without a chunk, if it has no size.
pub(super) const NOWHERE: usize = GRANULE;

const MAGIC: u32 = 0x4152_4E41;

/// An arena.
#[repr(C, align(16))]
pub struct ArenaHeader {
    // The part that inline code uses.
    cursor: AtomicUsize,
    limit: AtomicUsize,
    /// What the objects of the run are to the thread that allocates; 0 if there is none.
    run: AtomicUsize,
    /// The bytes of each.
    step: AtomicUsize,
    data: AtomicUsize,
    data_limit: AtomicUsize,
    /// What the client keeps here.
    client: [Cell<usize>; 2],
    // Private from here on.
    magic: Cell<u32>,
    kind: Cell<u32>,
    state: Cell<u32>,
    pub(super) flags: Cell<u32>,
    /// The addresses of this and of the newest chunk, two slots that are roots while the arena is open; and of the oldest chunk,
    /// which the newest comes behind in the ring.
    pub(super) this: Cell<usize>,
    pub(super) newest: Cell<usize>,
    pub(super) oldest: Cell<usize>,
    /// The old chunk, if any, that it went on in after the last collection.
    pub(super) resumed: Cell<usize>,
    /// Where the run starts.
    pub(super) run_start: Cell<usize>,
    pub(super) layout: Cell<ArenaLayout>,
    /// The limit that counts, if the other was lowered so that the next allocation is noticed.
    pub(super) real_limit: Cell<usize>,
    /// Values without pointers lie from here on.
    pub(super) floor: Cell<usize>,
    pub(super) number: Cell<u64>,
    /// Bytes of its chunks.
    pub(super) bytes: Cell<usize>,
    /// Values that live in the heap: the newest of a list of cells in the arena.
    pub(super) passed: Cell<usize>,
    /// The next and the one before of its mutator's open arenas, and of those that were used since the last collection.
    pub(super) next: Cell<usize>,
    pub(super) before: Cell<usize>,
    pub(super) next_active: Cell<usize>,
    pub(super) before_active: Cell<usize>,
}

/// The flag of an arena whose objects with pointers are handed out as zeros.
pub(super) const ZEROES: u32 = 1;
/// The flag of one that is on the list of those that were used.
pub(super) const ACTIVE: u32 = 2;
/// The flag of one that has room for one value at a time, so that each allocation can be checked.
pub(super) const SINGLE: u32 = 4;

const _: () = assert!(size_of::<ArenaHeader>() <= ArenaHeader::BYTES);
/// They are adjacent.
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

    /// How it stands with it.
    pub fn state(&self) -> ArenaState {
        match self.state.get() {
            1 => ArenaState::Open,
            2 => ArenaState::Closed,
            _ => ArenaState::Left,
        }
    }

    pub(super) fn set_state(&self, state: ArenaState) {
        self.state.set(state as u32);
    }

    /// What becomes of its memory.
    pub fn kind(&self) -> ArenaKind {
        match self.kind.get() {
            1 => ArenaKind::Borrowed,
            3 => ArenaKind::Promised,
            _ => ArenaKind::Escaping,
        }
    }

    /// From now on pointers into it may be left somewhere.
    pub fn let_escape(&self) {
        self.kind.set(ArenaKind::Escaping as u32);
    }

    /// From now on each allocation takes the slow path.
    pub fn take_one_by_one(&self) {
        self.set(SINGLE, true);
    }

    /// Its number: arenas of a heap are counted from 1 on.
    pub fn number(&self) -> u64 {
        self.number.get()
    }

    /// The bytes of the pages that it has.
    pub fn bytes(&self) -> usize {
        self.bytes.get()
    }

    /// Room for whoever made it.
    pub fn client(&self) -> &[Cell<usize>; 2] {
        &self.client
    }

    /// Where the next object of the run goes, if there is room for one of `bytes` bytes.
    #[inline(always)]
    pub fn peek(&self, key: usize, bytes: usize) -> Option<usize> {
        let cursor = self.cursor.load(Ordering::Relaxed);
        let fits = self.limit.load(Ordering::Relaxed).wrapping_sub(cursor) >= bytes;
        (fits && self.run.load(Ordering::Relaxed) == key).then_some(cursor)
    }

    /// The object that was peeked at, of N bytes, exists from now on.
    #[inline(always)]
    pub fn commit(&self, object: usize, bytes: usize) {
        publication::publish_object();
        self.cursor.store(object + bytes, Ordering::Relaxed);
    }

    /// Room for a value without pointers, if there is some. Values begin at multiples of 8 bytes, or of 16 if they are to be aligned
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

    /// Values without pointers go here, up to a limit.
    pub(super) fn set_data(&self, data: usize, limit: usize) {
        // None is taken from where both are not of one block.
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

/// Of an arena without a run.
const NO_LAYOUT: ArenaLayout = match ArenaLayout::new(8, [0; 4]) {
    Some(layout) => layout,
    None => unreachable!(),
};
