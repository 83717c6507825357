//! The slow path of allocation, and the right to take it. A buffer first moves to the next run of free cells in its
//! span. When the span is exhausted, it gets another of its shape without a lock: a cached span, new pages from its
//! mutator's cached pages, or a cell that the program has freed. After that comes a central refill (`central_refill`),
//! which takes the lock.
//!
//! The owner token stands for the mutator's thread, or the thread that has stopped it. Invariant: the spans of the
//! buffers belong to the token's heap. The scheme is Go's mcache, with runs instead of single cells.

use crate::address::Address;
use crate::alloc::alloc_buffer::AllocBuffer;
use crate::alloc::thread_cache::ThreadCache;
use crate::error::SpaceError;
use crate::layout::per_object;
use crate::layout::shape::SmallShape;
use crate::layout::shape_id::ShapeId;
use crate::marks::Marks;
use crate::pages::page_blocks::CacheTarget;
use crate::pages::page_heap::PageHeap;
#[cfg(loom)]
use crate::publication::mutant;
use crate::reclaim::central::Central;
use crate::reclaim::sweeper::Sweeper;
use crate::space::Space;
use crate::spans::span::Span;
use crate::spans::young_pages::epoch_of;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;
use heapwood_pages::{PageCount, PageIndex, PageRun};

/// The right to allocate from a mutator's buffers and to take their spans away ([`Space::owner`]).
pub struct Owner<'m> {
    pub(crate) space: &'m Space,
    buffers: NonNull<AllocBuffer>,
    /// The mutator's thread cache.
    pub(crate) cache: &'m ThreadCache,
    /// The thread was stopped between any two instructions. It may have read a cursor or a limit, so both stay as they
    /// are.
    pub(crate) keeps_runs: bool,
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

impl Space {
    /// The right to use a mutator's allocation buffers.
    ///
    /// # Safety
    /// 1. `buffers` points to [`MAX_SHAPES`](crate::MAX_SHAPES) buffers, zeroed when new, that live as long as
    ///    `cache`.
    /// 2. Both belong to one mutator, and are used with this space only.
    /// 3. While the token is used, the calling thread is the mutator's, or the mutator is stopped.
    #[inline(always)]
    pub unsafe fn owner<'m>(&'m self, buffers: NonNull<AllocBuffer>, cache: &'m ThreadCache) -> Owner<'m> {
        Owner { space: self, buffers, cache, keeps_runs: false }
    }
}

impl<'m> Owner<'m> {
    /// The same owner. If `keeps`, its thread was stopped between any two instructions, and keeps the runs and cells
    /// of its buffers.
    pub fn keeping_runs(self, keeps: bool) -> Self {
        Owner { keeps_runs: keeps, ..self }
    }

    /// Has a model watch the count of its moves to spans and runs of freed cells.
    #[cfg(all(test, loom))]
    pub(crate) fn watch_moves(&self, watch: &heapwood_os::threads::watched::Watch) {
        self.cache.run_owner.watch(watch);
    }

    /// The buffer of `shape`.
    #[inline(always)]
    pub fn buffer(&self, shape: ShapeId) -> &'m AllocBuffer {
        // SAFETY: shape numbers are below MAX_SHAPES (their invariant), and the array is that long (contract of `Space::owner`).
        unsafe { &*self.buffers.as_ptr().add(shape.index()) }
    }

    pub(crate) fn sweeper(&self) -> &'m Sweeper {
        &self.space.sweeper
    }

    pub(crate) fn heap(&self) -> &'m PageHeap {
        &self.sweeper().heap
    }

    pub(super) fn cycle(&self) -> u32 {
        self.heap().marks.cycle()
    }

    /// The full cycle; freed cells are used again within it.
    pub(super) fn full_cycle(&self) -> u32 {
        self.heap().marks.full_cycle()
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
        self.refill_with(id, |buffer, page, shape| self.space.next_run(buffer, page, shape, whole))
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
        self.refill_with(id, |buffer, page, shape| self.space.next_chain(buffer, page, shape, bytes))
    }

    fn refill_with(
        &self,
        id: ShapeId,
        next: impl Fn(&AllocBuffer, PageIndex, SmallShape<'_>) -> bool,
    ) -> Result<(), SpaceError> {
        let shape = self.space.shapes.shape(id).small().expect("only shapes with a size class are refilled");
        let request = RefillRequest { buffer: self.buffer(id), id, shape };
        if request.buffer.span().is_none() && self.shares(id, shape) {
            return self.refill_from_shared_span(request);
        }
        self.refill_from_own(request, |buffer, page| next(buffer, page, shape))
    }

    /// Gives the buffer the next run of its span, as a refill would, or one of cells that the program freed lately if it has
    /// no span; false if there is none. Most refills of a fragmented heap need no more than this, nor do those of a program
    /// that frees what it allocates.
    #[inline]
    pub fn continue_run(&self, id: ShapeId, whole: bool) -> bool {
        let buffer = self.buffer(id);
        if self.space.single_cells {
            return false;
        }
        let Some(page) = buffer.span() else { return self.reuse_lately_freed(id) };
        // SAFETY: the buffer has a span, so it was refilled, and the shape is this heap's.
        let shape = unsafe { self.space.shapes.get_unchecked(id) };
        shape.small().is_some_and(|shape| self.space.next_run(buffer, page, shape, whole))
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
                let shared_shape = unsafe { self.space.shapes.get_unchecked(shared) }.small();
                let shared_shape = shared_shape.expect("shared spans have cells");
                let request = RefillRequest { buffer: from, id: shared, shape: shared_shape };
                if let Some(cell) = self.reuse_shared(request, id) {
                    self.cache.activate(id);
                    buffer.set_cell(cell, size);
                    return Ok(());
                }
                self.refill_from_own(request, |buffer, page| {
                    self.space.next_run(buffer, page, shared_shape, false)
                })?;
                from.peek(size).expect("a refilled buffer has a cell")
            }
        };
        let address = cell.as_ptr() as usize;
        // SAFETY: this mutator allocates from the span, whose shape is the one that this layout shares; no marking visits
        // a cell before it is allocated.
        unsafe { per_object::write(&self.space.shapes, &self.heap().pointer_bits, id, address) };
        // SAFETY: `peek` returned the cell; it is all zeros.
        unsafe { from.commit(cell, size) };
        self.cache.activate(id);
        buffer.set_cell(address, size);
        Ok(())
    }

    /// Whether the next object of the shape goes to a shared span; counts the object if so.
    fn shares(&self, id: ShapeId, shape: SmallShape<'_>) -> bool {
        if id.is_well_known() || shape.per_object().is_none() {
            return false;
        }
        let (demand, cycle) = (&self.sweeper().lists.demand, self.full_cycle());
        if !demand.has_begun(id, cycle) {
            // Updating the lists also updates the demand of the layout.
            self.sweeper().lock().lists(id);
        }
        if self.space.always_shared.load(Ordering::Relaxed) {
            return demand.shares(id, cycle, None);
        }
        demand.shares(id, cycle, Some(shape.size_class().span_cells()))
    }

    /// The shape of an active buffer.
    pub(super) fn small_shape(&self, id: ShapeId) -> SmallShape<'m> {
        // SAFETY: active buffers are of shapes of this heap.
        unsafe { self.space.shapes.get_unchecked(id) }
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
            if !is_near_limit && self.cache.credit() > 0 && !self.sweeper().lists.has_freed(request.id) {
                // Free cells of older spans come first.
                let comes_first = self.sweeper().lists.has_some(request.id)
                    && self.cache.cached(request.id).is_refill_worthwhile(self.cycle());
                let at_hand = if comes_first { None } else { self.cache.pages.take(pages) };
                // The refill has just left room, if only for this span.
                let may_take = || refilled || self.has_room(request);
                if at_hand.is_some() || !self.sweeper().lists.has_some(request.id) && may_take() {
                    self.cache.use_credit(pages);
                    let run = at_hand.map_or_else(|| self.take_pages(pages), Ok);
                    if run.is_err() && self.sweeper().lists.has_some(request.id) {
                        continue;
                    }
                    self.make_span(request, run?);
                    return Ok(TakenSpan::Span);
                }
            }
            self.refill_from_central(request)?;
            refilled = true;
            let has_cached = !self.cache.cached(request.id).spans.get().is_empty();
            if is_near_limit && !has_cached && !self.sweeper().lists.has_some(request.id) {
                // No page is cached now.
                self.cache.end_credit();
                self.cache.pages.flush(&self.heap().pages);
                let run = self.heap().take_pages(self.sweeper(), CacheTarget::Uncached, pages);
                if run.is_err() && self.sweeper().lists.has_some(request.id) {
                    continue;
                }
                self.make_span(request, run?);
                return Ok(TakenSpan::Span);
            }
        }
    }

    /// Takes pages, and caches more pages with them.
    fn take_pages(&self, pages: PageCount) -> Result<PageRun, SpaceError> {
        self.take_and_cache_pages(CacheTarget::Blocks(&self.cache.pages, self.pages_ahead(pages)), pages)
    }

    /// Takes pages. If there are none, flushes the cached pages and tries again: they may be the missing ones.
    pub(super) fn take_and_cache_pages(
        &self,
        target: CacheTarget<'_>,
        pages: PageCount,
    ) -> Result<PageRun, SpaceError> {
        let taken = self.heap().take_pages(self.sweeper(), target, pages);
        if taken.is_ok() || self.cache.pages.is_empty() {
            return taken;
        }
        self.cache.pages.flush(&self.heap().pages);
        self.heap().take_pages(self.sweeper(), CacheTarget::Uncached, pages)
    }

    /// The pages to cache ahead: the credit for new spans, as far as the mutator's share allows.
    fn pages_ahead(&self, pages: PageCount) -> PageCount {
        let wanted = self.cache.credit() as usize;
        let room = self.cache.share().saturating_sub(self.cache.held_bytes() + pages.bytes());
        PageCount(wanted.min(PageCount::from_bytes(room).0))
    }

    /// Gives the buffer a cached span, if there is one.
    fn open_cached(&self, request: RefillRequest<'_>) -> bool {
        let (heap, cached) = (self.heap(), self.cache.cached(request.id));
        let mut spans = cached.spans.get();
        let Some(page) = spans.pop(&heap.spans) else { return false };
        cached.spans.set(spans);
        let span = heap.spans.own(page);
        // The next one is needed when this one's free cells are used up.
        if let Some(next) = spans.first() {
            heap.spans.prefetch(next);
            heap.marks.prefetch_allocated(heap.spans.address_of(next));
        }
        span.begin_in(self.cycle());
        // A span may have few free cells; the mutator is charged for these only.
        let free = heap.free_cells(span);
        cached.note_room(free);
        self.cache.opened(request.span_pages(), true, free * span.object_bytes());
        if free == span.cells() {
            heap.spans.young_pages().set(page, span.pages(), epoch_of(self.cycle()));
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
            heap.marks.touch(offset);
        }
        let start = heap.spans.address_of(run.first);
        let span = Span::of_cells(start, run.count, cell, request.id, (self.cycle(), fresh));
        self.cache.opened(request.span_pages(), false, span.cells() * cell);
        // SAFETY: the pages were taken for this, and the kind is the shape's.
        unsafe { heap.spans.add(run.first, span, request.shape.kind()) };
        heap.spans.young_pages().set(run.first, run.count, epoch_of(self.cycle()));
        let span = heap.spans.own(run.first);
        self.open(request, run.first, span.cells() * cell);
    }

    /// Points the buffer at a span with `free` bytes of free cells.
    fn open(&self, request: RefillRequest<'_>, page: PageIndex, free: usize) {
        let (span, cached) = (self.heap().spans.own(page), self.cache.cached(request.id));
        span.set_held(true);
        let own = || request.buffer.own(page, span.frontier(), request.shape.size_class().cell_size(), free);
        #[cfg(loom)]
        let is_counted = !mutant::is(mutant::SPAN_UNCOUNTED);
        #[cfg(not(loom))]
        let is_counted = true;
        if is_counted {
            self.cache.run_owner.with_move(own);
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
            let span = self.heap().spans.own(page);
            span.set_frontier(request.buffer.cursor());
            span.set_held(false);
            self.cache.hold(request.id, 0);
            self.cache.cached(request.id).add_used(&self.heap().spans, page);
        }
        request.buffer.reset();
    }

    /// Lists this mutator among those that may have runs.
    pub(super) fn join_run_owners(&self, central: &mut Central<'_>) {
        let owner = &self.cache.run_owner;
        if !owner.is_listed() {
            // SAFETY: a mutator returns all its spans before its memory goes (contract of `Space::owner`).
            unsafe { central.run_owners().add(owner, self.buffers.as_ptr() as usize) };
        }
    }

    /// Closes the mutator's allocation buffers: inline allocation takes the slow path, until they are opened. Nothing else
    /// looks at them meanwhile.
    pub fn close_buffers(&self) {
        self.cache.for_each_active(|id| self.buffer(id).close());
    }

    /// Opens them again.
    pub fn open_buffers(&self) {
        self.cache.for_each_active(|id| self.buffer(id).open());
    }

    /// Updates the frontier of the span at an address, if this mutator allocates from it.
    pub(super) fn publish_span_at(&self, address: Address) {
        let spans = &self.heap().spans;
        let Some(span) = spans.find(address) else { return };
        let buffer = self.buffer(span.shape());
        if buffer.span() == Some(spans.page_of(span.cells_start())) {
            span.set_frontier(buffer.cursor());
        }
    }
}
