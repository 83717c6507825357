//! The state that mutators share under one lock, after tcmalloc's central free lists: span lists by shape, freed cells,
//! and the budget of the cycle. Lock order: this lock comes before the page allocator's.
//!
//! A span that no mutator has is on one of five lists of its shape:
//!
//! ```text
//!   UNSWEPT --taken, swept--> (a mutator) --used up--> USED
//!      |                       ^   ^   \--returned with free cells--> BEGUN
//!      |                       |   \----------------taken---------------/
//!      |                       \--------------------taken-------- PARTIAL
//!      |--swept for all, some cells free----------------------------^
//!      |--swept, no cell free--> FULL
//!      \--swept for all, no object alive--> free pages
//!   a young collection: USED, BEGUN and the mutators' cached spans become UNSWEPT again
//!   a full collection: FULL and PARTIAL, too
//! ```
//!
//! A sweep after a young collection thus visits only spans that were allocated from since the previous collection. A
//! new cycle costs nothing here: each shape's lists record the cycle that they are about, and the next thread to use
//! them brings them up to date. A mutator takes many spans in one refill; the batches move between lists as a whole.
//! With them it gets its share of the budget and of the sweeping. Invariant: every small span is on exactly one list
//! here, or cached by a mutator, or in transit with the holder of the lock, or being swept. Large objects
//! are on no list (`large_objects`).

use crate::freed::FreedCells;
use crate::layout::demand::Demand;
use crate::layout::shape_id::{MAX_SHAPES, ShapeId};
use crate::lock_order::CENTRAL;
use crate::marks::Collection;
use crate::pages::page_heap::{GrowthToken, PageHeap};
use crate::policy::refill;
use crate::reclaim::budget::Budget;
use crate::reclaim::hints::{Available, SweepGate, WORDS};
use crate::reclaim::run_owners::RunOwners;
use crate::spans::large_objects::LargeObjects;
use crate::spans::lookup::Spans;
use crate::spans::span_list::SpanList;
use core::ops::{Deref, DerefMut, Range};
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{CachePadded, ForkLock, KernelRef, Lock, LockGuard, Mapped, MappedArray, OsError};
use heapwood_pages::PageCount;

/// The spans of one shape that no mutator has.
#[derive(Clone, Copy)]
pub(crate) struct ShapeLists {
    /// Not yet swept in this cycle.
    unswept: SpanList,
    /// Allocated from in this cycle, then returned. Cells above the frontier may be free.
    begun: SpanList,
    /// Swept, with free cells; not allocated from since.
    partial: SpanList,
    /// Allocated from in this cycle until no cell was free.
    used: SpanList,
    /// Without free cells until the next full marking.
    full: SpanList,
    freed: FreedCells,
    /// The cycle that the lists are about, and its full cycle.
    cycle: u32,
    full_cycle: u32,
}

/// A view of one list of a shape.
pub(crate) struct Listed {
    pub(crate) list: SpanList,
    /// Whether its spans were swept in this cycle; `None` if they may differ.
    pub(crate) swept: Option<bool>,
    /// Whether nothing was allocated from them since they were swept.
    pub(crate) untouched: bool,
    /// Whether they may have free cells.
    pub(crate) may_have_free: bool,
}

// SAFETY: all-zero bytes are empty lists of cycle 0, which never is a current one; all fields are plain numbers.
unsafe impl Zeroed for ShapeLists {}

impl ShapeLists {
    fn is_empty(&self) -> bool {
        let lists = [self.unswept, self.begun, self.partial, self.used, self.full];
        lists.into_iter().all(SpanList::is_empty)
    }

    /// Begins the cycle after a marking. Spans that were not used last go last: the longer a span is left alone, the
    /// emptier it gets.
    fn begin_cycle(&mut self, spans: &Spans, cycle: u32) {
        debug_assert!(self.unswept.is_empty(), "everything is swept before the next marking");
        self.cycle = cycle;
        self.unswept.append(spans, core::mem::take(&mut self.used));
        self.unswept.append(spans, core::mem::take(&mut self.begun));
    }

    /// The part of it after a full marking.
    fn begin_full_cycle(&mut self, spans: &Spans, cycle: u32) {
        self.full_cycle = cycle;
        self.unswept.append(spans, core::mem::take(&mut self.full));
        self.unswept.append(spans, core::mem::take(&mut self.partial));
    }

    /// The lists of spans that were allocated from in this cycle.
    pub(crate) fn touched(&self) -> [SpanList; 2] {
        [self.begun, self.used]
    }

    /// All five lists.
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

/// Result of a central refill.
pub(crate) struct RefillResult {
    pub(crate) spans: SpanList,
    /// Whether the spans are swept.
    pub(crate) swept: bool,
}

/// Unswept spans for one thread to sweep.
pub(crate) enum SweepBatch {
    /// Spans of a shape.
    Spans(ShapeId, SpanList),
    /// The large objects that start in the pages of these words.
    Large(Range<usize>),
}

/// Result of sweeping a batch for all: the spans of a shape that did not become free pages. Shape 0 means none.
#[derive(Clone, Copy, Default)]
pub(crate) struct SweptSpans {
    pub(crate) shape: u32,
    pub(crate) partial: SpanList,
    pub(crate) full: SpanList,
}

/// Spans of a shape without free cells, of which a mutator has used some up, and the others were full when it swept them.
#[derive(Clone, Copy, Default)]
pub(crate) struct SpansWithoutFree {
    /// Allocated from in this cycle.
    pub(crate) used: SpanList,
    /// Not allocated from: they need no sweep before the next full marking.
    pub(crate) full: SpanList,
}

/// Swept spans of a shape, with free cells and without.
#[derive(Clone, Copy, Default)]
pub(crate) struct SortedSpans {
    pub(crate) partial: SpanList,
    pub(crate) full: SpanList,
}

/// Spans of a shape with free cells that a mutator returns.
#[derive(Clone, Copy, Default)]
pub(crate) struct ReturnedSpans {
    pub(crate) begun: SpanList,
    pub(crate) untouched: SpanList,
}

/// The words of large objects of a sweep batch.
const LARGE_WORDS: usize = 64;

/// What is behind the central lock.
pub(crate) struct CentralState {
    growth: GrowthToken,
    lists: MappedArray<ShapeLists>,
    /// One bit for each shape that may have spans on its lists.
    listed_shapes: [u64; WORDS],
    /// No shape below this number has unswept spans.
    sweep_from: u32,
    /// Large objects that start below this word have been swept.
    large_from: usize,
    /// Spans on all lists; the unswept ones of these; those that the next young collection makes unswept.
    listed: usize,
    unswept: usize,
    touched: usize,
    pub(crate) budget: Budget,
    /// Pages of large objects under construction: in use, but in no span yet.
    unfinished: PageCount,
    run_owners: RunOwners,
}

impl CentralState {
    fn new(kernel: KernelRef, growth: GrowthToken) -> Result<Self, OsError> {
        Ok(CentralState {
            growth,
            lists: MappedArray::new(kernel, MAX_SHAPES)?,
            listed_shapes: [0; WORDS],
            sweep_from: 1,
            large_from: usize::MAX,
            listed: 0,
            unswept: 0,
            touched: 0,
            budget: Budget::new(),
            unfinished: PageCount(0),
            run_owners: RunOwners::none(),
        })
    }

    /// The mutators that may have runs of free cells.
    pub(crate) fn run_owners(&mut self) -> &mut RunOwners {
        &mut self.run_owners
    }

    /// The right to grow.
    pub(crate) fn growth(&mut self) -> &mut GrowthToken {
        &mut self.growth
    }

    fn count_listed(&mut self, spans: SpanList) {
        self.listed += spans.len() as usize;
    }

    /// The spans that a mutator with `pages` pages of the budget should sweep for all.
    pub(crate) fn share_of_sweeping(&self, pages: u32) -> u32 {
        refill::part_of_sweeping(self.unswept, pages, self.budget.left())
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

    /// Adds pages that are being made a large object.
    pub(crate) fn begin_large(&mut self, pages: PageCount) {
        self.unfinished = PageCount(self.unfinished.0 + pages.0);
    }

    /// Removes them: the object is complete.
    pub(crate) fn finish_large(&mut self, pages: PageCount) {
        self.unfinished = PageCount(self.unfinished.0 - pages.0);
    }

    /// Pages of large objects under construction.
    pub(crate) fn unfinished(&self) -> PageCount {
        self.unfinished
    }
}

/// The central lists of a heap: what is behind the lock, and what tells of it without the lock.
pub(crate) struct CentralLists {
    state: CachePadded<Lock<CentralState, CENTRAL>>,
    available: CachePadded<Available>,
    freed: Available,
    pub(super) gate: CachePadded<SweepGate>,
    /// The layouts with spans of their own.
    pub(crate) demand: Demand,
}

/// The central lists, as long as the lock is held.
pub(crate) struct Central<'s> {
    state: LockGuard<'s, CentralState, CENTRAL>,
    shared: &'s CentralLists,
    heap: &'s PageHeap,
}

impl CentralLists {
    pub(super) fn new(kernel: KernelRef, growth: GrowthToken) -> Result<Self, OsError> {
        Ok(CentralLists {
            state: CachePadded(Lock::new(CentralState::new(kernel, growth)?)),
            available: CachePadded(Available::none()),
            freed: Available::none(),
            gate: CachePadded(SweepGate::new()),
            demand: Demand::new(kernel)?,
        })
    }

    /// Takes the lock; `for_large` objects are counted apart.
    pub(super) fn lock<'s>(&'s self, heap: &'s PageHeap, for_large: bool) -> Central<'s> {
        Central { state: self.lock_state(for_large), shared: self, heap }
    }

    fn lock_state(&self, for_large: bool) -> LockGuard<'_, CentralState, CENTRAL> {
        let mut state = self.state.lock();
        state.budget.note_acquisition(for_large);
        state
    }

    /// The lock, for a fork.
    pub(crate) fn fork_lock(&self) -> &impl ForkLock {
        &self.state.0
    }

    /// Whether a shape has spans on lists, as of a moment ago.
    #[inline]
    pub(crate) fn has_some(&self, shape: ShapeId) -> bool {
        self.available.has(shape)
    }

    /// Whether a shape has freed cells that any mutator may take.
    #[inline]
    pub(crate) fn has_freed(&self, shape: ShapeId) -> bool {
        self.freed.has(shape)
    }

    /// Commits the state of each shape in the range.
    pub(crate) fn commit(&self, shapes: Range<usize>) -> Result<(), OsError> {
        self.demand.commit(shapes.clone())?;
        self.lock_state(false).lists.commit(shapes)
    }
}

impl Mapped for CentralLists {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.demand.for_each_mapping(f);
        self.lock_state(false).lists.for_each_mapping(f);
    }
}

impl Deref for Central<'_> {
    type Target = CentralState;

    fn deref(&self) -> &CentralState {
        &self.state
    }
}

impl DerefMut for Central<'_> {
    fn deref_mut(&mut self) -> &mut CentralState {
        &mut self.state
    }
}

impl Central<'_> {
    /// The lists of a shape, brought up to date with the current cycle.
    pub(crate) fn lists(&mut self, shape: ShapeId) -> &mut ShapeLists {
        let heap = self.heap;
        let (cycle, full_cycle) = (heap.marks.cycle(), heap.marks.full_cycle());
        // SAFETY: the lists of registered shapes are committed, and `&mut self` means that the lock is held.
        let lists = unsafe { &mut *self.lists.at(shape.index()) };
        if lists.cycle != cycle {
            lists.begin_cycle(&heap.spans, cycle);
            if lists.full_cycle != full_cycle {
                lists.begin_full_cycle(&heap.spans, full_cycle);
                self.shared.demand.begin_cycle(shape, full_cycle, !lists.unswept.is_empty());
            }
        }
        self.listed_shapes[shape.index() / 64] |= 1 << (shape.index() % 64);
        lists
    }

    /// Prefetches the span that [`take_for_refill`](Self::take_for_refill) would begin with. It is likely in another
    /// processor's cache, and a thread that takes spans of many shapes waits for all of them at once.
    pub(crate) fn prefetch(&mut self, shape: ShapeId) {
        let heap = self.heap;
        let lists = self.lists(shape);
        let first = lists.unswept.first().or(lists.begun.first()).or(lists.partial.first());
        first.into_iter().for_each(|page| heap.spans.prefetch(page));
    }

    /// Up to `most` spans of a shape for a mutator to use: unswept ones, or else partly free ones; and its freed cells.
    pub(crate) fn take_for_refill(&mut self, shape: ShapeId, most: u32) -> (RefillResult, FreedCells) {
        let heap = self.heap;
        let lists = self.lists(shape);
        let mut spans = lists.unswept.split(&heap.spans, most);
        let (swept, mut begun) = (spans.is_empty(), 0);
        if swept {
            spans = lists.begun.split(&heap.spans, most);
            begun = spans.len() as usize;
        }
        if spans.is_empty() {
            spans = lists.partial.split(&heap.spans, most);
        }
        let len = spans.len() as usize;
        self.listed -= len;
        self.unswept -= if swept { 0 } else { len };
        self.touched -= begun;
        let freed = self.take_freed(shape);
        self.shared.freed.set(shape, false);
        self.update_available(shape);
        (RefillResult { spans, swept }, freed)
    }

    /// Takes the cells of a shape that were freed since the last full collection.
    pub(crate) fn take_freed(&mut self, shape: ShapeId) -> FreedCells {
        core::mem::take(&mut self.lists(shape).freed)
    }

    /// Tells others whether a shape has enough spans here to justify a refill.
    fn update_available(&mut self, shape: ShapeId) {
        let heap = self.heap;
        let lists = self.lists(shape);
        let spans = lists.unswept.len() + lists.begun.len() + lists.partial.len();
        let some = refill::are_enough(spans, heap.pages.in_use());
        self.shared.available.set(shape, some);
    }

    /// Takes back spans of a mutator: those without free cells, and those with some.
    pub(crate) fn return_spans(
        &mut self,
        shape: ShapeId,
        without_free: SpansWithoutFree,
        returned: ReturnedSpans,
    ) {
        self.add_used(shape, without_free.used);
        self.add_full(shape, without_free.full);
        if !returned.begun.is_empty() || !returned.untouched.is_empty() {
            self.add_returned(shape, returned);
            self.update_available(shape);
        }
    }

    /// Sorts the spans with free cells that a mutator returns.
    pub(crate) fn sort_returned(&self, mut list: SpanList) -> ReturnedSpans {
        let (spans, cycle) = (&self.heap.spans, self.heap.marks.cycle());
        let mut returned = ReturnedSpans::default();
        while let Some(page) = list.pop(spans) {
            let begun = spans.own(page).is_begun_in(cycle);
            if begun { &mut returned.begun } else { &mut returned.untouched }.push(spans, page);
        }
        returned
    }

    /// Adds spans that a mutator used up.
    fn add_used(&mut self, shape: ShapeId, used: SpanList) {
        let heap = self.heap;
        if !used.is_empty() {
            self.count_listed(used);
            self.touched += used.len() as usize;
            self.lists(shape).used.append(&heap.spans, used);
        }
    }

    /// Adds spans that were full when a mutator swept them.
    pub(crate) fn add_full(&mut self, shape: ShapeId, full: SpanList) {
        let heap = self.heap;
        if !full.is_empty() {
            self.count_listed(full);
            self.lists(shape).full.append(&heap.spans, full);
        }
    }

    /// Adds returned spans with free cells in front of the others, those that were allocated from and the untouched
    /// ones apart.
    fn add_returned(&mut self, shape: ShapeId, ReturnedSpans { begun, untouched }: ReturnedSpans) {
        let heap = self.heap;
        self.count_listed(begun);
        self.count_listed(untouched);
        self.touched += begun.len() as usize;
        let lists = self.lists(shape);
        lists.begun.prepend(&heap.spans, begun);
        lists.partial.prepend(&heap.spans, untouched);
    }

    /// Adds spans that a mutator had when the last cycle ended.
    pub(crate) fn add_unswept(&mut self, shape: ShapeId, spans: SpanList) {
        let heap = self.heap;
        if !spans.is_empty() {
            self.count_listed(spans);
            self.unswept += spans.len() as usize;
            self.lists(shape).unswept.append(&heap.spans, spans);
            self.shared.available.set(shape, true);
        }
    }

    /// Adds the spans of a swept batch. Those without an object are free pages by now.
    pub(crate) fn return_swept(&mut self, SweptSpans { shape, partial, full }: SweptSpans) {
        if shape == 0 {
            return;
        }
        let spans = &self.heap.spans;
        self.listed += (partial.len() + full.len()) as usize;
        // SAFETY: as in `lists`. The thread that took the batch brought these lists up to date; no cycle has ended
        // since.
        let lists = unsafe { &mut *self.lists.at(shape as usize) };
        lists.partial.append(spans, partial);
        lists.full.append(spans, full);
        self.listed_shapes[shape as usize / 64] |= 1 << (shape % 64);
        if !partial.is_empty() {
            self.update_available(ShapeId::from_index(shape));
        }
    }

    /// Adds cells of a shape that were freed since the last full collection.
    pub(crate) fn add_freed(&mut self, shape: ShapeId, freed: FreedCells) {
        let heap = self.heap;
        let cycle = heap.marks.full_cycle();
        if freed.len(cycle) != 0 {
            self.lists(shape).freed.prepend(freed, cycle);
            self.shared.freed.set(shape, true);
        }
    }

    /// Notes that a mutator keeps its span of the shape in the cycle that has just begun.
    pub(crate) fn keep_own_span(&mut self, shape: ShapeId) {
        self.lists(shape);
        self.shared.demand.begin_cycle(shape, self.heap.marks.full_cycle(), true);
    }

    /// Takes a batch of up to `most` spans to sweep for all; its sweeper returns the spans.
    pub(crate) fn next_sweep_batch(&mut self, most: u32) -> Option<SweepBatch> {
        if most == 0 {
            return None;
        }
        let sweep_batch = self.find_sweep_batch(most);
        match &sweep_batch {
            Some(SweepBatch::Spans(shape, _)) => self.update_available(*shape),
            Some(SweepBatch::Large(_)) => {}
            None => self.shared.gate.set_all_taken(true),
        }
        sweep_batch
    }

    fn find_sweep_batch(&mut self, most: u32) -> Option<SweepBatch> {
        let heap = self.heap;
        let large = self.unswept_large();
        if !large.is_empty() {
            self.large_from = large.end.min(large.start + LARGE_WORDS);
            return Some(SweepBatch::Large(large.start..self.large_from));
        }
        while let Some(shape) = self.next_listed(self.sweep_from) {
            self.sweep_from = shape.index() as u32;
            let lists = self.lists(shape);
            let batch = lists.unswept.split(&heap.spans, most);
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

    /// The words of large objects that are still to be swept.
    fn unswept_large(&mut self) -> Range<usize> {
        let heap = self.heap;
        let words = LargeObjects::words_below(heap.spans.end());
        if self.large_from < words && heap.marks.is_after_young() {
            self.large_from = heap.spans.large().skip_seen(self.large_from, words);
        }
        self.large_from..words
    }

    /// Begins the cycle after a marking, with a budget in bytes: marked objects are the live ones. All spans on lists are unswept
    /// then; after a young marking only those that were allocated from. Returns the bytes allocated in the old cycle.
    pub(crate) fn begin_cycle(&mut self, after: Collection, budget: usize, goal: usize) -> usize {
        let (heap, shared) = (self.heap, self.shared);
        heap.marks.begin_cycle(after);
        heap.external.begin_cycle(after, budget);
        if after == Collection::Full {
            heap.pages.new_cycle();
        }
        shared.available.set_all(&self.listed_shapes);
        shared.gate.set_all_taken(false);
        // Who stops the heap closes the gate, and opens it again.
        self.budget.note_gate(2);
        (self.sweep_from, self.large_from) = (1, 0);
        self.growth.pages_wanted = false;
        let touched = core::mem::take(&mut self.touched);
        self.unswept = if after == Collection::Full { self.listed } else { touched };
        self.budget.begin_cycle(budget, goal)
    }
}
