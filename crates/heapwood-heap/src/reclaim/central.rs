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
use crate::marks::Collection;
use crate::pages::page_heap::{GrowthToken, PageHeap};
use crate::policy::share::Remaining;
use crate::policy::{refill, share, sweep};
use crate::reclaim::available::WORDS;
use crate::reclaim::clock::Swept;
use crate::reclaim::run_owners::RunOwners;
use crate::spans::large_objects::LargeObjects;
use crate::spans::lookup::Spans;
use crate::spans::span_list::SpanList;
use core::ops::Range;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError};
use heapwood_pages::{PAGE_SIZE, PageCount};

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

/// The memory that each mutator may cache.
#[derive(Clone, Copy, Default)]
pub(crate) struct Share {
    pub(crate) bytes: usize,
}

/// The words of large objects of a sweep batch.
const LARGE_WORDS: usize = 64;

/// The state behind the central lock.
pub(crate) struct Central {
    growth: GrowthToken,
    lists: MappedArray<ShapeLists>,
    /// One bit for each shape that may have spans on its lists.
    listed_shapes: [u64; WORDS],
    /// No shape below this number has unswept spans.
    sweep_from: u32,
    /// Large objects that start below this word have been swept.
    large_from: usize,
    /// A request for pages failed in this cycle. Mutators flush their cached pages when the cycle ends.
    pages_wanted: bool,
    /// Spans on all lists; the unswept ones of these; those that the next young collection makes unswept.
    listed: usize,
    unswept: usize,
    touched: usize,
    budget: usize,
    /// The budget for when collections may come again, if they are off now; no collection is due meanwhile.
    suspended: Option<usize>,
    /// What the bytes outside the heap have risen by in this cycle, as far as somebody has looked.
    external: usize,
    /// The heap size at which a collection is due.
    goal: usize,
    /// Mutators that refilled in this cycle, and in the previous one.
    refilling_mutators: usize,
    refilling_mutators_before: usize,
    counts: CentralCounts,
    /// Pages of large objects under construction: in use, but in no span yet.
    unfinished: PageCount,
    run_owners: RunOwners,
}

/// Allocation counters.
#[derive(Clone, Copy, Default)]
pub(crate) struct CentralCounts {
    /// Bytes since the last marking, and bytes that arenas left to the collector since.
    pub(crate) in_cycle: usize,
    pub(crate) left_in_cycle: usize,
    /// The other counters are since the heap was made: bytes.
    pub(crate) total: u64,
    /// Bytes of objects that the program has freed.
    pub(crate) freed: u64,
    /// Bytes of large objects.
    pub(crate) large: u64,
    /// Acquisitions of this lock; those for large objects; and those of the page allocator's lock for large objects.
    pub(crate) lock_acquisitions: u64,
    pub(crate) large_acquisitions: u64,
    pub(crate) large_page_locks: u64,
    /// Read-modify-writes of the gate of sweepers.
    pub(crate) gate_rmws: u64,
}

/// Allocation and sweeping by a mutator that is not yet in the central counters.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Account {
    /// Bytes taken.
    pub(crate) owed: usize,
    /// Bytes of large objects among them, and acquisitions of the page allocator's lock for these.
    pub(crate) large: usize,
    pub(crate) large_page_locks: u32,
    /// Charged bytes that were returned unused.
    pub(crate) returned: usize,
    /// Bytes of objects that the program freed.
    pub(crate) freed: usize,
    /// Bytes that arenas left to the collector.
    pub(crate) left_by_arenas: usize,
    /// Spans that it swept.
    pub(crate) swept: Swept,
    /// Ticks of refills that the heap's size cut short.
    pub(crate) starved: u64,
}

impl Central {
    pub(crate) fn new(kernel: KernelRef, growth: GrowthToken) -> Result<Self, OsError> {
        Ok(Central {
            growth,
            lists: MappedArray::new(kernel, MAX_SHAPES)?,
            listed_shapes: [0; WORDS],
            sweep_from: 1,
            large_from: usize::MAX,
            pages_wanted: false,
            listed: 0,
            unswept: 0,
            touched: 0,
            budget: usize::MAX,
            suspended: None,
            external: 0,
            goal: 0,
            refilling_mutators: 0,
            refilling_mutators_before: 0,
            counts: CentralCounts::default(),
            unfinished: PageCount(0),
            run_owners: RunOwners::none(),
        })
    }

    /// Commits the lists of these shapes.
    pub(crate) fn commit(&self, shapes: Range<usize>) -> Result<(), OsError> {
        self.lists.commit(shapes)
    }

    /// The mutators that may have runs of free cells.
    pub(crate) fn run_owners(&mut self) -> &mut RunOwners {
        &mut self.run_owners
    }

    /// The right to grow.
    pub(crate) fn growth(&mut self) -> &mut GrowthToken {
        &mut self.growth
    }

    /// The lists of a shape, brought up to date with the current cycle.
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

    /// Prefetches the span that [`take_for_refill`](Self::take_for_refill) would begin with. It is likely in another
    /// processor's cache, and a thread that takes spans of many shapes waits for all of them at once.
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
        RefillResult { spans, swept }
    }

    /// Whether a shape has enough spans here to justify a refill.
    pub(crate) fn has_some(&mut self, heap: &PageHeap, demand: &Demand, shape: ShapeId) -> bool {
        let lists = self.lists(heap, demand, shape);
        let spans = lists.unswept.len() + lists.begun.len() + lists.partial.len();
        refill::are_enough(spans, heap.pages().in_use())
    }

    /// The shapes that may have spans on lists.
    pub(crate) fn listed_shapes(&self) -> &[u64; WORDS] {
        &self.listed_shapes
    }

    /// Takes the cells of a shape that were freed since the last full collection.
    pub(crate) fn take_freed(&mut self, heap: &PageHeap, demand: &Demand, shape: ShapeId) -> FreedCells {
        core::mem::take(&mut self.lists(heap, demand, shape).freed)
    }

    /// Adds cells of a shape that were freed since the last full collection.
    pub(crate) fn add_freed(&mut self, heap: &PageHeap, demand: &Demand, shape: ShapeId, freed: FreedCells) {
        let cycle = heap.marks().full_cycle();
        if freed.len(cycle) != 0 {
            self.lists(heap, demand, shape).freed.prepend(freed, cycle);
        }
    }

    /// Adds spans that a mutator used up.
    pub(crate) fn add_used(&mut self, heap: &PageHeap, demand: &Demand, shape: ShapeId, used: SpanList) {
        if !used.is_empty() {
            self.count_listed(used);
            self.touched += used.len() as usize;
            self.lists(heap, demand, shape).used.append(heap.spans(), used);
        }
    }

    /// Adds spans that were full when a mutator swept them.
    pub(crate) fn add_full(&mut self, heap: &PageHeap, demand: &Demand, shape: ShapeId, full: SpanList) {
        if !full.is_empty() {
            self.count_listed(full);
            self.lists(heap, demand, shape).full.append(heap.spans(), full);
        }
    }

    /// Adds returned spans with free cells in front of the others, those that were allocated from and the untouched
    /// ones apart.
    pub(crate) fn add_returned(
        &mut self,
        heap: &PageHeap,
        demand: &Demand,
        shape: ShapeId,
        ReturnedSpans { begun, untouched }: ReturnedSpans,
    ) {
        self.count_listed(begun);
        self.count_listed(untouched);
        self.touched += begun.len() as usize;
        let lists = self.lists(heap, demand, shape);
        lists.begun.prepend(heap.spans(), begun);
        lists.partial.prepend(heap.spans(), untouched);
    }

    /// Adds spans that a mutator had when the last cycle ended.
    pub(crate) fn add_unswept(&mut self, heap: &PageHeap, demand: &Demand, shape: ShapeId, spans: SpanList) {
        if !spans.is_empty() {
            self.count_listed(spans);
            self.unswept += spans.len() as usize;
            self.lists(heap, demand, shape).unswept.append(heap.spans(), spans);
        }
    }

    fn count_listed(&mut self, spans: SpanList) {
        self.listed += spans.len() as usize;
    }

    /// The words of large objects that are still to be swept.
    fn unswept_large(&mut self, heap: &PageHeap) -> Range<usize> {
        let words = LargeObjects::words_below(heap.spans().end());
        if self.large_from < words && heap.marks().is_after_young() {
            self.large_from = heap.spans().large().skip_seen(self.large_from, words);
        }
        self.large_from..words
    }

    /// Takes the next unswept batch, up to `most` spans; its sweeper returns the spans.
    pub(crate) fn next_sweep_batch(
        &mut self,
        heap: &PageHeap,
        demand: &Demand,
        most: u32,
    ) -> Option<SweepBatch> {
        let large = self.unswept_large(heap);
        if !large.is_empty() {
            self.large_from = large.end.min(large.start + LARGE_WORDS);
            return Some(SweepBatch::Large(large.start..self.large_from));
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

    /// Adds the spans of a swept batch. Those without an object are free pages by now.
    pub(crate) fn return_swept(&mut self, spans: &Spans, SweptSpans { shape, partial, full }: SweptSpans) {
        if shape == 0 {
            return;
        }
        self.listed += (partial.len() + full.len()) as usize;
        // SAFETY: as in `lists`. The thread that took the batch brought these lists up to date; no cycle has ended
        // since.
        let lists = unsafe { &mut *self.lists.at(shape as usize) };
        lists.partial.append(spans, partial);
        lists.full.append(spans, full);
        self.listed_shapes[shape as usize / 64] |= 1 << (shape % 64);
    }

    /// Counts read-modify-writes of the gate of sweepers.
    pub(crate) fn note_gate(&mut self, rmws: u64) {
        self.counts.gate_rmws += rmws;
    }

    /// The spans that a mutator with `pages` pages of the budget should sweep for all.
    pub(crate) fn share_of_sweeping(&self, pages: u32) -> u32 {
        sweep::part(self.unswept, pages, self.left())
    }

    /// The fewest spans of a mutator's sweep batch.
    pub(crate) fn least_sweep_batch(&self) -> u32 {
        sweep::least_batch(self.mutators())
    }

    /// Notes that a request for pages failed.
    pub(crate) fn want_pages(&mut self) {
        self.pages_wanted = true;
    }

    /// Whether a request for pages failed in this cycle.
    pub(crate) fn are_pages_wanted(&self) -> bool {
        self.pages_wanted
    }

    /// Begins the cycle after a marking, with a budget in bytes. All spans on lists are unswept then; after a young
    /// marking only those that were allocated from. Returns the bytes allocated in the old cycle.
    pub(crate) fn begin_cycle(&mut self, after: Collection, budget: usize, goal: usize) -> usize {
        (self.sweep_from, self.large_from) = (1, 0);
        self.set_budget(budget);
        (self.goal, self.pages_wanted) = (goal, false);
        self.external = 0;
        self.refilling_mutators_before = core::mem::take(&mut self.refilling_mutators);
        let touched = core::mem::take(&mut self.touched);
        self.unswept = if after == Collection::Full { self.listed } else { touched };
        self.counts.left_in_cycle = 0;
        core::mem::take(&mut self.counts.in_cycle)
    }

    /// Sets the bytes that may be allocated before the next collection is due.
    pub(crate) fn set_budget(&mut self, bytes: usize) {
        let budget = self.suspended.as_mut().unwrap_or(&mut self.budget);
        *budget = bytes;
    }

    /// Makes no collection due until the budget is resumed.
    pub(crate) fn suspend_budget(&mut self) {
        self.suspended.get_or_insert(core::mem::replace(&mut self.budget, usize::MAX));
    }

    /// Makes a collection due again when the budget is used up.
    pub(crate) fn resume_budget(&mut self) {
        self.budget = self.suspended.take().unwrap_or(self.budget);
    }

    /// Sets the heap size at which a collection is due.
    pub(crate) fn set_goal(&mut self, bytes: usize) {
        self.goal = bytes;
    }

    /// Counts a mutator's first refill in this cycle.
    pub(crate) fn note_refilling_mutator(&mut self) {
        self.refilling_mutators += 1;
    }

    /// Mutators that refilled in this cycle or in the one before; at least one.
    pub(crate) fn mutators(&self) -> usize {
        self.refilling_mutators.max(self.refilling_mutators_before).max(1)
    }

    /// The memory that each mutator may cache.
    pub(crate) fn share(&self) -> Share {
        Share { bytes: share::share(self.goal, self.mutators()) }
    }

    /// Notes what the bytes outside the heap have risen by in this cycle.
    pub(crate) fn note_external(&mut self, rose: usize) {
        self.external = rose;
    }

    /// Bytes used of the budget.
    fn used(&self) -> usize {
        self.counts.in_cycle.saturating_add(self.external)
    }

    /// Bytes left of the budget.
    pub(crate) fn left_bytes(&self) -> usize {
        self.budget.saturating_sub(self.used())
    }

    /// Pages left of the budget.
    fn left(&self) -> usize {
        self.left_bytes() / PAGE_SIZE
    }

    /// The remaining budget, and the mutators that divide it.
    fn remaining(&self) -> Remaining {
        Remaining { pages: self.left(), mutators: self.mutators() }
    }

    /// The pages of spans that a mutator may take from the lists, or make, before its next refill.
    pub(crate) fn credit(&self) -> u32 {
        self.remaining().credit()
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

    /// Whether a collection is due before `bytes` more are allocated: they exceed the budget, and something was
    /// allocated since the last collection, so that another may help.
    pub(crate) fn collection_due(&self, bytes: usize) -> bool {
        let used = self.used();
        used > 0 && used.saturating_add(bytes) > self.budget
    }

    /// Adds a mutator's account to the counters.
    pub(crate) fn settle(&mut self, account: Account) {
        let Account { owed, large, large_page_locks, returned, freed, left_by_arenas, .. } = account;
        let counts = &mut self.counts;
        counts.in_cycle = (counts.in_cycle + owed + left_by_arenas).saturating_sub(returned + freed);
        counts.left_in_cycle += left_by_arenas;
        counts.total = (counts.total + owed as u64).saturating_sub(returned as u64);
        counts.freed += freed as u64;
        counts.large += large as u64;
        counts.large_page_locks += large_page_locks as u64;
    }

    /// Counts an acquisition of the lock, for a large object or not.
    pub(crate) fn note_acquisition(&mut self, large: bool) {
        self.counts.lock_acquisitions += 1;
        self.counts.large_acquisitions += large as u64;
    }

    /// The counters.
    pub(crate) fn counts(&self) -> CentralCounts {
        self.counts
    }

    /// Bytes of large objects that a mutator may take before its next refill.
    pub(crate) fn large_credit(&self) -> usize {
        self.remaining().large_credit().bytes()
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

impl Mapped for Central {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.lists.for_each_mapping(f);
    }
}
