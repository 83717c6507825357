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

use crate::layout::demand::Demand;
use crate::layout::shape_id::{MAX_SHAPES, ShapeId};
use crate::pages::page_heap::{Growth, PageHeap};
use crate::spans::lookup::Spans;
use crate::spans::span_list::SpanList;
use core::ops::Range;
use heapwood_os::region::Zeroed;
use heapwood_os::{KernelRef, MappedArray, OsError};
use heapwood_pages::{PAGE_SIZE, PageCount, PageIndex};

/// The spans of one shape that no mutator owns.
#[derive(Clone, Copy)]
pub(crate) struct ShapeLists {
    /// Not looked at since the last marking.
    unswept: SpanList,
    /// Swept or given back, with cells behind the frontier that may be free.
    partial: SpanList,
    /// Without free cells until the next marking.
    full: SpanList,
    /// The cycle that all this is about.
    cycle: u32,
}

// SAFETY: all-zero bytes are empty lists of a cycle that never was; they hold plain numbers.
unsafe impl Zeroed for ShapeLists {}

impl ShapeLists {
    fn is_empty(&self) -> bool {
        self.unswept.is_empty() && self.partial.is_empty() && self.full.is_empty()
    }

    /// A marking has ended. Those that were not used last come last: the longer a span rests the emptier it gets.
    fn begin_cycle(&mut self, spans: &Spans, cycle: u32) {
        debug_assert!(self.unswept.is_empty(), "everything is swept before the next marking");
        self.cycle = cycle;
        self.unswept.append(spans, core::mem::take(&mut self.full));
        self.unswept.append(spans, core::mem::take(&mut self.partial));
    }

    /// Up to `most` spans for a mutator to use: unswept ones, or else partly free ones.
    pub(crate) fn take_home(&mut self, spans: &Spans, most: u32) -> SpanList {
        let unswept = self.unswept.split(spans, most);
        if unswept.is_empty() { self.partial.split(spans, most) } else { unswept }
    }

    /// Spans come back that have free cells, to be used before the others.
    pub(crate) fn give_back(&mut self, spans: &Spans, with_free_cells: SpanList) {
        self.partial.prepend(spans, with_free_cells);
    }

    /// Spans come that have no free cells.
    pub(crate) fn add_full(&mut self, spans: &Spans, full: SpanList) {
        self.full.append(spans, full);
    }

    /// The lists; whether the spans of each have been swept; whether they may have free cells.
    pub(crate) fn all(&self) -> [(SpanList, bool, bool); 3] {
        [(self.unswept, false, true), (self.partial, true, true), (self.full, true, false)]
    }
}

const WORDS: usize = MAX_SHAPES / 64;

/// The state behind the heap's lock.
pub(crate) struct Central {
    growth: Growth,
    lists: MappedArray<ShapeLists>,
    /// A bit for each shape that may have spans on its lists.
    listed: [u64; WORDS],
    /// No shape below has unswept spans.
    sweep_from: u32,
    /// Packs of spans that were taken off the unswept lists by those who sweep for everyone.
    in_hand: usize,
    /// Nobody but the collector may take unswept spans in order to sweep them for everyone.
    suspended: bool,
    budget: usize,
    counts: Counts,
    /// Pages of large objects that are being made: in use, but in no span yet.
    unfinished: PageCount,
}

/// What was handed out.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    /// Bytes since the last marking.
    pub(crate) in_cycle: usize,
    /// Bytes since the heap was made.
    pub(crate) total: u64,
    /// Small-object spans since the heap was made,
    pub(crate) spans: u64,
    /// and how often mutators took the lock for none, one or many of them.
    pub(crate) lock_acquisitions: u64,
}

/// What a mutator has taken without telling, and what it gave back.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Account {
    /// Bytes taken.
    pub(crate) owed: usize,
    /// Bytes that were charged once and have been given back unused.
    pub(crate) returned: usize,
    /// Spans taken.
    pub(crate) spans: u32,
}

impl Central {
    pub(crate) fn new(kernel: KernelRef, growth: Growth) -> Result<Self, OsError> {
        Ok(Central {
            growth,
            lists: MappedArray::new(kernel, MAX_SHAPES)?,
            listed: [0; WORDS],
            sweep_from: 1,
            in_hand: 0,
            suspended: false,
            budget: usize::MAX,
            counts: Counts::default(),
            unfinished: PageCount(0),
        })
    }

    /// Makes room for the lists of shapes with these numbers.
    pub(crate) fn commit(&self, shapes: Range<usize>) -> Result<(), OsError> {
        self.lists.commit(shapes)
    }

    /// The right to grow.
    pub(crate) fn growth(&mut self) -> &mut Growth {
        &mut self.growth
    }

    /// The lists of a shape, about the cycle that is under way.
    pub(crate) fn lists(&mut self, heap: &PageHeap, demand: &Demand, shape: ShapeId) -> &mut ShapeLists {
        let cycle = heap.marks().cycle();
        // SAFETY: the lists of registered shapes are committed, and `&mut self` means that the lock is held.
        let lists = unsafe { &mut *self.lists.at(shape.index()) };
        if lists.cycle != cycle {
            lists.begin_cycle(heap.spans(), cycle);
            demand.begin_cycle(shape, cycle, !lists.unswept.is_empty());
        }
        self.listed[shape.index() / 64] |= 1 << (shape.index() % 64);
        lists
    }

    /// Unswept spans of some shape, up to `most` of them, for someone who sweeps for everyone and then hands them back by
    /// [`put_down`](Self::put_down).
    pub(crate) fn pick_up(
        &mut self,
        heap: &PageHeap,
        demand: &Demand,
        most: u32,
    ) -> Option<(ShapeId, SpanList)> {
        while let Some(shape) = self.next_listed(self.sweep_from) {
            self.sweep_from = shape.index() as u32;
            let lists = self.lists(heap, demand, shape);
            let pack = lists.unswept.split(heap.spans(), most);
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

    /// What became of spans that were picked up; those without an object are free pages now.
    pub(crate) fn put_down(&mut self, spans: &Spans, shape: ShapeId, partial: SpanList, full: SpanList) {
        // SAFETY: as for `lists`, which whoever picked the spans up has put in order; no cycle ends meanwhile.
        let lists = unsafe { &mut *self.lists.at(shape.index()) };
        lists.partial.append(spans, partial);
        lists.full.append(spans, full);
        self.listed[shape.index() / 64] |= 1 << (shape.index() % 64);
        self.in_hand -= 1;
    }

    /// Unswept spans that a mutator had taken come back, before the others.
    pub(crate) fn return_unswept(
        &mut self,
        heap: &PageHeap,
        demand: &Demand,
        shape: ShapeId,
        spans: SpanList,
    ) {
        if !spans.is_empty() {
            self.lists(heap, demand, shape).unswept.prepend(heap.spans(), spans);
            self.sweep_from = self.sweep_from.min(shape.index() as u32);
        }
    }

    /// Whether spans are being swept for everyone.
    pub(crate) fn is_being_swept(&self) -> bool {
        self.in_hand != 0
    }

    /// Whether nobody but the collector may begin to.
    pub(crate) fn is_suspended(&self) -> bool {
        self.suspended
    }

    /// Nobody but the collector may from now on, or everybody again.
    pub(crate) fn suspend(&mut self, suspended: bool) {
        self.suspended = suspended;
    }

    /// A marking has ended: what is on lists is unswept, and so many bytes may be handed out. Returns how many were.
    pub(crate) fn begin_cycle(&mut self, budget: usize) -> usize {
        self.sweep_from = 1;
        self.budget = budget;
        core::mem::take(&mut self.counts.in_cycle)
    }

    /// Sets how many bytes may be handed out before the next collection is due.
    pub(crate) fn set_budget(&mut self, bytes: usize) {
        self.budget = bytes;
    }

    /// How many spans a mutator may take home, or make, before it comes here again: up to `most`, and few near the end of the
    /// budget.
    pub(crate) fn credit(&self, most: u32) -> u32 {
        let left = self.budget.saturating_sub(self.counts.in_cycle) / PAGE_SIZE;
        (left / 4).clamp(1, most as usize) as u32
    }

    /// The first shape from number `from` on that may have spans on its lists.
    pub(crate) fn next_listed(&self, from: u32) -> Option<ShapeId> {
        let (mut word, from) = (from as usize / 64, from % 64);
        let mut bits = self.listed.get(word)? & u64::MAX << from;
        while bits == 0 {
            word += 1;
            bits = *self.listed.get(word)?;
        }
        Some(ShapeId::from_index((word * 64) as u32 + bits.trailing_zeros()))
    }

    /// Whether a collection should come before `bytes` more are handed out: they exceed the budget, and something
    /// was handed out since the last collection, so that one more may help.
    pub(crate) fn collection_due(&self, bytes: usize) -> bool {
        let handed_out = self.counts.in_cycle;
        handed_out > 0 && handed_out.saturating_add(bytes) > self.budget
    }

    /// Notes what a mutator was handed out, and what came back of that.
    pub(crate) fn settle(&mut self, Account { owed, returned, spans }: Account) {
        let counts = &mut self.counts;
        counts.in_cycle = (counts.in_cycle + owed).saturating_sub(returned);
        counts.total = (counts.total + owed as u64).saturating_sub(returned as u64);
        counts.spans += spans as u64;
    }

    /// A mutator took the lock for spans.
    pub(crate) fn note_acquisition(&mut self) {
        self.counts.lock_acquisitions += 1;
    }

    /// What was handed out so far.
    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// Pages were taken for a large object; they are charged.
    pub(crate) fn begin_large(&mut self, pages: PageCount) {
        self.settle(Account { owed: pages.bytes(), ..Account::default() });
        self.unfinished = PageCount(self.unfinished.0 + pages.0);
    }

    /// They are an object now, whose span begins with a page.
    pub(crate) fn finish_large(&mut self, heap: &PageHeap, demand: &Demand, page: PageIndex) {
        let span = heap.spans().at(page);
        self.unfinished = PageCount(self.unfinished.0 - span.pages().0);
        self.lists(heap, demand, span.shape()).full.push(heap.spans(), page);
    }

    /// Pages of large objects that are being made.
    pub(crate) fn unfinished(&self) -> PageCount {
        self.unfinished
    }
}
