//! Lazy sweeping, as in Go's mheap. The free cells of a span are those without an allocation bit, so sweeping writes no
//! cell. It counts the bits to tell full spans from empty ones, and clears the other side for the next marking. A
//! mutator sweeps the spans that it takes, and with each refill a share of the others, so that everything is swept when
//! the budget is used up. The background thread sweeps, too; the collector sweeps what is left before the next stop.
//! Invariant: each span is swept once a cycle, by the thread that took it off its list, and never in a stop.

use crate::address::ObjectRef;
use crate::arenas::chunk_pool::ArenaChunkPool;
use crate::config::{CLOBBER, SpaceConfig};
use crate::lock_order::ARENA_CHUNKS;
use crate::marks::Marks;
use crate::pages::page_heap::{GrowthToken, PageHeap, Reclaimer};
use crate::reclaim::budget::Account;
use crate::reclaim::central::{Central, CentralLists, SortedSpans, SweepBatch, SweptSpans};
use crate::reclaim::clock::{ReclaimClock, SweepTimer, Sweeping, Swept};
use crate::reclaim::empty_spans::EmptySpans;
use crate::spans::span::Span;
use crate::spans::span_list::SpanList;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use heapwood_os::threads::sync::yield_now;
use heapwood_os::{CachePadded, KernelRef, Lock, OsError};
use heapwood_pages::{PAGE_SIZE, PageIndex};

/// Spans swept between two acquisitions of the lock: about fifty microseconds.
const BATCH_SPANS: u32 = 1024;
/// The most shapes among them.
const BATCH_SHAPES: usize = 32;

/// A page heap, and the lists of its spans that no mutator has.
pub(crate) struct Sweeper {
    /// The page heap.
    pub(crate) heap: PageHeap,
    /// The lists of its spans that no mutator has.
    pub(crate) lists: CentralLists,
    /// The times of sweeping and page recovery.
    pub(crate) clock: CachePadded<ReclaimClock>,
    /// The arena chunks that no arena has.
    pub(crate) chunks: CachePadded<Lock<ArenaChunkPool, ARENA_CHUNKS>>,
    /// Unused arena chunks may have marks: the current marking has reached one.
    pub(crate) dangling_marks: AtomicBool,
    /// How often the program has switched collections off and not on again. Changed under the central lock.
    collections_off: AtomicU32,
    /// Freed memory is filled.
    pub(crate) clobber: bool,
    /// What the program frees keeps its cell.
    keeps_freed: bool,
    /// Freed arena chunks are protected.
    pub(crate) protect: bool,
}

impl Sweeper {
    pub(crate) fn new(kernel: KernelRef, config: &SpaceConfig) -> Result<Self, OsError> {
        let (heap, growth) = PageHeap::new(kernel, config)?;
        Ok(Sweeper {
            heap,
            lists: CentralLists::new(kernel, growth)?,
            clock: CachePadded(ReclaimClock::new()),
            chunks: CachePadded(Lock::new(ArenaChunkPool::new(config.protect_arenas))),
            dangling_marks: AtomicBool::new(false),
            collections_off: AtomicU32::new(0),
            clobber: config.clobber,
            keeps_freed: config.keep_freed,
            protect: config.protect_arenas.is_some(),
        })
    }

    /// Whether what the program frees keeps its cell.
    pub(crate) fn keeps_freed(&self) -> bool {
        self.keeps_freed
    }

    /// Adds a mutator's account to the counters and times.
    pub(crate) fn settle(&self, central: &mut Central<'_>, account: Account) {
        central.budget.settle(account);
        self.clock.add(Sweeping::Allocation, account.swept);
        self.clock.add_starved(account.starved);
    }

    /// Takes the central lock.
    #[inline]
    pub(crate) fn lock(&self) -> Central<'_> {
        self.lists.lock(&self.heap, false)
    }

    /// Takes the central lock for a large object, which is counted apart.
    pub(crate) fn lock_for_large(&self) -> Central<'_> {
        self.lists.lock(&self.heap, true)
    }

    /// Switches collections off once more; returns how often they are off now.
    pub(crate) fn switch_collections_off(&self) -> u32 {
        let mut central = self.lock();
        central.budget.suspend();
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
            central.budget.resume();
        }
        Some(count)
    }

    /// How often collections are off.
    #[inline]
    pub(crate) fn collections_off(&self) -> u32 {
        self.collections_off.load(Ordering::SeqCst)
    }

    /// Keeps all threads but mutators from sweeping, and waits for those that do: one batch at most. The mutators must
    /// be stopped; otherwise this may wait for a mutator's sweep while that mutator waits for its turn to stop.
    pub(crate) fn suspend(&self) {
        self.lists.gate.close();
    }

    /// Lets them sweep again.
    pub(crate) fn resume(&self) {
        self.lists.gate.open();
    }

    /// Sweeps all unswept spans, and waits for other sweepers; does nothing while sweeping is suspended.
    pub(crate) fn finish(&self) {
        loop {
            if self.sweep_some(Sweeping::Collector) {
                continue;
            }
            match self.lists.gate.is_anyone_inside() {
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
        if self.lists.gate.are_all_taken() {
            return false;
        }
        let mut sweep_batches = [const { None }; BATCH_SHAPES];
        {
            let mut central = self.lock();
            central.budget.note_gate(2);
            match is_suspender {
                true => self.lists.gate.enter_closed(),
                false if !self.lists.gate.enter() => return false,
                false => {}
            }
            let mut left = BATCH_SPANS;
            for place in &mut sweep_batches {
                *place = central.next_sweep_batch(left);
                left = left.saturating_sub(match place {
                    Some(SweepBatch::Spans(_, batch)) => batch.len(),
                    Some(SweepBatch::Large(_)) => BATCH_SPANS / 4,
                    None => left,
                });
            }
            if sweep_batches[0].is_none() {
                self.lists.gate.leave();
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
        results.into_iter().for_each(|result| central.return_swept(result));
        self.clock.add(who, swept);
        drop(central);
        self.lists.gate.leave();
        true
    }

    /// Whether a thread is sweeping for all.
    #[cfg(all(test, loom))]
    pub(crate) fn is_being_swept(&self) -> bool {
        self.lists.gate.is_anyone_inside()
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
        let (swept, spans) = (batch.len(), &self.heap.spans);
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
        let (spans, mut sorted) = (&self.heap.spans, SortedSpans::default());
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
        let (spans, marks) = (&self.heap.spans, &self.heap.marks);
        spans.prefetch(next);
        let start = spans.address_of(next);
        for at in (start..start + this.pages().bytes()).step_by(PAGE_SIZE) {
            marks.prefetch_both(at);
        }
    }

    /// Sweeps a span that this thread took from an unswept list; returns its number of live cells.
    fn sweep_span(&self, page: PageIndex, span: &Span) -> usize {
        let (start, marks) = (self.heap.spans.address_of(page), &self.heap.marks);
        let end = start + span.pages().bytes();
        self.heap.spans.witness().sweep(page, || marks.cycle());
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
        self.heap.spans.young_pages().clear(page, span.pages());
        self.heap.freed.keep(start..end, |at| marks.allocated_word(at));
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
        let (bytes, marks) = (span.object_bytes(), &self.heap.marks);
        for cell in span.iter().map(ObjectRef::get).take_while(|&cell| cell < end) {
            if !marks.is_allocated(cell) {
                // SAFETY: the cell is free, and the span is this thread's, or that of a stopped mutator.
                unsafe { (cell as *mut u8).write_bytes(CLOBBER, bytes) };
            }
        }
    }
}

impl Reclaimer for Sweeper {
    fn reclaim_some(&self) -> bool {
        self.sweep_some(Sweeping::Allocation)
    }

    fn with_growth<R>(&self, f: impl FnOnce(&mut GrowthToken, bool) -> R) -> R {
        let mut central = self.lock();
        f(central.growth(), self.lists.gate.is_anyone_inside())
    }
}
