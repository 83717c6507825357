//! What mutators share under one lock: the lists of spans by shape, and the cycle's budget. (Pages have a lock of their
//! own; who needs both takes this one first.)
//!
//! A span that no mutator owns is on one of three lists of its shape:
//!
//! ```text
//!   UNSWEPT --swept, something free--> PARTIAL --taken--> (a mutator) --used up--> FULL
//!      |  \----swept, nothing free------------------------------------------------^  |
//!      |                              PARTIAL <--given back with free cells--/       |
//!      \--swept, nothing alive--> free pages                                         |
//!   end of marking: FULL and PARTIAL are UNSWEPT again <-----------------------------/
//! ```
//!
//! The last step costs nothing when marking ends: each shape's lists say in which cycle they were last put in order,
//! and whoever touches them first does it. A mutator comes here once for several spans. Invariant: every span is on
//! exactly one list here, or is a mutator's, or has just been taken by the thread that holds the lock, or is one of
//! those that somebody sweeps (`in_hand`).

use crate::shape_id::{MAX_SHAPES, ShapeId};
use crate::space::Space;
use crate::span_list::SpanList;
use heapwood_os::region::Zeroed;
use heapwood_os::{KernelRef, MappedArray, OsError};
use heapwood_pages::{PageCount, PageIndex};

/// The spans of one shape that no mutator owns.
#[derive(Clone, Copy)]
pub(crate) struct ShapeLists {
    /// Not looked at since the last marking.
    pub(crate) unswept: SpanList,
    /// Swept or given back, with cells behind the frontier that may be free.
    pub(crate) partial: SpanList,
    /// Without free cells until the next marking.
    pub(crate) full: SpanList,
    /// The cycle that all this is about.
    cycle: u32,
}

// SAFETY: all-zero bytes are empty lists of a cycle that never was; they hold plain numbers.
unsafe impl Zeroed for ShapeLists {}

impl ShapeLists {
    fn is_empty(&self) -> bool {
        self.unswept.is_empty() && self.partial.is_empty() && self.full.is_empty()
    }
}

const WORDS: usize = MAX_SHAPES / 64;

/// The state behind the heap's lock.
pub(crate) struct Central {
    /// Everything below has been grown or skipped; metadata is committed up to here.
    pub(crate) high_water: PageIndex,
    lists: MappedArray<ShapeLists>,
    /// A bit for each shape that may have spans on its lists.
    listed: [u64; WORDS],
    /// No shape below has unswept spans.
    sweep_from: u32,
    /// Spans that were taken off the unswept lists by those who sweep for everyone.
    pub(crate) in_hand: usize,
    /// Nobody but the collector may take unswept spans in order to sweep them for everyone.
    pub(crate) suspended: bool,
    /// Bytes handed out since the last marking, and how many may be.
    pub(crate) allocated: usize,
    pub(crate) budget: usize,
    /// Bytes handed out since the heap was made.
    pub(crate) total_allocated: u64,
    /// Small-object spans handed out since the heap was made, and visits to this state in which none, one or many were.
    pub(crate) spans: u64,
    pub(crate) visits: u64,
    /// Pages of large objects that are being made: in use, but in no span yet.
    pub(crate) unfinished: PageCount,
}

impl Central {
    pub(crate) fn new(kernel: KernelRef) -> Result<Self, OsError> {
        Ok(Central {
            high_water: PageIndex(0),
            lists: MappedArray::new(kernel, MAX_SHAPES)?,
            listed: [0; WORDS],
            sweep_from: 1,
            in_hand: 0,
            suspended: false,
            allocated: 0,
            budget: usize::MAX,
            total_allocated: 0,
            spans: 0,
            visits: 0,
            unfinished: PageCount(0),
        })
    }

    /// Makes room for the lists of shapes with numbers below `shapes`.
    pub(crate) fn commit(&self, shapes: core::ops::Range<usize>) -> Result<(), OsError> {
        self.lists.commit(shapes)
    }

    /// The lists of a shape, about the cycle that is under way.
    pub(crate) fn lists(&mut self, space: &Space, shape: ShapeId) -> &mut ShapeLists {
        let cycle = space.cycle();
        // SAFETY: the lists of registered shapes are committed, and `&mut self` means that the lock is held.
        let lists = unsafe { &mut *self.lists.at(shape.index()) };
        if lists.cycle != cycle {
            lists.cycle = cycle;
            debug_assert!(lists.unswept.is_empty(), "everything is swept before the next marking");
            // Those that were not used last come last: the longer a span rests the emptier it gets.
            lists.unswept.append(space, core::mem::take(&mut lists.full));
            lists.unswept.append(space, core::mem::take(&mut lists.partial));
            space.rare.begin_cycle(shape, cycle, !lists.unswept.is_empty());
        }
        self.listed[shape.index() / 64] |= 1 << (shape.index() % 64);
        lists
    }

    /// Unswept spans of some shape, up to `most` of them, for someone who sweeps for everyone and then hands them back by
    /// [`put_down`](Self::put_down).
    pub(crate) fn pick_up(&mut self, space: &Space, most: u32) -> Option<(ShapeId, SpanList)> {
        while let Some(shape) = self.next_listed(self.sweep_from) {
            self.sweep_from = shape.0;
            let lists = self.lists(space, shape);
            let pack = lists.unswept.split(space, most);
            if !pack.is_empty() {
                self.in_hand += 1;
                return Some((shape, pack));
            }
            if lists.is_empty() {
                self.listed[shape.index() / 64] &= !(1 << (shape.index() % 64));
            }
            self.sweep_from += 1;
        }
        None
    }

    /// What became of spans that were picked up.
    pub(crate) fn put_down(&mut self, space: &Space, shape: ShapeId, partial: SpanList, full: SpanList) {
        let lists = self.lists(space, shape);
        lists.partial.append(space, partial);
        lists.full.append(space, full);
        self.in_hand -= 1;
    }

    /// Unswept spans that a mutator had taken come back, before the others.
    pub(crate) fn return_unswept(&mut self, space: &Space, shape: ShapeId, spans: SpanList) {
        if !spans.is_empty() {
            self.lists(space, shape).unswept.prepend(space, spans);
            self.sweep_from = self.sweep_from.min(shape.0);
        }
    }

    /// A marking has ended: what is on lists is unswept.
    pub(crate) fn begin_cycle(&mut self) {
        self.sweep_from = 1;
    }

    /// The first shape from number `from` on that may have spans on its lists.
    pub(crate) fn next_listed(&self, from: u32) -> Option<ShapeId> {
        let (mut word, from) = (from as usize / 64, from % 64);
        let mut bits = self.listed.get(word)? & u64::MAX << from;
        while bits == 0 {
            word += 1;
            bits = *self.listed.get(word)?;
        }
        Some(ShapeId((word * 64) as u32 + bits.trailing_zeros()))
    }

    /// Whether a collection should come before `bytes` more are handed out: they exceed the budget, and something
    /// was handed out since the last collection, so that one more may help.
    pub(crate) fn collection_due(&self, bytes: usize) -> bool {
        self.allocated > 0 && self.allocated.saturating_add(bytes) > self.budget
    }

    /// Notes that `bytes` were handed out, and `back` of what was handed out before came back.
    pub(crate) fn charge(&mut self, bytes: usize, back: usize) {
        self.allocated = (self.allocated + bytes).saturating_sub(back);
        self.total_allocated = (self.total_allocated + bytes as u64).saturating_sub(back as u64);
    }
}
