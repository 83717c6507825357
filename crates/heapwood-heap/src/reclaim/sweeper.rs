//! Lazy sweeping, as in Go's mheap. The free cells of a span are those without an allocation bit, so sweeping writes no
//! cell. It counts the bits to tell full spans from empty ones, and clears the other side for the next marking. A
//! mutator sweeps the spans that it takes, and with each refill a share of the others, so that everything is swept when
//! the budget is used up. The background thread sweeps, too; the collector sweeps what is left before the next stop.
//! Invariant: each span is swept once a cycle, by the thread that took it off its list, and never in a stop.

use crate::address::ObjectRef;
use crate::arenas::chunk_pool::ArenaChunkPool;
use crate::config::{CLOBBER, SpaceConfig};
use crate::error::SpaceError;
use crate::freed::FreedCells;
use crate::layout::demand::Demand;
use crate::layout::shape_id::ShapeId;
use crate::lock_order::{ARENA_CHUNKS, CENTRAL};
use crate::marks::{Collection, Marks};
use crate::pages::page_blocks::CacheTarget;
use crate::pages::page_heap::PageHeap;
use crate::reclaim::available::Available;
use crate::reclaim::central::{
    Account, Central, RefillResult, ReturnedSpans, ShapeLists, SortedSpans, SpansWithoutFree, SweepBatch,
    SweptSpans,
};
use crate::reclaim::clock::{ReclaimClock, SweepTimer, Sweeping, Swept};
use crate::reclaim::empty_spans::EmptySpans;
use crate::reclaim::sweep_gate::SweepGate;
use crate::spans::span::Span;
use crate::spans::span_list::SpanList;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use heapwood_os::threads::sync::yield_now;
use heapwood_os::{CachePadded, ForkLock, KernelRef, Lock, LockGuard, Mapped, OsError};
use heapwood_pages::{PAGE_SIZE, PageCount, PageIndex, PageRun};

/// Spans swept between two acquisitions of the lock: about fifty microseconds.
const BATCH_SPANS: u32 = 1024;
/// The most shapes among them.
const BATCH_SHAPES: usize = 32;
/// Retries of a thread that waits for pages which are being released.
const RELEASE_PATIENCE: usize = 1000;

/// A page heap, and the lists of its spans that no mutator has.
pub(crate) struct Sweeper {
    heap: PageHeap,
    demand: Demand,
    central: CachePadded<Lock<Central, CENTRAL>>,
    available: CachePadded<Available>,
    freed: Available,
    gate: CachePadded<SweepGate>,
    clock: CachePadded<ReclaimClock>,
    chunks: CachePadded<Lock<ArenaChunkPool, ARENA_CHUNKS>>,
    /// Unused arena chunks may have marks: the current marking has reached one.
    dangling_marks: AtomicBool,
    /// How often the program has switched collections off and not on again. Changed under the central lock.
    collections_off: AtomicU32,
    clobber: bool,
    protect: bool,
}

impl Sweeper {
    pub(crate) fn new(kernel: KernelRef, config: &SpaceConfig) -> Result<Self, OsError> {
        let (heap, growth) = PageHeap::new(kernel, config)?;
        Ok(Sweeper {
            heap,
            demand: Demand::new(kernel)?,
            central: CachePadded(Lock::new(Central::new(kernel, growth)?)),
            available: CachePadded(Available::none()),
            freed: Available::none(),
            gate: CachePadded(SweepGate::new()),
            clock: CachePadded(ReclaimClock::new()),
            chunks: CachePadded(Lock::new(ArenaChunkPool::new(config.protect_arenas))),
            dangling_marks: AtomicBool::new(false),
            collections_off: AtomicU32::new(0),
            clobber: config.clobber,
            protect: config.protect_arenas.is_some(),
        })
    }

    /// The page heap.
    #[inline(always)]
    pub(crate) fn heap(&self) -> &PageHeap {
        &self.heap
    }

    /// The set of layouts with spans of their own.
    pub(crate) fn demand(&self) -> &Demand {
        &self.demand
    }

    /// The times of sweeping and page recovery.
    pub(crate) fn clock(&self) -> &ReclaimClock {
        &self.clock
    }

    /// Adds a mutator's account to the counters and times.
    pub(crate) fn settle(&self, central: &mut Central, account: Account) {
        central.settle(account);
        self.clock.add(Sweeping::Allocation, account.swept);
        self.clock.add_starved(account.starved);
    }

    /// Whether freed memory is filled.
    pub(crate) fn clobbers(&self) -> bool {
        self.clobber
    }

    /// Whether freed arena chunks are protected.
    pub(crate) fn protects(&self) -> bool {
        self.protect
    }

    /// The arena chunks that no arena has.
    pub(crate) fn chunks(&self) -> &Lock<ArenaChunkPool, ARENA_CHUNKS> {
        &self.chunks
    }

    /// Whether unused arena chunks may have marks.
    pub(crate) fn dangling_marks(&self) -> &AtomicBool {
        &self.dangling_marks
    }

    /// Takes the central lock.
    #[inline]
    pub(crate) fn lock(&self) -> LockGuard<'_, Central, CENTRAL> {
        let mut central = self.central.lock();
        central.note_acquisition(false);
        central
    }

    /// Takes the central lock for a large object, which is counted apart.
    pub(crate) fn lock_for_large(&self) -> LockGuard<'_, Central, CENTRAL> {
        let mut central = self.central.lock();
        central.note_acquisition(true);
        central
    }

    /// Switches collections off once more; returns how often they are off now.
    pub(crate) fn switch_collections_off(&self) -> u32 {
        let mut central = self.lock();
        central.suspend_budget();
        let count = self.collections_off.load(Ordering::Relaxed) + 1;
        self.collections_off.store(count, Ordering::SeqCst);
        count
    }

    /// Takes that back once; `None` if they are on.
    pub(crate) fn switch_collections_on(&self) -> Option<u32> {
        let mut central = self.lock();
        let count = self.collections_off.load(Ordering::Relaxed).checked_sub(1)?;
        self.collections_off.store(count, Ordering::SeqCst);
        if count == 0 {
            central.resume_budget();
        }
        Some(count)
    }

    /// How often collections are off.
    #[inline]
    pub(crate) fn collections_off(&self) -> u32 {
        self.collections_off.load(Ordering::SeqCst)
    }

    /// The central lock, for a fork.
    pub(crate) fn fork_lock(&self) -> &impl ForkLock {
        &self.central.0
    }

    /// A copy of a shape's lists.
    pub(crate) fn lists(&self, central: &mut Central, shape: ShapeId) -> ShapeLists {
        *central.lists(&self.heap, &self.demand, shape)
    }

    /// Brings the demand of a layout up to date with this cycle.
    pub(crate) fn begin_demand(&self, shape: ShapeId) {
        self.lists(&mut self.lock(), shape);
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

    fn update_available(&self, central: &mut Central, shape: ShapeId) {
        let some = central.has_some(&self.heap, &self.demand, shape);
        self.available.set(shape, some);
    }

    /// Prefetches the first span that a refill of the shape would take.
    pub(crate) fn prefetch(&self, central: &mut Central, shape: ShapeId) {
        central.prefetch(&self.heap, &self.demand, shape);
    }

    /// Takes up to `most` spans of a shape for a mutator, and the freed cells.
    pub(crate) fn take_for_refill(
        &self,
        central: &mut Central,
        shape: ShapeId,
        most: u32,
    ) -> (RefillResult, FreedCells) {
        let refill = central.take_for_refill(&self.heap, &self.demand, shape, most);
        let freed = central.take_freed(&self.heap, &self.demand, shape);
        self.freed.set(shape, false);
        self.update_available(central, shape);
        (refill, freed)
    }

    /// Takes back spans of a mutator: those without free cells, and those with some.
    pub(crate) fn return_spans(
        &self,
        central: &mut Central,
        shape: ShapeId,
        without_free: SpansWithoutFree,
        returned: ReturnedSpans,
    ) {
        central.add_used(&self.heap, &self.demand, shape, without_free.used);
        self.add_full(central, shape, without_free.full);
        if !returned.begun.is_empty() || !returned.untouched.is_empty() {
            central.add_returned(&self.heap, &self.demand, shape, returned);
            self.update_available(central, shape);
        }
    }

    /// Takes back spans that were full when a mutator swept them.
    pub(crate) fn add_full(&self, central: &mut Central, shape: ShapeId, full: SpanList) {
        central.add_full(&self.heap, &self.demand, shape, full);
    }

    /// Sorts the spans with free cells that a mutator returns.
    pub(crate) fn returned_spans(&self, mut list: SpanList) -> ReturnedSpans {
        let (spans, cycle, mut returned) =
            (self.heap.spans(), self.heap.marks().cycle(), ReturnedSpans::default());
        while let Some(page) = list.pop(spans) {
            let begun = spans.own(page).is_begun_in(cycle);
            if begun { &mut returned.begun } else { &mut returned.untouched }.push(spans, page);
        }
        returned
    }

    /// Takes back spans that a mutator had when the last cycle ended.
    pub(crate) fn add_unswept(&self, central: &mut Central, shape: ShapeId, spans: SpanList) {
        if !spans.is_empty() {
            central.add_unswept(&self.heap, &self.demand, shape, spans);
            self.available.set(shape, true);
        }
    }

    /// Takes back the spans of a swept batch.
    pub(crate) fn return_swept(&self, central: &mut Central, swept: SweptSpans) {
        central.return_swept(self.heap.spans(), swept);
        if !swept.partial.is_empty() {
            self.update_available(central, ShapeId::from_index(swept.shape));
        }
    }

    /// Adds freed cells of a shape.
    pub(crate) fn add_freed(&self, central: &mut Central, shape: ShapeId, freed: FreedCells) {
        if freed.len(self.heap.marks().full_cycle()) != 0 {
            central.add_freed(&self.heap, &self.demand, shape, freed);
            self.freed.set(shape, true);
        }
    }

    /// Notes that a mutator keeps its span of the shape in the cycle that has just begun.
    pub(crate) fn keep_own_spans(&self, central: &mut Central, shape: ShapeId) {
        self.lists(central, shape);
        self.demand.begin_cycle(shape, self.heap.marks().full_cycle(), true);
    }

    /// Takes a batch of up to `most` spans to sweep for all.
    pub(crate) fn next_sweep_batch(&self, central: &mut Central, most: u32) -> Option<SweepBatch> {
        if most == 0 {
            return None;
        }
        let sweep_batch = central.next_sweep_batch(&self.heap, &self.demand, most);
        match &sweep_batch {
            Some(SweepBatch::Spans(shape, _)) => self.update_available(central, *shape),
            Some(SweepBatch::Large(_)) => {}
            None => self.gate.set_all_taken(true),
        }
        sweep_batch
    }

    /// Calls `f` with the mappings of the state of each shape.
    pub(crate) fn for_each_shape_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.demand.for_each_mapping(f);
        self.lock().for_each_mapping(f);
    }

    /// Commits the state of each shape in the range.
    pub(crate) fn commit_shapes(&self, shapes: Range<usize>) -> Result<(), OsError> {
        self.demand.commit(shapes.clone())?;
        self.lock().commit(shapes)
    }

    /// Ends a marking: marked objects are the live ones.
    pub(crate) fn begin_cycle(
        &self,
        central: &mut Central,
        after: Collection,
        budget: usize,
        goal: usize,
    ) -> usize {
        self.heap.marks().begin_cycle(after);
        self.heap.external().begin_cycle(after, budget);
        if after == Collection::Full {
            self.heap.pages().new_cycle();
        }
        self.available.set_all(central.listed_shapes());
        self.gate.set_all_taken(false);
        // Who stops the heap closes the gate, and opens it again.
        central.note_gate(2);
        central.begin_cycle(after, budget, goal)
    }

    /// Keeps all threads but mutators from sweeping, and waits for those that do: one batch at most. The mutators must
    /// be stopped; otherwise this may wait for a mutator's sweep while that mutator waits for its turn to stop.
    pub(crate) fn suspend(&self) {
        self.gate.close();
    }

    /// Lets them sweep again.
    pub(crate) fn resume(&self) {
        self.gate.open();
    }

    /// Sweeps all unswept spans, and waits for other sweepers; does nothing while sweeping is suspended.
    pub(crate) fn finish(&self) {
        loop {
            if self.sweep_some(Sweeping::Collector) {
                continue;
            }
            match self.gate.is_anyone_inside() {
                true => yield_now(),
                false => return,
            }
        }
    }

    /// As [`finish`](Self::finish), for the thread that has suspended sweeping.
    pub(crate) fn finish_suspended(&self) {
        while self.sweep_one_batch(Sweeping::Collector, true) {}
    }

    /// Sweeps some spans for all; false if there are none, or sweeping is suspended.
    pub(crate) fn sweep_some(&self, who: Sweeping) -> bool {
        self.sweep_one_batch(who, false)
    }

    fn sweep_one_batch(&self, who: Sweeping, is_suspender: bool) -> bool {
        if self.gate.are_all_taken() {
            return false;
        }
        let mut sweep_batches = [const { None }; BATCH_SHAPES];
        {
            let mut central = self.lock();
            central.note_gate(2);
            match is_suspender {
                true => self.gate.enter_closed(),
                false if !self.gate.enter() => return false,
                false => {}
            }
            let mut left = BATCH_SPANS;
            for place in &mut sweep_batches {
                *place = self.next_sweep_batch(&mut central, left);
                left = left.saturating_sub(match place {
                    Some(SweepBatch::Spans(_, batch)) => batch.len(),
                    Some(SweepBatch::Large(_)) => BATCH_SPANS / 4,
                    None => left,
                });
            }
            if sweep_batches[0].is_none() {
                self.gate.leave();
                return false;
            }
        }
        let (mut timer, mut empty) = (SweepTimer::start(), EmptySpans::new(&self.heap));
        let mut results = [SweptSpans::default(); BATCH_SHAPES];
        for (sweep_batch, result) in sweep_batches.into_iter().flatten().zip(&mut results) {
            timer.swept(self.run_sweep_batch(sweep_batch, result, &mut empty));
        }
        empty.free_pages();
        let swept = timer.recovered();
        let mut central = self.lock();
        results.into_iter().for_each(|result| self.return_swept(&mut central, result));
        self.clock.add(who, swept);
        drop(central);
        self.gate.leave();
        true
    }

    /// Whether a thread is sweeping for all.
    #[cfg(all(test, loom))]
    pub(crate) fn is_being_swept(&self) -> bool {
        self.gate.is_anyone_inside()
    }

    /// Sweeps a batch; its empty spans become free pages. Returns the other spans, and the work done.
    pub(crate) fn sweep(&self, sweep_batch: SweepBatch) -> (SweptSpans, Swept) {
        let (mut timer, mut empty) = (SweepTimer::start(), EmptySpans::new(&self.heap));
        let mut result = SweptSpans::default();
        timer.swept(self.run_sweep_batch(sweep_batch, &mut result, &mut empty));
        empty.free_pages();
        (result, timer.recovered())
    }

    /// The same; returns the number of spans swept.
    fn run_sweep_batch(
        &self,
        sweep_batch: SweepBatch,
        result: &mut SweptSpans,
        empty: &mut EmptySpans<'_>,
    ) -> u32 {
        match sweep_batch {
            SweepBatch::Spans(shape, batch) => {
                result.shape = shape.index() as u32;
                self.sweep_spans(batch, result, empty)
            }
            SweepBatch::Large(words) => self.sweep_large(words, empty),
        }
    }

    fn sweep_spans(&self, mut batch: SpanList, result: &mut SweptSpans, empty: &mut EmptySpans<'_>) -> u32 {
        let (swept, spans) = (batch.len(), self.heap.spans());
        while let Some(page) = batch.pop(spans) {
            let span = spans.at(page);
            self.prefetch_next(batch, span);
            span.set_held(false);
            match self.sweep_span(page, span) {
                0 => {
                    spans.remove(page);
                    empty.push(page, span.pages());
                }
                live if live == span.cells() => result.full.push(spans, page),
                _ => result.partial.push(spans, page),
            }
        }
        swept
    }

    /// Sweeps spans that a mutator took, and sorts them: even without an object they stay the mutator's.
    pub(crate) fn sweep_taken(&self, mut taken: SpanList) -> (SortedSpans, Swept) {
        let (spans, mut sorted) = (self.heap.spans(), SortedSpans::default());
        let (mut timer, swept) = (SweepTimer::start(), taken.len());
        while let Some(page) = taken.pop(spans) {
            let span = spans.at(page);
            self.prefetch_next(taken, span);
            if self.sweep_span(page, span) == span.cells() {
                span.set_held(false);
                sorted.full.push(spans, page);
            } else {
                sorted.partial.push(spans, page);
            }
        }
        timer.swept(swept);
        (sorted, timer.finish())
    }

    /// Prefetches what the sweep of the next span on a list reads, while `this` one, of the same shape, is swept.
    #[inline]
    fn prefetch_next(&self, list: SpanList, this: &Span) {
        let Some(next) = list.first() else { return };
        let (spans, marks) = (self.heap.spans(), self.heap.marks());
        spans.prefetch(next);
        let start = spans.address_of(next);
        for at in (start..start + this.pages().bytes()).step_by(PAGE_SIZE) {
            marks.prefetch_both(at);
        }
    }

    /// Sweeps a span that this thread took from an unswept list; returns its number of live cells.
    fn sweep_span(&self, page: PageIndex, span: &Span) -> usize {
        let (start, marks) = (self.heap.spans().address_of(page), self.heap.marks());
        let end = start + span.pages().bytes();
        self.heap.spans().witness().sweep(page, || marks.cycle());
        let (cells, bytes) = (span.cells_start()..span.cells_end(), span.object_bytes());
        // After a young collection the marks are clear since the previous sweep.
        let clear = !marks.is_after_young();
        let live = if bytes < Marks::WORD_BYTES {
            if clear {
                // SAFETY: the span was taken from a list by this thread, and no marking is under way.
                unsafe { marks.clear_marks(start, end) };
            }
            marks.count_allocated(start, end)
        } else {
            if clear {
                // Few lines of such a span have a bit.
                // SAFETY: as above.
                cells.clone().step_by(bytes).for_each(|cell| unsafe { marks.clear_mark(cell) });
            }
            marks.count_allocated_large(cells.start, cells.end, bytes)
        };
        self.heap.spans().young_pages().clear(page, span.pages());
        self.heap.freed().keep(start..end, |at| marks.allocated_word(at));
        self.clobber_dead(span, span.cells_end());
        span.reset();
        span.set_swept_in(marks.cycle());
        live
    }

    /// In verify mode, fills the free cells below `end`.
    pub(crate) fn clobber_dead(&self, span: &Span, end: usize) {
        if !self.clobber {
            return;
        }
        let (bytes, marks) = (span.object_bytes(), self.heap.marks());
        for cell in span.iter().map(ObjectRef::get).take_while(|&cell| cell < end) {
            if !marks.is_allocated(cell) {
                // SAFETY: the cell is free, and the span is this thread's, or that of a stopped mutator.
                unsafe { (cell as *mut u8).write_bytes(CLOBBER, bytes) };
            }
        }
    }

    /// Takes `count` free pages; sweeps and grows the heap as needed.
    pub(crate) fn take_pages(
        &self,
        target: CacheTarget<'_>,
        count: PageCount,
    ) -> Result<PageRun, SpaceError> {
        let run = self.make_pages(target, count)?;
        self.heap.stay_within_limit(PageCount(count.0 + target.most().0));
        Ok(run)
    }

    fn make_pages(&self, target: CacheTarget<'_>, count: PageCount) -> Result<PageRun, SpaceError> {
        let heap = &self.heap;
        if count.bytes() > heap.reservation_bytes() {
            return Err(heap.no_room(count.bytes()));
        }
        let mut patience = RELEASE_PATIENCE;
        loop {
            if let Some(run) = self.try_pages(target, count) {
                return Ok(run);
            }
            // Sweep no more than needed: the rest is other threads' work as much as this one's.
            if self.sweep_some(Sweeping::Allocation) {
                continue;
            }
            let mut central = self.lock();
            // Spans that other threads are sweeping become free in a moment.
            let mut wait = self.gate.is_anyone_inside();
            let found = heap.check_limit(central.growth(), count.bytes()).and_then(|()| {
                if let Some(run) = heap.take_counted(central.growth(), count) {
                    return Ok(Some(run));
                }
                // So do pages that are being released. But after a fork, the releasing thread may not exist in this
                // process.
                if (wait || heap.pages().is_releasing()) && patience > 0 {
                    (wait, patience) = (true, patience - 1);
                    return Ok(None);
                }
                heap.grow(central.growth(), count)?;
                // Take them before another thread can.
                Ok(heap.take_counted(central.growth(), count))
            });
            match found {
                Ok(Some(run)) => return Ok(run),
                Err(e) if !wait => {
                    central.want_pages();
                    return Err(e);
                }
                Err(_) | Ok(None) if wait => {
                    drop(central);
                    yield_now();
                }
                _ => {}
            }
        }
    }

    /// Takes free pages, if there are any, and caches some for the mutator. Under a limit the pages are counted before
    /// they are taken, and near it none are cached.
    fn try_pages(&self, target: CacheTarget<'_>, count: PageCount) -> Option<PageRun> {
        if !self.heap.is_limited() {
            return self.find_pages(target, count);
        }
        let mut central = self.lock();
        self.heap.check_limit(central.growth(), count.bytes()).ok()?;
        let target = target.at_most(self.heap.spare_below_limit(central.growth(), count));
        self.find_pages(target, count)
    }

    fn find_pages(&self, target: CacheTarget<'_>, count: PageCount) -> Option<PageRun> {
        let pages = self.heap.pages();
        let taken = match target {
            CacheTarget::Blocks(blocks, most) => blocks.take_from(pages, count, most),
            CacheTarget::Long(blocks, most) => blocks.take_long_from(pages, count, most),
            CacheTarget::Uncached => pages.allocate_uncached(count),
        };
        taken.ok()
    }
}
