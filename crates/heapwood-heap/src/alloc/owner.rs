//! The slow path of allocation, and who may take it. A bump first moves to the next run of free cells in its span; when the
//! span is exhausted it gets another one of its shape: of those that its mutator took home, unswept or partly free, one that
//! turns out to have free cells, or new pages out of the mutator's page cache. Neither needs a lock. What mutators share is
//! locked for more spans to sweep, to settle the account, and to hear that a collection is due.
//!
//! Who may do that is the thread that the mutator is of, or whoever has stopped it: a token says so. Invariant: the spans in
//! the bumps are those of the token's heap.

use crate::address::Address;
use crate::alloc::allocator::Allocator;
use crate::alloc::bump::Bump;
use crate::alloc::thread_cache::{MOST_SPANS, ThreadCache};
use crate::error::SpaceError;
use crate::layout::per_object;
use crate::layout::shape::SmallShape;
use crate::layout::shape_id::ShapeId;
use crate::pages::page_heap::{Object, PageHeap};
use crate::reclaim::central::Central;
use crate::reclaim::sweeper::Sweeper;
use crate::spans::span::Span;
use crate::spans::span_list::SpanList;
use core::ptr::NonNull;
use heapwood_pages::{PageIndex, PageRun};

/// The right to allocate from a mutator's bumps and to take their spans away ([`Space::owner`](crate::Space::owner)).
pub struct Owner<'m> {
    allocator: &'m Allocator,
    bumps: NonNull<Bump>,
    cache: &'m ThreadCache,
}

/// A bump that needs a span, and what of.
#[derive(Clone, Copy)]
struct Needy<'m> {
    bump: &'m Bump,
    id: ShapeId,
    shape: SmallShape<'m>,
}

impl<'m> Owner<'m> {
    /// The owner of the bumps from `bumps` on, as many as a heap can have shapes.
    ///
    /// # Safety
    /// As [`Space::owner`](crate::Space::owner)'s.
    #[inline(always)]
    pub(crate) unsafe fn new(allocator: &'m Allocator, bumps: NonNull<Bump>, cache: &'m ThreadCache) -> Self {
        Owner { allocator, bumps, cache }
    }

    /// The bump of `shape`.
    #[inline(always)]
    pub fn bump(&self, shape: ShapeId) -> &'m Bump {
        // SAFETY: shape numbers are below MAX_SHAPES (their invariant), and the array is that long (contract of `new`).
        unsafe { &*self.bumps.as_ptr().add(shape.index()) }
    }

    fn sweeper(&self) -> &'m Sweeper {
        self.allocator.sweeper()
    }

    fn heap(&self) -> &'m PageHeap {
        self.sweeper().heap()
    }

    /// Gives the bump for a shape a run with at least one free cell. Its cells are zero where they may hold pointers, unless
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
        let needy = Needy { bump: self.bump(id), id, shape };
        if needy.bump.span().is_none() && self.allocator.shares(id, shape) {
            return self.refill_from_shared(needy);
        }
        self.refill_from_own(needy, whole)
    }

    /// Gives the bump the next run of the span that it has, as a refill would; false if it has none, or no more of them.
    /// Most refills of a fragmented heap need no more than this.
    #[inline]
    pub fn continue_run(&self, id: ShapeId, whole: bool) -> bool {
        let bump = self.bump(id);
        let Some(page) = bump.span() else { return false };
        if self.allocator.has_single_cells() {
            return false;
        }
        // SAFETY: the bump has a span, so it was refilled, and the shape is this heap's.
        let shape = unsafe { self.allocator.shapes().get_unchecked(id) };
        shape.small().is_some_and(|shape| self.allocator.next_run(bump, page, shape, whole))
    }

    fn refill_from_own(&self, needy: Needy<'_>, whole: bool) -> Result<(), SpaceError> {
        let Needy { bump, id, shape } = needy;
        loop {
            if let Some(page) = bump.span()
                && self.allocator.next_run(bump, page, shape, whole)
            {
                return Ok(());
            }
            self.retire(bump);
            self.cache.activate(id);
            self.take_span(needy)?;
        }
    }

    /// Gives the bump of a layout without spans of its own one cell of a shared span, zero and with its layout written. The
    /// cell counts as an object from now on, one of zeros until it is used.
    fn refill_from_shared(&self, Needy { bump, id, shape }: Needy<'_>) -> Result<(), SpaceError> {
        let class = shape.size_class();
        let size = class.cell_size();
        let shared = ShapeId::shared(class, shape.per_object().expect("layouts that share say how"));
        let from = self.bump(shared);
        let cell = match from.peek(size) {
            Some(cell) => cell,
            None => {
                // SAFETY: every heap has that shape.
                let shape = unsafe { self.allocator.shapes().get_unchecked(shared) }.small();
                let shape = shape.expect("shared spans have cells");
                self.refill_from_own(Needy { bump: from, id: shared, shape }, false)?;
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
        bump.set_cell(address, size);
        Ok(())
    }

    fn take_span(&self, needy: Needy<'_>) -> Result<(), SpaceError> {
        let Needy { bump, id, shape } = needy;
        let pages = shape.size_class().span_pages();
        loop {
            if self.sweep_at_home(bump) {
                return Ok(());
            }
            // New spans only where there is nothing to sweep.
            let limited = self.heap().is_limited();
            if bump.none_left() && !limited && self.cache.use_credit() {
                let run = self.cache.with_pages(|cache| match self.heap().pages().allocate(cache, pages) {
                    Ok(run) => Ok(run),
                    Err(_) => self.sweeper().take_pages(Some(cache), pages),
                });
                self.make_span(needy, run?);
                return Ok(());
            }
            self.settle_and_take_home(bump, id)?;
            if bump.none_left() && self.heap().is_limited() {
                // Every page is counted before it is taken, and none is set aside.
                self.cache.set_credit(0);
                self.cache.with_pages(|cache| self.heap().pages().flush(cache));
                let run = self.sweeper().take_pages(None, pages)?;
                self.heap().stay_within_limit(pages);
                self.make_span(needy, run);
                return Ok(());
            }
        }
    }

    /// Gives `bump` a span out of those at home that has free cells, if there is one.
    fn sweep_at_home(&self, bump: &Bump) -> bool {
        let heap = self.heap();
        while let Some(page) = bump.first_at_home() {
            let span = heap.spans().at(page);
            // What came from the list of partly free ones has been swept.
            let free = match span.is_swept_in(heap.marks().cycle()) {
                true => heap.free_cells(span),
                false => span.cells() - self.sweeper().sweep_span(page, span),
            };
            bump.set_at_home(span.next());
            if free == 0 {
                self.set_aside(bump, page, span);
                continue;
            }
            // A span may hold little that is free; what is charged is what it gives.
            self.cache.charge(free * span.object_bytes());
            bump.own(page, span.frontier(), span.object_bytes());
            return true;
        }
        false
    }

    /// Gives the bump a new span in pages that were taken for it.
    fn make_span(&self, Needy { bump, id, shape }: Needy<'_>, run: PageRun) {
        let (heap, cell) = (self.heap(), shape.size_class().cell_size());
        // What is not resident will read as zeros.
        let fresh = run.scavenged == run.count;
        let start = heap.spans().address_of(run.first);
        let span = Span::new(start, run.count, cell, 0, id, (heap.marks().cycle(), fresh));
        self.cache.charge(span.cells() * cell);
        bump.own(run.first, span.frontier(), cell);
        // SAFETY: the pages were taken for this, and the kind is the shape's.
        unsafe { heap.spans().add(run.first, span, shape.kind()) };
    }

    /// Settles the account, hands in what is used up, and takes home what is to be swept, or learns that there is nothing.
    #[cold]
    fn settle_and_take_home(&self, bump: &Bump, id: ShapeId) -> Result<(), SpaceError> {
        let mut central = self.sweeper().lock();
        central.note_acquisition();
        central.settle(self.cache.take_account());
        self.hand_in(&mut central, bump, id);
        if central.collection_due(1) {
            return Err(SpaceError::CollectionDue);
        }
        let most = central.credit(MOST_SPANS);
        self.cache.set_credit(most);
        let lists = self.sweeper().lists(&mut central, id);
        bump.take_home(lists.take_home(self.heap().spans(), most).head());
        Ok(())
    }

    /// Takes the span away from `bump`: all its cells up to the cursor exist. The cell of a shared span is no more than
    /// forgotten: it exists already, and is garbage.
    fn retire(&self, bump: &Bump) {
        if let Some(page) = bump.span() {
            let span = self.heap().spans().at(page);
            span.set_frontier(bump.cursor());
            self.set_aside(bump, page, span);
        }
        bump.reset();
    }

    /// Keeps a span that has no more cells to give until the lock is taken.
    fn set_aside(&self, bump: &Bump, page: PageIndex, span: &Span) {
        span.set_next(bump.push_used(page));
    }

    /// Puts what was set aside on the shared list, in the order in which it was used.
    fn hand_in(&self, central: &mut Central, bump: &Bump, id: ShapeId) {
        let spans = self.heap().spans();
        let used = SpanList::linked_back_from(spans, bump.take_used());
        if !used.is_empty() {
            self.sweeper().lists(central, id).add_full(spans, used);
        }
    }

    /// Takes all spans and pages away from the mutator. Cells that it has not used stay free, and whoever needs some of
    /// their shape next gets them; they are no longer charged.
    pub fn flush(&self) {
        let heap = self.heap();
        self.cache.set_credit(0);
        if self.cache.is_empty() {
            return;
        }
        let mut central = self.sweeper().lock();
        while let Some(shape) = self.cache.next_active() {
            let bump = self.bump(shape);
            self.give_back(&mut central, bump, shape);
            self.hand_in(&mut central, bump, shape);
            let at_home = SpanList::linked_from(heap.spans(), bump.leave_home());
            let Some(first) = at_home.first() else { continue };
            if heap.spans().at(first).is_swept_in(heap.marks().cycle()) {
                self.sweeper().lists(&mut central, shape).give_back(heap.spans(), at_home);
            } else {
                self.sweeper().return_unswept(&mut central, shape, at_home);
            }
        }
        central.settle(self.cache.take_account());
        drop(central);
        self.cache.with_pages(|cache| heap.pages().flush(cache));
    }

    /// Takes the span away from a stopped or leaving mutator's bump: what it has not used is for others.
    fn give_back(&self, central: &mut Central, bump: &Bump, shape: ShapeId) {
        let (heap, spans) = (self.heap(), self.heap().spans());
        let Some(page) = bump.span() else { return bump.reset() };
        let span = spans.at(page);
        span.set_frontier(bump.cursor());
        let free = heap.free_cells(span);
        if free == 0 {
            self.set_aside(bump, page, span);
        } else {
            self.cache.refund(free * span.object_bytes());
            let mut given = SpanList::EMPTY;
            given.push(spans, page);
            self.sweeper().lists(central, shape).give_back(spans, given);
        }
        bump.reset();
    }

    /// [`Space::find`](crate::Space::find) that also knows the objects this mutator has made since it was flushed.
    pub fn find(&self, address: Address) -> Option<Object> {
        let spans = self.heap().spans();
        let span = spans.find(address)?;
        let bump = self.bump(span.shape());
        // Cells below the cursor of the span's owner exist.
        if bump.span() == Some(spans.page_of(span.cells_start())) {
            span.set_frontier(bump.cursor());
        }
        self.heap().find(address)
    }
}
