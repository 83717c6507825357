//! The slow path of allocation, and who may take it. An allocation buffer first moves to the next run of free cells in its span; when the
//! span is exhausted it gets another one of its shape: of those in the cache, or new pages out of those that its mutator has set
//! aside, or a cell that the program has freed. None needs a lock. What mutators share is visited for more (`refill_from_central`).
//!
//! Who may do that is the thread that the mutator is of, or the thread that has stopped it: a token says so. Invariant: the spans in
//! the allocation buffers are those of the token's heap.

use crate::address::Address;
use crate::alloc::alloc_buffer::AllocBuffer;
use crate::alloc::allocator::Allocator;
use crate::alloc::thread_cache::ThreadCache;
use crate::error::SpaceError;
use crate::layout::per_object;
use crate::layout::shape::{ScanKind, Shape, SmallShape};
use crate::layout::shape_id::ShapeId;
use crate::pages::page_blocks::Aside;
use crate::pages::page_heap::{Object, PageHeap};
use crate::reclaim::sweeper::Sweeper;
use crate::spans::span::Span;
use crate::spans::young_pages::age_in;
use core::ptr::NonNull;
use heapwood_pages::{PageCount, PageIndex, PageRun};

/// The right to allocate from a mutator's allocation buffers and to take their spans away ([`Space::owner`](crate::Space::owner)).
pub struct Owner<'m> {
    allocator: &'m Allocator,
    buffers: NonNull<AllocBuffer>,
    cache: &'m ThreadCache,
    /// Its thread was stopped between any two instructions: it may have read a cursor or a limit, so both stay as they are.
    keeps_runs: bool,
}

/// An allocation buffer that needs a span, and what of.
#[derive(Clone, Copy)]
pub(super) struct RefillRequest<'m> {
    pub(super) buffer: &'m AllocBuffer,
    pub(super) id: ShapeId,
    pub(super) shape: SmallShape<'m>,
}

/// What an allocation buffer got.
#[derive(PartialEq, Eq)]
enum TakenSpan {
    /// A span, in which the next run is to be found.
    Span,
    /// One cell, and no span.
    Cell,
}

impl RefillRequest<'_> {
    /// The pages of its spans.
    pub(super) fn span_pages(&self) -> PageCount {
        self.shape.size_class().span_pages()
    }

    /// The bytes of its spans.
    pub(super) fn span_bytes(&self) -> usize {
        self.span_pages().bytes()
    }
}

impl<'m> Owner<'m> {
    /// The owner of the allocation buffers from `buffers` on, as many as a heap can have shapes.
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

    /// The same; if `keeps`, its thread was stopped between any two instructions and keeps the runs and cells that its allocation buffers
    /// have.
    pub fn keeping_runs(self, keeps: bool) -> Self {
        Owner { keeps_runs: keeps, ..self }
    }

    /// Whether it does.
    pub(super) fn keeps_runs(&self) -> bool {
        self.keeps_runs
    }

    /// The allocation buffer of `shape`.
    #[inline(always)]
    pub fn buffer(&self, shape: ShapeId) -> &'m AllocBuffer {
        // SAFETY: shape numbers are below MAX_SHAPES (their invariant), and the array is that long (contract of `new`).
        unsafe { &*self.buffers.as_ptr().add(shape.index()) }
    }

    /// What the mutator keeps beside its allocation buffers.
    pub(crate) fn cache(&self) -> &'m ThreadCache {
        self.cache
    }

    pub(crate) fn sweeper(&self) -> &'m Sweeper {
        self.allocator.sweeper()
    }

    pub(crate) fn heap(&self) -> &'m PageHeap {
        self.sweeper().heap()
    }

    /// Whether it gets cells one at a time.
    pub(crate) fn hands_out_single_cells(&self) -> bool {
        self.allocator.has_single_cells()
    }

    pub(super) fn shape(&self, id: ShapeId) -> &'m Shape {
        self.allocator.shapes().get(id)
    }

    pub(super) fn cycle(&self) -> u32 {
        self.heap().marks().cycle()
    }

    /// The cycle of full collections, in which freed cells are used again.
    pub(super) fn full_cycle(&self) -> u32 {
        self.heap().marks().full_cycle()
    }

    /// Gives the allocation buffer for a shape a run with at least one free cell. Its cells are zero where they may hold pointers, unless
    /// `whole` promises that each will be written as a whole before it is committed: then those of masks and programs
    /// are not, since only the words of the value itself will ever be read as pointers.
    ///
    /// # Errors
    /// A collection is due, or there is no memory.
    ///
    /// # Panics
    /// The shape is another space's, or has no size class.
    pub fn refill(&self, id: ShapeId, whole: bool) -> Result<(), SpaceError> {
        let shape =
            self.allocator.shapes().get(id).small().expect("bumps are refilled for shapes with a size class");
        let request = RefillRequest { buffer: self.buffer(id), id, shape };
        self.cache.note_refill();
        if request.buffer.span().is_none() && self.allocator.shares(id, shape) {
            return self.refill_from_central_list(request);
        }
        self.refill_from_own(request, whole)
    }

    /// Gives the allocation buffer the next run of the span that it has, as a refill would; false if it has none, or no more of them.
    /// Most refills of a fragmented heap need no more than this.
    #[inline]
    pub fn continue_run(&self, id: ShapeId, whole: bool) -> bool {
        let buffer = self.buffer(id);
        let Some(page) = buffer.span() else { return false };
        if self.allocator.has_single_cells() {
            return false;
        }
        // SAFETY: the allocation buffer has a span, so it was refilled, and the shape is this heap's.
        let shape = unsafe { self.allocator.shapes().get_unchecked(id) };
        shape.small().is_some_and(|shape| self.allocator.next_run(buffer, page, shape, whole))
    }

    fn refill_from_own(&self, request: RefillRequest<'_>, whole: bool) -> Result<(), SpaceError> {
        let RefillRequest { buffer, id, shape } = request;
        loop {
            if let Some(page) = buffer.span()
                && self.allocator.next_run(buffer, page, shape, whole)
            {
                return Ok(());
            }
            self.retire(request);
            self.cache.activate(id);
            if self.take_span(request)? == TakenSpan::Cell {
                return Ok(());
            }
        }
    }

    /// Gives the allocation buffer of a layout without spans of its own one cell of a shared span, zero and with its layout written. The
    /// cell counts as an object from now on, one of zeros until it is used.
    fn refill_from_central_list(
        &self,
        RefillRequest { buffer, id, shape }: RefillRequest<'_>,
    ) -> Result<(), SpaceError> {
        let class = shape.size_class();
        let size = class.cell_size();
        let shared = ShapeId::shared(class, shape.per_object().expect("layouts that share say how"));
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
                self.refill_from_own(request, false)?;
                from.peek(size).expect("a refilled bump has a cell")
            }
        };
        let address = cell.as_ptr() as usize;
        // SAFETY: the span is the one that this mutator allocates from, of the shape that this one shares; mutators are
        // stopped while marking goes on.
        unsafe { per_object::write(self.allocator.shapes(), self.heap().pointer_bits(), id, address) };
        // SAFETY: the cell that was peeked at; it is of zeros.
        unsafe { from.commit(cell, size) };
        self.cache.activate(id);
        buffer.set_cell(address, size);
        Ok(())
    }

    /// The shape of an active allocation buffer.
    pub(super) fn small_shape(&self, id: ShapeId) -> SmallShape<'m> {
        // SAFETY: active allocation buffers are of shapes of this heap.
        unsafe { self.allocator.shapes().get_unchecked(id) }
            .small()
            .expect("bumps are of shapes with a size class")
    }

    fn take_span(&self, request: RefillRequest<'_>) -> Result<TakenSpan, SpaceError> {
        let pages = request.span_pages();
        let mut visited = false;
        loop {
            if !request.id.is_shared() && self.reuse_freed(request) {
                return Ok(TakenSpan::Cell);
            }
            if self.open_cached(request) {
                return Ok(TakenSpan::Span);
            }
            // New spans only where nothing was freed and there is nothing to sweep, or where their pages are at hand.
            let is_near_limit = self.heap().is_near_limit();
            if !is_near_limit && self.cache.credit() > 0 && !self.sweeper().has_freed(request.id) {
                // What is left of older spans comes first.
                let comes_first = self.sweeper().has_some(request.id)
                    && self.cache.cached(request.id).is_refill_worthwhile(self.cycle());
                let at_hand = if comes_first { None } else { self.cache.pages().take(pages) };
                // What a central refill leaves is room enough, if only for this one.
                let may_take = || visited || self.has_room(request);
                if at_hand.is_some() || !self.sweeper().has_some(request.id) && may_take() {
                    self.cache.use_credit(pages);
                    let run = match at_hand {
                        Some(run) => run,
                        None => self.take_pages(pages)?,
                    };
                    self.make_span(request, run);
                    return Ok(TakenSpan::Span);
                }
            }
            self.refill_from_central(request)?;
            visited = true;
            let note_cached = !self.cache.cached(request.id).spans.get().is_empty();
            if is_near_limit && !note_cached && !self.sweeper().has_some(request.id) {
                // No page is cached.
                self.cache.end_credit();
                self.cache.pages().flush(self.heap().pages());
                let run = self.sweeper().take_pages(Aside::Nothing, pages)?;
                self.make_span(request, run);
                return Ok(TakenSpan::Span);
            }
        }
    }

    /// Takes pages, and sets others aside with them.
    fn take_pages(&self, pages: PageCount) -> Result<PageRun, SpaceError> {
        self.take_pages_aside(Aside::Blocks(self.cache.pages(), self.pages_ahead(pages)), pages)
    }

    /// Takes pages; if there are none, what was cached goes back first, for it may be what is missing.
    pub(super) fn take_pages_aside(&self, aside: Aside<'_>, pages: PageCount) -> Result<PageRun, SpaceError> {
        let taken = self.sweeper().take_pages(aside, pages);
        if taken.is_ok() || self.cache.pages().is_empty() {
            return taken;
        }
        self.cache.pages().flush(self.heap().pages());
        self.sweeper().take_pages(Aside::Nothing, pages)
    }

    /// How many pages may be cached: those that it may take for new spans, as far as its share goes.
    fn pages_ahead(&self, pages: PageCount) -> PageCount {
        let wanted = self.cache.credit() as usize;
        let room = self.cache.share().bytes.saturating_sub(self.cache.held_bytes() + pages.bytes());
        PageCount(wanted.min(PageCount::from_bytes(room).0))
    }

    /// Gives `buffer` a span out of those in the cache, if there is one.
    fn open_cached(&self, request: RefillRequest<'_>) -> bool {
        let (heap, cached) = (self.heap(), self.cache.cached(request.id));
        let mut spans = cached.spans.get();
        let Some(page) = spans.pop(heap.spans()) else { return false };
        cached.spans.set(spans);
        let span = heap.spans().own(page);
        span.begin_in(self.cycle());
        // A span may hold little that is free; what is charged is what it gives.
        let free = heap.free_cells(span);
        cached.note_room(free);
        self.cache.opened(request.span_pages(), true, free * span.object_bytes());
        if free == span.cells() {
            heap.spans().ages().set(page, span.pages(), age_in(self.cycle()));
        }
        self.open(request, page, free * span.object_bytes());
        true
    }

    /// Gives the allocation buffer a new span in pages that were taken for it.
    fn make_span(&self, request: RefillRequest<'_>, run: PageRun) {
        let (heap, cell) = (self.heap(), request.shape.size_class().cell_size());
        // What is not resident will read as zeros.
        let fresh = run.scavenged == run.count;
        let start = heap.spans().address_of(run.first);
        let span = Span::of_cells(start, run.count, cell, request.id, (self.cycle(), fresh));
        self.cache.opened(request.span_pages(), false, span.cells() * cell);
        // SAFETY: the pages were taken for this, and the kind is the shape's.
        unsafe { heap.spans().add(run.first, span, request.shape.kind()) };
        heap.spans().ages().set(run.first, run.count, age_in(self.cycle()));
        let span = heap.spans().own(run.first);
        self.open(request, run.first, span.cells() * cell);
    }

    /// The allocation buffer allocates from a span that has N bytes of free cells.
    fn open(&self, request: RefillRequest<'_>, page: PageIndex, free: usize) {
        let (span, cached) = (self.heap().spans().own(page), self.cache.cached(request.id));
        span.set_held(true);
        request.buffer.own(page, span.frontier(), request.shape.size_class().cell_size(), free);
        cached.note_demand(request.span_pages());
        self.cache.hold(request.id, free);
    }

    /// Takes the span away from the allocation buffer: all its cells up to the cursor exist, and none is free. The cell of a shared span
    /// is no more than forgotten: it exists already, and is garbage.
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

    /// Gives the allocation buffer a cell that the program has freed, if there is one of its shape.
    fn reuse_freed(&self, request: RefillRequest<'_>) -> bool {
        let Some(cell) = self.next_freed(request) else { return false };
        self.put_to_use(request, cell);
        request.buffer.set_cell(cell, request.shape.size_class().cell_size());
        true
    }

    /// The cell of a freed object of a shared span for one of layout `id`. Who allocates from the span writes layouts
    /// beside it without a lock, so this is not done in others' spans: what was freed there waits for the next cycle.
    fn reuse_shared(&self, request: RefillRequest<'_>, id: ShapeId) -> Option<usize> {
        let spans = self.heap().spans();
        loop {
            let cell = self.next_freed(request)?;
            let page = spans.first_page_of(cell);
            let central = self.sweeper().lock();
            if spans.at(page).is_held() && request.buffer.span() != Some(page) {
                continue;
            }
            self.put_to_use(request, cell);
            // SAFETY: the cell is of the class and the span of the shape; nobody owns the span but this mutator, others do
            // this under the lock, and no marking is under way.
            unsafe { per_object::write(self.allocator.shapes(), self.heap().pointer_bits(), id, cell) };
            drop(central);
            return Some(cell);
        }
    }

    /// A freed cell exists from now on, one of zeros where it may have pointers. Its bit says so, for it may lie in the span of
    /// another mutator, which alone knows how far that has come.
    fn put_to_use(&self, request: RefillRequest<'_>, cell: usize) {
        let size = request.shape.size_class().cell_size();
        if request.shape.kind() != ScanKind::NoPointers {
            // All but the link has been zero since it was freed, unless the program has written there, which must not matter.
            // SAFETY: the cell was freed, and this thread has taken it.
            unsafe { (cell as *mut u8).write_bytes(0, size) };
        }
        // SAFETY: as above; mutators are stopped while marking goes on.
        unsafe { self.heap().marks().set_allocated(cell) };
        self.heap().freed().take(cell);
        self.cache.charge(size);
    }

    /// [`Space::find`](crate::Space::find) that also knows the objects this mutator has made since it was flushed.
    pub fn find(&self, address: Address) -> Option<Object> {
        self.publish_span_at(address);
        self.heap().find(address)
    }

    /// If this mutator allocates from the span that an address lies in, that learns how far.
    pub(super) fn publish_span_at(&self, address: Address) {
        let spans = self.heap().spans();
        let Some(span) = spans.find(address) else { return };
        let buffer = self.buffer(span.shape());
        if buffer.span() == Some(spans.page_of(span.cells_start())) {
            span.set_frontier(buffer.cursor());
        }
    }
}
