//! What mutators share under one lock: the lists of spans by shape, cells that were freed, and the cycle's budget. (Pages
//! have a lock of their own; who needs both takes this one first.)
//!
//! A span that no mutator has is on one of five lists of its shape:
//!
//! ```text
//!   UNSWEPT --taken, swept--> (a mutator) --used up--> USED
//!      |                       ^   ^   \--given back with free cells--> BEGUN
//!      |                       |   \----------------taken---------------/
//!      |                       \--------------------taken-------- PARTIAL
//!      |--swept for everyone, something free------------------------^
//!      |--swept for everyone, nothing free--> FULL
//!      \--swept for everyone, nothing alive--> free pages
//!   a young collection: USED, BEGUN and what mutators have in the cache are UNSWEPT again
//!   a full collection: FULL and PARTIAL, too
//! ```
//!
//! So what follows a young collection looks at those spans alone that were allocated from since the one before. These steps
//! cost nothing for what is here: each shape's lists say in which cycle they were last put in order, and the thread that touches
//! them first does it. A mutator visits once for many spans, which change hands by the batch; with them
//! it gets its share of the budget and of what is to be swept. Invariant: every span is on exactly one list here, or is a
//! mutator's, or has just been taken by the thread that holds the lock, or is one of those that somebody sweeps (`in_hand`).
//! Large objects are on no list (`large_objects`).

use crate::freed::FreedCells;
use crate::layout::demand::Demand;
use crate::layout::shape_id::{MAX_SHAPES, ShapeId};
use crate::marks::Collection;
use crate::pages::page_heap::{Growth, PageHeap};
use crate::reclaim::available::WORDS;
use crate::reclaim::clock::Swept;
use crate::spans::large_objects::LargeObjects;
use crate::spans::lookup::Spans;
use crate::spans::span_list::SpanList;
use core::ops::Range;
use heapwood_os::region::Zeroed;
use heapwood_os::{KernelRef, MappedArray, OsError};
use heapwood_pages::{PAGE_SIZE, PageCount};

/// The spans of one shape that no mutator has.
#[derive(Clone, Copy)]
pub(crate) struct ShapeLists {
    /// Not looked at since the last marking.
    unswept: SpanList,
    /// Allocated from in this cycle, and given back with cells above the frontier that may be free.
    begun: SpanList,
    /// Swept, with free cells; nothing was allocated here since.
    partial: SpanList,
    /// Allocated from in this cycle until nothing was free.
    used: SpanList,
    /// Without free cells until the next full marking.
    full: SpanList,
    freed: FreedCells,
    /// The cycle that all this is about, and that of full collections.
    cycle: u32,
    full_cycle: u32,
}

/// One of a shape's lists, to be looked at.
pub(crate) struct Listed {
    pub(crate) list: SpanList,
    /// Its spans were swept in this cycle, or were not; of others nothing is said.
    pub(crate) swept: Option<bool>,
    /// Nothing was allocated from them since they were swept.
    pub(crate) untouched: bool,
    /// They may have free cells.
    pub(crate) may_have_free: bool,
}

// SAFETY: all-zero bytes are empty lists of a cycle that never was; they hold plain numbers.
unsafe impl Zeroed for ShapeLists {}

impl ShapeLists {
    fn is_empty(&self) -> bool {
        let lists = [self.unswept, self.begun, self.partial, self.used, self.full];
        lists.into_iter().all(SpanList::is_empty)
    }

    /// A marking has ended. Those that were not used last come last: the longer a span rests the emptier it gets.
    fn begin_cycle(&mut self, spans: &Spans, cycle: u32) {
        debug_assert!(self.unswept.is_empty(), "everything is swept before the next marking");
        self.cycle = cycle;
        self.unswept.append(spans, core::mem::take(&mut self.used));
        self.unswept.append(spans, core::mem::take(&mut self.begun));
    }

    /// It was a full one.
    fn begin_full_cycle(&mut self, spans: &Spans, cycle: u32) {
        self.full_cycle = cycle;
        self.unswept.append(spans, core::mem::take(&mut self.full));
        self.unswept.append(spans, core::mem::take(&mut self.partial));
    }

    /// Those of spans that were allocated from in this cycle.
    pub(crate) fn touched(&self) -> [SpanList; 2] {
        [self.begun, self.used]
    }

    /// The lists.
    pub(crate) fn all(&self) -> [Listed; 5] {
        let list = |list, swept, untouched, may_have_free| Listed { list, swept, untouched, may_have_free };
        [
            list(self.unswept, Some(false), false, true),
            list(self.begun, Some(true), false, true),
            list(self.partial, None, true, true),
            list(self.used, Some(true), false, false),
            list(self.full, None, true, false),
        ]
    }
}

/// What a central refill brings home.
pub(crate) struct RefillResult {
    pub(crate) spans: SpanList,
    /// They have been swept.
    pub(crate) swept: bool,
}

/// What is to be swept by the thread that takes it.
pub(crate) enum SweepBatch {
    /// Spans of a shape.
    Spans(ShapeId, SpanList),
    /// The large objects that start in the pages of these words.
    Large(Range<usize>),
}

/// What was swept for everyone: spans of a shape, without those that became free pages. Shape 0 is nothing.
#[derive(Clone, Copy, Default)]
pub(crate) struct SweptSpans {
    pub(crate) shape: u32,
    pub(crate) partial: SpanList,
    pub(crate) full: SpanList,
}

/// Spans of a shape with free cells that a mutator gives back.
#[derive(Clone, Copy, Default)]
pub(crate) struct ReturnedSpans {
    pub(crate) begun: SpanList,
    pub(crate) untouched: SpanList,
}

/// How much each mutator may have in its hands.
#[derive(Clone, Copy, Default)]
pub(crate) struct Share {
    pub(crate) bytes: usize,
}

/// What a mutator may always have.
const LEAST_SHARE: usize = 256 << 10;
/// All mutators together may have one part in N of the heap.
const SHARES: usize = 20;
/// The most spans of a sweep batch, but for the collector's and the background thread's; and the words of large objects.
const MOST_CHORE: u32 = 512;
const LARGE_WORDS: usize = 64;
/// The fewest spans of a sweep batch, and of those of all mutators together.
const LEAST_CHORE: usize = 32;
const LEAST_CHORES: usize = 64;
/// Of a shape's spans one for N pages of the heap may be neglected, and no more than so many.
const WORTH: usize = 512;
const MOST_NEGLECTED: usize = 16;
/// Near the end of the budget mutators take few spans, but together so many, or one each.
const LAST_SPANS: usize = 128;
const LEAST_CREDIT: usize = 32;
/// The most pages of large objects that a mutator may take between two visits.
const MOST_LARGE: usize = 512;

/// The state behind the heap's lock.
pub(crate) struct Central {
    growth: Growth,
    lists: MappedArray<ShapeLists>,
    /// A bit for each shape that may have spans on its lists.
    listed_shapes: [u64; WORDS],
    /// No shape below has unswept spans,
    sweep_from: u32,
    /// and large objects that start below this word have been swept.
    large_from: usize,
    /// How many sweep batches of those who sweep for everyone are under way.
    in_hand: usize,
    /// Somebody found no pages in this cycle: as it ends, mutators give back those that they have cached.
    pages_wanted: bool,
    /// Nobody but the collector may take sweep batches.
    suspended: bool,
    /// Spans on lists, those of them that are unswept, and those that will be after a young collection.
    listed: usize,
    unswept: usize,
    touched: usize,
    budget: usize,
    /// The size at which the heap is collected.
    goal: usize,
    /// Mutators that came here in this cycle, and in the one before.
    refilling_mutators: usize,
    refilling_mutators_before: usize,
    counts: CentralCounts,
    /// Pages of large objects that are being made: in use, but in no span yet.
    unfinished: PageCount,
}

/// What was handed out, and how.
#[derive(Clone, Copy, Default)]
pub(crate) struct CentralCounts {
    /// Bytes since the last marking, and what arenas have left to the collector since.
    pub(crate) in_cycle: usize,
    pub(crate) left_in_cycle: usize,
    /// All else since the heap was made: bytes,
    pub(crate) total: u64,
    /// those of them for large objects,
    pub(crate) large: u64,
    /// spans that mutators allocated from,
    pub(crate) spans: u64,
    /// how often they needed a run,
    pub(crate) refills: u64,
    /// how often this lock was taken, how often for large objects, and how often that of the pages for those,
    pub(crate) lock_acquisitions: u64,
    pub(crate) large_acquisitions: u64,
    pub(crate) large_page_locks: u64,
    /// spans of these lists that mutators took, and spans that came back.
    pub(crate) taken: u64,
    pub(crate) returned: u64,
}

/// What a mutator has taken without telling, and what it gave back.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Account {
    /// Bytes taken,
    pub(crate) owed: usize,
    /// those of them for large objects, and how often that took the lock of the pages.
    pub(crate) large: usize,
    pub(crate) large_page_locks: u32,
    /// Bytes that were charged once and have been given back unused,
    pub(crate) returned: usize,
    /// and bytes of objects that the program has freed.
    pub(crate) freed: usize,
    /// Bytes that arenas have left to the collector.
    pub(crate) left_by_arenas: usize,
    /// Spans that it allocated from.
    pub(crate) spans: u32,
    /// How often it needed a run.
    pub(crate) refills: u32,
    /// What it swept.
    pub(crate) swept: Swept,
    /// Ticks of visits that brought less than they would have with more room.
    pub(crate) starved: u64,
}

impl Central {
    pub(crate) fn new(kernel: KernelRef, growth: Growth) -> Result<Self, OsError> {
        Ok(Central {
            growth,
            lists: MappedArray::new(kernel, MAX_SHAPES)?,
            listed_shapes: [0; WORDS],
            sweep_from: 1,
            large_from: usize::MAX,
            in_hand: 0,
            pages_wanted: false,
            suspended: false,
            listed: 0,
            unswept: 0,
            touched: 0,
            budget: usize::MAX,
            goal: 0,
            refilling_mutators: 0,
            refilling_mutators_before: 0,
            counts: CentralCounts::default(),
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
        let (cycle, full_cycle) = (heap.marks().cycle(), heap.marks().full_cycle());
        // SAFETY: the lists of registered shapes are committed, and `&mut self` means that the lock is held.
        let lists = unsafe { &mut *self.lists.at(shape.index()) };
        if lists.cycle != cycle {
            lists.begin_cycle(heap.spans(), cycle);
            if lists.full_cycle != full_cycle {
                lists.begin_full_cycle(heap.spans(), full_cycle);
                demand.begin_cycle(shape, full_cycle, !lists.unswept.is_empty());
            }
        }
        self.listed_shapes[shape.index() / 64] |= 1 << (shape.index() % 64);
        lists
    }

    /// Fetches the span that [`take_for_refill`](Self::take_home) would begin with. Another processor is likely to have it, and the thread that takes
    /// spans of many shapes waits for all at once.
    pub(crate) fn prefetch(&mut self, heap: &PageHeap, demand: &Demand, shape: ShapeId) {
        let lists = self.lists(heap, demand, shape);
        let first = lists.unswept.first().or(lists.begun.first()).or(lists.partial.first());
        first.into_iter().for_each(|page| heap.spans().prefetch(page));
    }

    /// Up to `most` spans of a shape for a mutator to use: unswept ones, or else partly free ones.
    pub(crate) fn take_for_refill(
        &mut self,
        heap: &PageHeap,
        demand: &Demand,
        shape: ShapeId,
        most: u32,
    ) -> RefillResult {
        let lists = self.lists(heap, demand, shape);
        let mut spans = lists.unswept.split(heap.spans(), most);
        let (swept, mut begun) = (spans.is_empty(), 0);
        if swept {
            spans = lists.begun.split(heap.spans(), most);
            begun = spans.len() as usize;
        }
        if spans.is_empty() {
            spans = lists.partial.split(heap.spans(), most);
        }
        let len = spans.len() as usize;
        self.listed -= len;
        self.unswept -= if swept { 0 } else { len };
        self.touched -= begun;
        self.counts.taken += len as u64;
        RefillResult { spans, swept }
    }

    /// Whether there are N spans of a shape to take that a central refill is worth it (in a large heap a few are not, while
    /// there are new ones).
    pub(crate) fn has_some(&mut self, heap: &PageHeap, demand: &Demand, shape: ShapeId) -> bool {
        let worth = (heap.pages().in_use().0 / WORTH).clamp(1, MOST_NEGLECTED);
        let lists = self.lists(heap, demand, shape);
        let spans = lists.unswept.len() + lists.begun.len() + lists.partial.len();
        spans as usize >= worth
    }

    /// The shapes that may have spans on lists.
    pub(crate) fn listed_shapes(&self) -> &[u64; WORDS] {
        &self.listed_shapes
    }

    /// Cells of a shape that were freed since the last full collection.
    pub(crate) fn take_freed(&mut self, heap: &PageHeap, demand: &Demand, shape: ShapeId) -> FreedCells {
        core::mem::take(&mut self.lists(heap, demand, shape).freed)
    }

    /// Cells of a shape were freed since the last full collection.
    pub(crate) fn add_freed(&mut self, heap: &PageHeap, demand: &Demand, shape: ShapeId, freed: FreedCells) {
        let cycle = heap.marks().full_cycle();
        if freed.len(cycle) != 0 {
            self.lists(heap, demand, shape).freed.prepend(freed, cycle);
        }
    }

    /// Spans come that were used up.
    pub(crate) fn add_used(&mut self, heap: &PageHeap, demand: &Demand, shape: ShapeId, used: SpanList) {
        if !used.is_empty() {
            self.came_back(used);
            self.touched += used.len() as usize;
            self.lists(heap, demand, shape).used.append(heap.spans(), used);
        }
    }

    /// Spans come back that have free cells, to be used before the others: those that were allocated from, and those that were
    /// not.
    pub(crate) fn give_back(
        &mut self,
        heap: &PageHeap,
        demand: &Demand,
        shape: ShapeId,
        ReturnedSpans { begun, untouched }: ReturnedSpans,
    ) {
        self.came_back(begun);
        self.came_back(untouched);
        self.touched += begun.len() as usize;
        let lists = self.lists(heap, demand, shape);
        lists.begun.prepend(heap.spans(), begun);
        lists.partial.prepend(heap.spans(), untouched);
    }

    /// Spans come back that a mutator had when the last cycle ended.
    pub(crate) fn add_unswept(&mut self, heap: &PageHeap, demand: &Demand, shape: ShapeId, spans: SpanList) {
        if !spans.is_empty() {
            self.came_back(spans);
            self.unswept += spans.len() as usize;
            self.lists(heap, demand, shape).unswept.append(heap.spans(), spans);
        }
    }

    fn came_back(&mut self, spans: SpanList) {
        self.listed += spans.len() as usize;
        self.counts.returned += spans.len() as u64;
    }

    /// Something unswept, up to `most` spans, for someone who sweeps and then puts the spans back.
    pub(crate) fn next_sweep_batch(
        &mut self,
        heap: &PageHeap,
        demand: &Demand,
        most: u32,
    ) -> Option<SweepBatch> {
        let words = LargeObjects::words_below(heap.spans().end());
        if self.large_from < words {
            let from = self.large_from;
            self.large_from = words.min(from + LARGE_WORDS);
            return Some(SweepBatch::Large(from..self.large_from));
        }
        while let Some(shape) = self.next_listed(self.sweep_from) {
            self.sweep_from = shape.index() as u32;
            let lists = self.lists(heap, demand, shape);
            let batch = lists.unswept.split(heap.spans(), most);
            if !batch.is_empty() {
                self.listed -= batch.len() as usize;
                self.unswept -= batch.len() as usize;
                return Some(SweepBatch::Spans(shape, batch));
            }
            if lists.is_empty() {
                self.listed_shapes[shape.index() / 64] &= !(1 << (shape.index() % 64));
            }
            self.sweep_from += 1;
        }
        None
    }

    /// What became of a sweep batch's spans; those without an object are free pages now.
    pub(crate) fn return_swept(&mut self, spans: &Spans, SweptSpans { shape, partial, full }: SweptSpans) {
        if shape == 0 {
            return;
        }
        self.listed += (partial.len() + full.len()) as usize;
        // SAFETY: as for `lists`, which whoever took the sweep batch has put in order; no cycle has ended since.
        let lists = unsafe { &mut *self.lists.at(shape as usize) };
        lists.partial.append(spans, partial);
        lists.full.append(spans, full);
        self.listed_shapes[shape as usize / 64] |= 1 << (shape % 64);
    }

    /// A sweep batch for everyone begins, or is done.
    pub(crate) fn take_in_hand(&mut self) {
        self.in_hand += 1;
    }

    /// It is done.
    pub(crate) fn let_go(&mut self) {
        self.in_hand -= 1;
    }

    /// How many spans a mutator that gets `pages` of the budget's should sweep for everyone, so that all is swept when the
    /// budget is used up.
    pub(crate) fn share_of_sweeping(&self, pages: u32) -> u32 {
        let left = self.left().max(1);
        let share = (self.unswept as u128 * pages as u128).div_ceil(left as u128);
        share.min(MOST_CHORE as u128) as u32
    }

    /// So many spans are worth a sweep batch; all mutators together leave no more than that undone, or one each.
    pub(crate) fn least_sweep_batch(&self) -> u32 {
        (LEAST_CHORES / self.mutators()).clamp(1, LEAST_CHORE) as u32
    }

    /// Somebody found no pages.
    pub(crate) fn want_pages(&mut self) {
        self.pages_wanted = true;
    }

    /// Whether somebody did in this cycle.
    pub(crate) fn are_pages_wanted(&self) -> bool {
        self.pages_wanted
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

    /// A marking has ended: what is on lists is unswept, or after a young one what was allocated from, and N bytes may be
    /// handed out before the next. Returns how many were.
    pub(crate) fn begin_cycle(&mut self, after: Collection, budget: usize, goal: usize) -> usize {
        (self.sweep_from, self.large_from) = (1, 0);
        (self.budget, self.goal, self.pages_wanted) = (budget, goal, false);
        self.refilling_mutators_before = core::mem::take(&mut self.refilling_mutators);
        let touched = core::mem::take(&mut self.touched);
        self.unswept = if after == Collection::Full { self.listed } else { touched };
        self.counts.left_in_cycle = 0;
        core::mem::take(&mut self.counts.in_cycle)
    }

    /// Sets how many bytes may be handed out before the next collection is due.
    pub(crate) fn set_budget(&mut self, bytes: usize) {
        self.budget = bytes;
    }

    /// Sets the size at which the heap is collected.
    pub(crate) fn set_goal(&mut self, bytes: usize) {
        self.goal = bytes;
    }

    /// A mutator comes for the first time in this cycle.
    pub(crate) fn note_refilling_mutator(&mut self) {
        self.refilling_mutators += 1;
    }

    fn mutators(&self) -> usize {
        self.refilling_mutators.max(self.refilling_mutators_before).max(1)
    }

    /// How much each mutator may have in its hands: a part of the heap, or what one may always have.
    pub(crate) fn share(&self) -> Share {
        Share { bytes: LEAST_SHARE.max(self.goal / SHARES / self.mutators()) }
    }

    /// Pages that are left of the budget.
    fn left(&self) -> usize {
        self.budget.saturating_sub(self.counts.in_cycle) / PAGE_SIZE
    }

    /// How many pages' spans a mutator may take, or make, before it comes here again: up to `most`, and half of what is left
    /// of the budget for it at most, but for the last.
    pub(crate) fn credit(&self, most: u32) -> u32 {
        let least = (LAST_SPANS / self.mutators()).clamp(1, LEAST_CREDIT);
        (self.left() / (2 * self.mutators())).max(least).min(most.max(1) as usize) as u32
    }

    /// The first shape from number `from` on that may have spans on its lists.
    pub(crate) fn next_listed(&self, from: u32) -> Option<ShapeId> {
        let (mut word, from) = (from as usize / 64, from % 64);
        let mut bits = self.listed_shapes.get(word)? & u64::MAX << from;
        while bits == 0 {
            word += 1;
            bits = *self.listed_shapes.get(word)?;
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
    pub(crate) fn settle(&mut self, account: Account) {
        let Account {
            owed, large, large_page_locks, returned, freed, left_by_arenas, spans, refills, ..
        } = account;
        let counts = &mut self.counts;
        counts.in_cycle = (counts.in_cycle + owed + left_by_arenas).saturating_sub(returned + freed);
        counts.left_in_cycle += left_by_arenas;
        counts.total = (counts.total + owed as u64).saturating_sub(returned as u64);
        counts.spans += spans as u64;
        counts.refills += refills as u64;
        counts.large += large as u64;
        counts.large_page_locks += large_page_locks as u64;
    }

    /// The lock was taken, for a large object or not.
    pub(crate) fn note_acquisition(&mut self, large: bool) {
        self.counts.lock_acquisitions += 1;
        self.counts.large_acquisitions += large as u64;
    }

    /// What was handed out so far.
    pub(crate) fn counts(&self) -> CentralCounts {
        self.counts
    }

    /// Bytes of large objects that a mutator may take before it comes here again: half of what is left of the budget for it,
    /// and nothing near its end.
    pub(crate) fn large_credit(&self) -> usize {
        (self.left() / (2 * self.mutators())).min(MOST_LARGE) * PAGE_SIZE
    }

    /// Pages that were taken for a large object are being made zero.
    pub(crate) fn begin_large(&mut self, pages: PageCount) {
        self.unfinished = PageCount(self.unfinished.0 + pages.0);
    }

    /// They are an object now.
    pub(crate) fn finish_large(&mut self, pages: PageCount) {
        self.unfinished = PageCount(self.unfinished.0 - pages.0);
    }

    /// Pages of large objects that are being made.
    pub(crate) fn unfinished(&self) -> PageCount {
        self.unfinished
    }
}
