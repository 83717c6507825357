//! The slow path of allocation, and the right to take it. A buffer first moves to the next run of free cells in its
//! span. When the span is exhausted, it gets another of its shape without a lock: a cached span, new pages from its
//! mutator's cached pages, or a cell that the program has freed. After that comes a central refill (`central_refill`),
//! which takes the lock.
//!
//! The owner token stands for the mutator's thread, or the thread that has stopped it. Invariant: the spans of the
//! buffers belong to the token's heap. The scheme is Go's mcache, with runs instead of single cells.

use crate::address::Address;
use crate::alloc::alloc_buffer::AllocBuffer;
use crate::alloc::allocator::Allocator;
use crate::alloc::thread_cache::ThreadCache;
use crate::error::SpaceError;
use crate::layout::per_object;
use crate::layout::shape::{ScanKind, Shape, SmallShape};
use crate::layout::shape_id::ShapeId;
use crate::marks::Marks;
use crate::pages::page_blocks::CacheTarget;
use crate::pages::page_heap::PageHeap;
#[cfg(loom)]
use crate::publication::mutant;
use crate::reclaim::central::Central;
use crate::reclaim::sweeper::Sweeper;
use crate::spans::span::Span;
use crate::spans::young_pages::epoch_of;
use core::ops::Range;
use core::ptr::NonNull;
use heapwood_pages::{PageCount, PageIndex, PageRun};

/// The right to allocate from a mutator's buffers and to take their spans away ([`Space::owner`](crate::Space::owner)).
pub struct Owner<'m> {
    allocator: &'m Allocator,
    buffers: NonNull<AllocBuffer>,
    cache: &'m ThreadCache,
    /// The thread was stopped between any two instructions. It may have read a cursor or a limit, so both stay as they
    /// are.
    keeps_runs: bool,
}

/// A buffer that needs a span, and its shape.
#[derive(Clone, Copy)]
pub(super) struct RefillRequest<'m> {
    pub(super) buffer: &'m AllocBuffer,
    pub(super) id: ShapeId,
    pub(super) shape: SmallShape<'m>,
}

/// Result of a refill from the mutator's own spans.
#[derive(PartialEq, Eq)]
enum TakenSpan {
    /// A span, to be searched for the next run.
    Span,
    /// Cells, and no span.
    Cells,
}

impl RefillRequest<'_> {
    /// Pages of a span of the shape.
    pub(super) fn span_pages(&self) -> PageCount {
        self.shape.size_class().span_pages()
    }

    /// Bytes of a span of the shape.
    pub(super) fn span_bytes(&self) -> usize {
        self.span_pages().bytes()
    }
}

impl<'m> Owner<'m> {
    /// The owner of the buffers from `buffers` on, one for each shape that a heap can have.
    ///
    /// # Safety
    /// As [`Space::owner`](crate::Space::owner)'s.
    #[inline(always)]
    pub(crate) unsafe fn new(
        allocator: &'m Allocator,
        buffers: NonNull<AllocBuffer>,
        cache: &'m ThreadCache,
    ) -> Self {
        Owner { allocator, buffers, cache, keeps_runs: false }
    }

    /// The same owner. If `keeps`, its thread was stopped between any two instructions, and keeps the runs and cells
    /// of its buffers.
    pub fn keeping_runs(self, keeps: bool) -> Self {
        Owner { keeps_runs: keeps, ..self }
    }

    /// Has a model watch the count of its moves to spans and runs of freed cells.
    #[cfg(all(test, loom))]
    pub(crate) fn watch_moves(&self, watch: &heapwood_os::threads::watched::Watch) {
        self.cache.run_owner().watch(watch);
    }

    /// The base of its heap's allocation.
    pub(super) fn allocator(&self) -> &'m Allocator {
        self.allocator
    }

    /// Whether the thread keeps its runs.
    pub(super) fn keeps_runs(&self) -> bool {
        self.keeps_runs
    }

    /// The buffer of `shape`.
    #[inline(always)]
    pub fn buffer(&self, shape: ShapeId) -> &'m AllocBuffer {
        // SAFETY: shape numbers are below MAX_SHAPES (their invariant), and the array is that long (contract of `new`).
        unsafe { &*self.buffers.as_ptr().add(shape.index()) }
    }

    /// The mutator's thread cache.
    pub(crate) fn cache(&self) -> &'m ThreadCache {
        self.cache
    }

    pub(crate) fn sweeper(&self) -> &'m Sweeper {
        self.allocator.sweeper()
    }

    pub(crate) fn heap(&self) -> &'m PageHeap {
        self.sweeper().heap()
    }

    /// Whether its runs have one cell only.
    pub(crate) fn has_single_cell_runs(&self) -> bool {
        self.allocator.has_single_cells()
    }

    pub(super) fn shape(&self, id: ShapeId) -> &'m Shape {
        self.allocator.shapes().get(id)
    }

    pub(super) fn cycle(&self) -> u32 {
        self.heap().marks().cycle()
    }

    /// The full cycle; freed cells are used again within it.
    pub(super) fn full_cycle(&self) -> u32 {
        self.heap().marks().full_cycle()
    }

    /// Gives the buffer of a shape a run with at least one free cell. The cells are zero where they may hold pointers.
    /// With `whole`, the caller promises to write each cell as a whole before the commit; cells of masks and programs
    /// are then not zeroed, since only the words of the value itself are read as pointers.
    ///
    /// # Errors
    /// A collection is due, or there is no memory.
    ///
    /// # Panics
    /// The shape is another space's, or has no size class.
    pub fn refill(&self, id: ShapeId, whole: bool) -> Result<(), SpaceError> {
        let shape =
            self.allocator.shapes().get(id).small().expect("only shapes with a size class are refilled");
        let request = RefillRequest { buffer: self.buffer(id), id, shape };
        if request.buffer.span().is_none() && self.allocator.shares(id, shape) {
            return self.refill_from_shared_span(request);
        }
        self.refill_from_own(request, |buffer, page| self.allocator.next_run(buffer, page, shape, whole))
    }

    /// The same with cells that are linked through their first words, of at most `bytes` bytes or one cell, if they come from a span of
    /// the buffer's own ([`AllocBuffer::has_span`]). Others, which the program had freed or of a shared span, are as `refill`
    /// leaves them.
    ///
    /// # Errors
    /// As for [`refill`](Owner::refill).
    ///
    /// # Panics
    /// As there.
    pub fn refill_chain(&self, id: ShapeId, bytes: usize) -> Result<(), SpaceError> {
        let shape =
            self.allocator.shapes().get(id).small().expect("only shapes with a size class are refilled");
        let request = RefillRequest { buffer: self.buffer(id), id, shape };
        if request.buffer.span().is_none() && self.allocator.shares(id, shape) {
            return self.refill_from_shared_span(request);
        }
        self.refill_from_own(request, |buffer, page| self.allocator.next_chain(buffer, page, shape, bytes))
    }

    /// Gives the buffer the next run of its span, as a refill would, or one of cells that the program freed lately if it has
    /// no span; false if there is none. Most refills of a fragmented heap need no more than this, nor do those of a program
    /// that frees what it allocates.
    #[inline]
    pub fn continue_run(&self, id: ShapeId, whole: bool) -> bool {
        let buffer = self.buffer(id);
        if self.allocator.has_single_cells() {
            return false;
        }
        let Some(page) = buffer.span() else { return self.reuse_lately_freed(id) };
        // SAFETY: the buffer has a span, so it was refilled, and the shape is this heap's.
        let shape = unsafe { self.allocator.shapes().get_unchecked(id) };
        shape.small().is_some_and(|shape| self.allocator.next_run(buffer, page, shape, whole))
    }

    fn reuse_lately_freed(&self, id: ShapeId) -> bool {
        let Some(recent) = self.cache.recently_freed() else { return false };
        if self.keeps_runs || !recent.may_have(id, self.full_cycle()) {
            return false;
        }
        // SAFETY: cells of the shape may have been freed, so it is this heap's.
        let shape = unsafe { self.allocator.shapes().get_unchecked(id) };
        let Some(shape) = shape.small() else { return false };
        let request = RefillRequest { buffer: self.buffer(id), id, shape };
        self.next_lately_freed(request, false).is_some_and(|run| self.reuse(request, run, false))
    }

    /// Refills a buffer from spans of its own, in which `next` moves it to the next run.
    fn refill_from_own(
        &self,
        request: RefillRequest<'_>,
        next: impl Fn(&AllocBuffer, PageIndex) -> bool,
    ) -> Result<(), SpaceError> {
        let RefillRequest { buffer, id, .. } = request;
        loop {
            if let Some(page) = buffer.span()
                && next(buffer, page)
            {
                return Ok(());
            }
            self.retire(request);
            self.cache.activate(id);
            if self.take_span(request)? == TakenSpan::Cells {
                return Ok(());
            }
        }
    }

    /// Gives the buffer of a layout without own spans one cell of a shared span, zeroed and with its layout written.
    /// The cell is an object from now on, all zeros until the program uses it.
    fn refill_from_shared_span(
        &self,
        RefillRequest { buffer, id, shape }: RefillRequest<'_>,
    ) -> Result<(), SpaceError> {
        let class = shape.size_class();
        let size = class.cell_size();
        let shared = ShapeId::shared(
            class,
            shape.per_object().expect("a layout that shares spans has a per-object form"),
        );
        let from = self.buffer(shared);
        let cell = match from.peek(size) {
            Some(cell) => cell,
            None => {
                // SAFETY: every heap has that shape.
                let shared_shape = unsafe { self.allocator.shapes().get_unchecked(shared) }.small();
                let shared_shape = shared_shape.expect("shared spans have cells");
                let request = RefillRequest { buffer: from, id: shared, shape: shared_shape };
                if let Some(cell) = self.reuse_shared(request, id) {
                    self.cache.activate(id);
                    buffer.set_cell(cell, size);
                    return Ok(());
                }
                self.refill_from_own(request, |buffer, page| {
                    self.allocator.next_run(buffer, page, shared_shape, false)
                })?;
                from.peek(size).expect("a refilled buffer has a cell")
            }
        };
        let address = cell.as_ptr() as usize;
        // SAFETY: this mutator allocates from the span, whose shape is the one that this layout shares; no marking visits
        // a cell before it is allocated.
        unsafe { per_object::write(self.allocator.shapes(), self.heap().pointer_bits(), id, address) };
        // SAFETY: `peek` returned the cell; it is all zeros.
        unsafe { from.commit(cell, size) };
        self.cache.activate(id);
        buffer.set_cell(address, size);
        Ok(())
    }

    /// The shape of an active buffer.
    pub(super) fn small_shape(&self, id: ShapeId) -> SmallShape<'m> {
        // SAFETY: active buffers are of shapes of this heap.
        unsafe { self.allocator.shapes().get_unchecked(id) }
            .small()
            .expect("buffers are of shapes with a size class")
    }

    /// Gives the buffer freed cells or a span. Where there are no pages, other threads may have swept spans meanwhile: their free
    /// cells come before a refusal.
    fn take_span(&self, request: RefillRequest<'_>) -> Result<TakenSpan, SpaceError> {
        let pages = request.span_pages();
        let mut refilled = false;
        loop {
            if !request.id.is_shared() && self.reuse_freed(request) {
                return Ok(TakenSpan::Cells);
            }
            if self.open_cached(request) {
                return Ok(TakenSpan::Span);
            }
            // New spans are made only if nothing was freed and nothing waits to be swept, or if cached pages can hold
            // them.
            let is_near_limit = self.heap().is_near_limit();
            if !is_near_limit && self.cache.credit() > 0 && !self.sweeper().has_freed(request.id) {
                // Free cells of older spans come first.
                let comes_first = self.sweeper().has_some(request.id)
                    && self.cache.cached(request.id).is_refill_worthwhile(self.cycle());
                let at_hand = if comes_first { None } else { self.cache.pages().take(pages) };
                // The refill has just left room, if only for this span.
                let may_take = || refilled || self.has_room(request);
                if at_hand.is_some() || !self.sweeper().has_some(request.id) && may_take() {
                    self.cache.use_credit(pages);
                    let run = at_hand.map_or_else(|| self.take_pages(pages), Ok);
                    if run.is_err() && self.sweeper().has_some(request.id) {
                        continue;
                    }
                    self.make_span(request, run?);
                    return Ok(TakenSpan::Span);
                }
            }
            self.refill_from_central(request)?;
            refilled = true;
            let has_cached = !self.cache.cached(request.id).spans.get().is_empty();
            if is_near_limit && !has_cached && !self.sweeper().has_some(request.id) {
                // No page is cached now.
                self.cache.end_credit();
                self.cache.pages().flush(self.heap().pages());
                let run = self.sweeper().take_pages(CacheTarget::Uncached, pages);
                if run.is_err() && self.sweeper().has_some(request.id) {
                    continue;
                }
                self.make_span(request, run?);
                return Ok(TakenSpan::Span);
            }
        }
    }

    /// Takes pages, and caches more pages with them.
    fn take_pages(&self, pages: PageCount) -> Result<PageRun, SpaceError> {
        self.take_and_cache_pages(CacheTarget::Blocks(self.cache.pages(), self.pages_ahead(pages)), pages)
    }

    /// Takes pages. If there are none, flushes the cached pages and tries again: they may be the missing ones.
    pub(super) fn take_and_cache_pages(
        &self,
        target: CacheTarget<'_>,
        pages: PageCount,
    ) -> Result<PageRun, SpaceError> {
        let taken = self.sweeper().take_pages(target, pages);
        if taken.is_ok() || self.cache.pages().is_empty() {
            return taken;
        }
        self.cache.pages().flush(self.heap().pages());
        self.sweeper().take_pages(CacheTarget::Uncached, pages)
    }

    /// The pages to cache ahead: the credit for new spans, as far as the mutator's share allows.
    fn pages_ahead(&self, pages: PageCount) -> PageCount {
        let wanted = self.cache.credit() as usize;
        let room = self.cache.share().bytes.saturating_sub(self.cache.held_bytes() + pages.bytes());
        PageCount(wanted.min(PageCount::from_bytes(room).0))
    }

    /// Gives the buffer a cached span, if there is one.
    fn open_cached(&self, request: RefillRequest<'_>) -> bool {
        let (heap, cached) = (self.heap(), self.cache.cached(request.id));
        let mut spans = cached.spans.get();
        let Some(page) = spans.pop(heap.spans()) else { return false };
        cached.spans.set(spans);
        let span = heap.spans().own(page);
        // The next one is needed when this one's free cells are used up.
        if let Some(next) = spans.first() {
            heap.spans().prefetch(next);
            heap.marks().prefetch_allocated(heap.spans().address_of(next));
        }
        span.begin_in(self.cycle());
        // A span may have few free cells; the mutator is charged for these only.
        let free = heap.free_cells(span);
        cached.note_room(free);
        self.cache.opened(request.span_pages(), true, free * span.object_bytes());
        if free == span.cells() {
            heap.spans().young_pages().set(page, span.pages(), epoch_of(self.cycle()));
        }
        self.open(request, page, free * span.object_bytes());
        true
    }

    /// Gives the buffer a new span in pages that were taken for it.
    fn make_span(&self, request: RefillRequest<'_>, run: PageRun) {
        let (heap, cell) = (self.heap(), request.shape.size_class().cell_size());
        // Pages that are not resident read as zeros.
        let fresh = run.scavenged == run.count;
        let offset = run.first.byte_offset();
        if fresh && self.cache.enters_block(offset / Marks::BLOCK_BYTES) {
            heap.marks().touch(offset);
        }
        let start = heap.spans().address_of(run.first);
        let span = Span::of_cells(start, run.count, cell, request.id, (self.cycle(), fresh));
        self.cache.opened(request.span_pages(), false, span.cells() * cell);
        // SAFETY: the pages were taken for this, and the kind is the shape's.
        unsafe { heap.spans().add(run.first, span, request.shape.kind()) };
        heap.spans().young_pages().set(run.first, run.count, epoch_of(self.cycle()));
        let span = heap.spans().own(run.first);
        self.open(request, run.first, span.cells() * cell);
    }

    /// Points the buffer at a span with `free` bytes of free cells.
    fn open(&self, request: RefillRequest<'_>, page: PageIndex, free: usize) {
        let (span, cached) = (self.heap().spans().own(page), self.cache.cached(request.id));
        span.set_held(true);
        let own = || request.buffer.own(page, span.frontier(), request.shape.size_class().cell_size(), free);
        #[cfg(loom)]
        let is_counted = !mutant::is(mutant::SPAN_UNCOUNTED);
        #[cfg(not(loom))]
        let is_counted = true;
        if is_counted {
            self.cache.run_owner().with_move(own);
        } else {
            own();
        }
        cached.note_demand(request.span_pages());
        self.cache.hold(request.id, free);
    }

    /// Takes the span away from the buffer: all its cells up to the cursor exist, and none is free. A cell of a shared
    /// span is only dropped: it exists already, as garbage.
    fn retire(&self, request: RefillRequest<'_>) {
        if let Some(page) = request.buffer.span() {
            let span = self.heap().spans().own(page);
            span.set_frontier(request.buffer.cursor());
            span.set_held(false);
            self.cache.hold(request.id, 0);
            self.cache.cached(request.id).add_used(self.heap().spans(), page);
        }
        request.buffer.reset();
    }

    /// Gives the buffer cells of its shape that the program has freed, if there are some. A thread that is stopped between any
    /// two instructions gets one at a time: it keeps what its buffer has.
    fn reuse_freed(&self, request: RefillRequest<'_>) -> bool {
        let single = self.keeps_runs || self.has_single_cell_runs();
        while let Some(run) = self.next_freed(request, single) {
            if self.reuse(request, run, single) {
                return true;
            }
        }
        false
    }

    fn reuse(&self, request: RefillRequest<'_>, run: Range<usize>, single: bool) -> bool {
        if !self.prepare_freed(request, &run, single) {
            return false;
        }
        if !self.cache.run_owner().is_listed() {
            self.join_run_owners(&mut self.sweeper().lock());
        }
        // The buffer has the cells before their freed bits go: a thread that no longer sees these finds the run.
        let class = request.shape.size_class();
        #[cfg(loom)]
        if mutant::is(mutant::TAKEN_FIRST) {
            self.take_freed(&run, class);
        }
        self.cache.run_owner().with_move(|| request.buffer.set_cells(run.clone(), class.cell_size()));
        self.take_freed(&run, class);
        true
    }

    /// Lists this mutator among those that may have runs.
    pub(super) fn join_run_owners(&self, central: &mut Central) {
        let owner = self.cache.run_owner();
        if !owner.is_listed() {
            // SAFETY: a mutator returns all its spans before its memory goes (contract of `new`).
            unsafe { central.run_owners().add(owner, self.buffers.as_ptr() as usize) };
        }
    }

    /// Takes the cell of a freed object of a shared span for layout `id`. The mutator that allocates from a span writes
    /// its layouts without a lock, so this skips cells in other mutators' spans; they wait for the next cycle.
    fn reuse_shared(&self, request: RefillRequest<'_>, id: ShapeId) -> Option<usize> {
        let spans = self.heap().spans();
        loop {
            let run = self.next_freed(request, true)?;
            let cell = run.start;
            let page = spans.first_page_of(cell);
            let _central = self.sweeper().lock();
            if spans.at(page).is_held() && request.buffer.span() != Some(page) {
                continue;
            }
            // Before the freed bit goes: a marker beside the program that a stray word leads here then sees the layout.
            // SAFETY: the cell is of the class and the span of the shape. No other mutator holds the span, others do
            // this under the lock, and no marking visits a freed cell.
            unsafe { per_object::write(self.allocator.shapes(), self.heap().pointer_bits(), id, cell) };
            if self.prepare_freed(request, &run, true) {
                self.take_freed(&run, request.shape.size_class());
                return Some(cell);
            }
        }
    }

    /// Whether some of the cells that wait in a buffer without a span have allocation bits: the program had freed them.
    pub fn reuses_old(&self, id: ShapeId) -> bool {
        let buffer = self.buffer(id);
        buffer.span().is_none()
            && self.heap().marks().count_allocated_cells(buffer.cursor(), buffer.limit()) != 0
    }

    /// Prepares freed cells to be objects, all zeros where they may have pointers, when their freed bits go; false if some were
    /// not free: then the program has written into a chain, and the others wait for a collection. A cell `with_bits` gets its allocation bit first: a
    /// collection may find it before the thread goes on.
    fn prepare_freed(&self, request: RefillRequest<'_>, run: &Range<usize>, with_bits: bool) -> bool {
        let class = request.shape.size_class();
        if !self.are_freed(run, class) {
            return false;
        }
        if request.shape.kind() != ScanKind::NoPointers {
            // All but the link has been zero since the cells were freed, unless the program has written there, which must
            // do no harm.
            // SAFETY: the cells were freed, and this thread has them.
            unsafe { (run.start as *mut u8).write_bytes(0, run.len()) };
        }
        let spans = self.heap().spans();
        // Another mutator's span: only that one knows its cursor, so nothing else says that the cells exist.
        let span = spans.at(spans.first_page_of(run.start));
        span.note_reused();
        if with_bits || span.is_held() {
            // They are freed still; `remember_reused` notes them for a marking before they are given out.
            self.make_run_old(run, class);
        }
        self.cache.charge(run.len());
        true
    }

    /// Closes the mutator's allocation buffers: inline allocation takes the slow path, until they are opened. Nothing else
    /// looks at them meanwhile.
    pub fn close_buffers(&self) {
        self.cache().for_each_active(|id| self.buffer(id).close());
    }

    /// Opens them again.
    pub fn open_buffers(&self) {
        self.cache().for_each_active(|id| self.buffer(id).open());
    }

    /// Updates the frontier of the span at an address, if this mutator allocates from it.
    pub(super) fn publish_span_at(&self, address: Address) {
        let spans = self.heap().spans();
        let Some(span) = spans.find(address) else { return };
        let buffer = self.buffer(span.shape());
        if buffer.span() == Some(spans.page_of(span.cells_start())) {
            span.set_frontier(buffer.cursor());
        }
    }
}
