//! Sweeping: a span's free cells are those without an allocation bit, so sweeping writes no cell. It counts the
//! bits to tell full spans from empty ones and clears the other side for the next marking. It is lazy: a mutator sweeps
//! the spans that it took home when it needs memory of their shape, and the rest is swept for everyone, a pack of spans
//! at a time and without the lock: by a thread that finds no free page, by the background thread of a heap that has
//! become too large, and before the next marking. Invariant: a span is swept by the one thread that took it off its list.

use crate::config::{CLOBBER, SpaceConfig};
use crate::error::SpaceError;
use crate::layout::demand::Demand;
use crate::layout::shape_id::ShapeId;
use crate::pages::page_heap::PageHeap;
use crate::reclaim::central::{Central, ShapeLists};
use crate::spans::span::Span;
use crate::spans::span_list::SpanList;
use core::ops::Range;
use heapwood_os::timed_lock::TimedGuard;
use heapwood_os::{CachePadded, KernelRef, OsError, TimedLock};
use heapwood_pages::{Effort, PAGE_SIZE, PageCache, PageCount, PageIndex, PageRun};

/// How many spans are swept between two acquisitions of the lock: some microseconds.
const PACK: u32 = 64;
/// How often a thread that needs pages looks again whether some that are being released have been.
const RELEASE_PATIENCE: usize = 1000;

/// Empty spans on their way back to the page allocator: neighbours in one piece, and many at a time.
struct Empty<'h> {
    heap: &'h PageHeap,
    runs: [(PageIndex, PageCount); 64],
    len: usize,
}

impl<'h> Empty<'h> {
    fn new(heap: &'h PageHeap) -> Self {
        Empty { heap, runs: [(PageIndex(0), PageCount(0)); 64], len: 0 }
    }

    fn push(&mut self, first: PageIndex, count: PageCount) {
        if let Some(last) = self.runs[..self.len].last_mut()
            && last.0.0 + last.1.0 == first.0
        {
            last.1 = PageCount(last.1.0 + count.0);
            return;
        }
        if self.len == self.runs.len() {
            self.give();
        }
        self.runs[self.len] = (first, count);
        self.len += 1;
    }

    fn give(&mut self) {
        if let Err(e) = self.heap.pages().free_batch(&self.runs[..self.len]) {
            heapwood_os::message::corrupt(format_args!("freeing pages of spans: {e}"));
        }
        self.len = 0;
    }
}

/// A page heap, and the lists of the spans in it that no mutator owns.
pub(crate) struct Sweeper {
    heap: PageHeap,
    demand: Demand,
    central: CachePadded<TimedLock<Central>>,
    clobber: bool,
}

impl Sweeper {
    pub(crate) fn new(kernel: KernelRef, config: &SpaceConfig) -> Result<Self, OsError> {
        let (heap, growth) = PageHeap::new(kernel, config)?;
        Ok(Sweeper {
            heap,
            demand: Demand::new(kernel)?,
            central: CachePadded(TimedLock::new(Central::new(kernel, growth)?)),
            clobber: config.clobber,
        })
    }

    /// The pages, and what lies in them.
    #[inline(always)]
    pub(crate) fn heap(&self) -> &PageHeap {
        &self.heap
    }

    /// Which layouts have spans of their own.
    pub(crate) fn demand(&self) -> &Demand {
        &self.demand
    }

    /// What mutators share.
    #[inline]
    pub(crate) fn lock(&self) -> TimedGuard<'_, Central> {
        self.central.lock()
    }

    /// The longest that it was held, in ticks.
    pub(crate) fn longest_hold(&self) -> u64 {
        self.central.longest_hold()
    }

    /// The lists of a shape.
    pub(crate) fn lists<'c>(&self, central: &'c mut Central, shape: ShapeId) -> &'c mut ShapeLists {
        central.lists(&self.heap, &self.demand, shape)
    }

    /// Unswept spans that a mutator had taken come back.
    pub(crate) fn return_unswept(&self, central: &mut Central, shape: ShapeId, spans: SpanList) {
        central.return_unswept(&self.heap, &self.demand, shape, spans);
    }

    /// Pages that were taken for a large object are a span.
    pub(crate) fn finish_large(&self, central: &mut Central, page: PageIndex) {
        central.finish_large(&self.heap, &self.demand, page);
    }

    /// Makes room for what is kept of each shape with a number in the range.
    pub(crate) fn commit_shapes(&self, shapes: Range<usize>) -> Result<(), OsError> {
        self.demand.commit(shapes.clone())?;
        self.lock().commit(shapes)
    }

    /// Ends a marking. No mutator may own a span.
    pub(crate) fn end_marking(&self, budget: usize) -> usize {
        let mut central = self.lock();
        self.heap.marks().flip();
        self.heap.pages().new_cycle();
        central.begin_cycle(budget)
    }

    /// Keeps threads other than mutators from sweeping. Whoever does now is waited for: a pack at most. The mutators must be
    /// stopped, or a mutator's sweep is waited for that waits for its turn to stop.
    pub(crate) fn suspend(&self) {
        self.lock().suspend(true);
        while self.is_being_swept() {}
    }

    /// Lets them again.
    pub(crate) fn resume(&self) {
        self.lock().suspend(false);
    }

    /// Sweeps whatever has not been swept since the last marking, but for what mutators have taken home or others are
    /// sweeping; nothing while that is suspended, unless it is for the collector.
    pub(crate) fn finish(&self, is_collector: bool) {
        while self.sweep_pack(is_collector) {}
    }

    /// Sweeps some spans for everyone; false if there are none, or sweeping is suspended.
    pub(crate) fn sweep_some(&self) -> bool {
        self.sweep_pack(false)
    }

    /// Whether somebody sweeps for everyone now; lets them go on if so.
    fn is_being_swept(&self) -> bool {
        let swept = self.lock().is_being_swept();
        if swept {
            std::thread::yield_now();
        }
        swept
    }

    fn sweep_pack(&self, is_collector: bool) -> bool {
        let (heap, spans) = (&self.heap, self.heap.spans());
        let picked = {
            let mut central = self.lock();
            let may = is_collector || !central.is_suspended();
            if may { central.pick_up(heap, &self.demand, PACK) } else { None }
        };
        let Some((shape, mut pack)) = picked else { return false };
        let mut empty = Empty::new(heap);
        let (mut partial, mut full) = (SpanList::EMPTY, SpanList::EMPTY);
        while let Some(page) = pack.pop(spans) {
            let span = spans.at(page);
            match self.sweep_span(page, span) {
                0 => {
                    spans.remove(page);
                    heap.end_sparse(page, span.pages());
                    empty.push(page, span.pages());
                }
                live if live == span.cells() => full.push(spans, page),
                _ => partial.push(spans, page),
            }
        }
        empty.give();
        self.lock().put_down(spans, shape, partial, full);
        true
    }

    /// Sweeps a span that this thread has taken from an unswept list; returns how many of its cells live.
    pub(crate) fn sweep_span(&self, page: PageIndex, span: &Span) -> usize {
        let (start, marks) = (self.heap.spans().address_of(page), self.heap.marks());
        // A large object has one bit, however long its span is.
        let end = if span.cell_size() == 0 { start + PAGE_SIZE } else { start + span.pages().bytes() };
        let live = marks.count_allocated(start, end);
        // SAFETY: the span was taken from a list by this thread, and no marking is under way.
        unsafe { marks.clear_marks(start, end) };
        if self.clobber {
            let bytes = span.object_bytes();
            for cell in span.iter().filter(|cell| !marks.is_allocated(cell.get())) {
                // SAFETY: the cell is free and the span is owned by this thread.
                unsafe { (cell.get() as *mut u8).write_bytes(CLOBBER, bytes) };
            }
        }
        span.set_swept_in(marks.cycle());
        live
    }

    /// Finds `count` free pages, sweeping and growing as needed.
    pub(crate) fn take_pages(
        &self,
        mut cache: Option<&mut PageCache>,
        count: PageCount,
    ) -> Result<PageRun, SpaceError> {
        let heap = &self.heap;
        if count.bytes() > heap.window_bytes() {
            return Err(heap.no_room(count.bytes()));
        }
        let mut patience = RELEASE_PATIENCE;
        loop {
            if let Some(run) = self.try_pages(cache.as_deref_mut(), count) {
                return Ok(run);
            }
            // As little as is needed is swept here; the rest is others' as much as this thread's.
            if self.sweep_some() {
                continue;
            }
            let mut central = self.lock();
            // What others are sweeping is free in a moment,
            let mut wait = central.is_being_swept();
            let found = heap.check_limit(central.growth(), count).and_then(|()| {
                if let Some(run) = heap.take_counted(central.growth(), count) {
                    return Ok(Some(run));
                }
                // and so is what is on its way to the kernel; but the thread that released it may be one that this process,
                // forked since, does not have.
                if heap.pages().is_releasing() && patience > 0 {
                    (wait, patience) = (true, patience - 1);
                    return Ok(None);
                }
                heap.grow(central.growth(), count)?;
                // Taken before anybody else can.
                Ok(heap.take_counted(central.growth(), count))
            });
            match found {
                Ok(Some(run)) => return Ok(run),
                Err(e) if !wait => return Err(e),
                Err(_) | Ok(None) if wait => {
                    drop(central);
                    std::thread::yield_now();
                }
                _ => {}
            }
        }
    }

    /// Free pages, if there are some. Under a limit each is counted before it is taken, and nothing is set aside.
    fn try_pages(&self, cache: Option<&mut PageCache>, count: PageCount) -> Option<PageRun> {
        if self.heap.is_limited() {
            return self.heap.take_counted(self.lock().growth(), count);
        }
        match cache {
            Some(cache) => self.heap.pages().allocate(cache, count).ok(),
            None => self.heap.pages().allocate_uncached(count).ok(),
        }
    }

    /// Sweeps what has not been swept and releases the memory of all free pages; returns how many bytes may have been
    /// resident. It ends early if the kernel refuses.
    pub(crate) fn release_all(&self) -> usize {
        while self.sweep_some() || self.is_being_swept() {}
        let mut released = 0;
        while let Some((bytes, true)) = self.heap.release_some(Effort::Full) {
            released += bytes;
        }
        released
    }
}
