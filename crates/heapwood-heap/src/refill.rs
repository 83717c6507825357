//! Refill: the slow path of allocation. A bump first moves to the next run of free cells in its span; when the span is
//! exhausted it gets another one of its shape: of those that its mutator took home, unswept or partly free, one that turns
//! out to have free cells, or new pages out of the mutator's page cache. Neither needs a lock. The shared state is visited for
//! more spans to sweep, to settle the account, and to hear that a collection is due.

use crate::bump::{Bump, Bumps, NONE_LEFT};
use crate::central::Central;
use crate::error::SpaceError;
use crate::local::{Local, MOST_SPANS};
use crate::shape::{ScanKind, Shape};
use crate::shape_id::ShapeId;
use crate::size_class::SizeClass;
use crate::space::Space;
use crate::span::{NO_SPAN, Span};
use crate::span_list::SpanList;
use core::sync::atomic::Ordering;
use heapwood_pages::{PAGE_SIZE, PageCount, PageIndex};

impl Space {
    pub(crate) fn refill(&self, bumps: &Bumps<'_>, id: ShapeId, whole: bool) -> Result<(), SpaceError> {
        let (bump, shape) = (bumps.get(id), self.shape(id));
        let zero = self.must_zero(shape, whole);
        if bump.span().is_none() && self.is_rare(id, shape) {
            return self.refill_rare(bumps, id, shape);
        }
        loop {
            if bump.span().is_some() && self.next_run(bump, shape, zero) {
                return Ok(());
            }
            self.retire(bump);
            bumps.local().activate(id);
            self.take_span(bump, bumps.local(), id, shape)?;
        }
    }

    #[inline]
    pub(crate) fn continue_run(&self, bump: &Bump, id: ShapeId, whole: bool) -> bool {
        bump.span().is_some() && !self.single_cells() && {
            let shape = self.shape(id);
            self.next_run(bump, shape, self.must_zero(shape, whole))
        }
    }

    /// Whether free cells must be zero before they are handed out.
    #[inline]
    fn must_zero(&self, shape: &Shape, whole: bool) -> bool {
        match shape.kind() {
            ScanKind::NoPointers => false,
            ScanKind::Pair | ScanKind::Mask | ScanKind::WideMask => !whole,
            // Behind a value there may be room for what looks like another.
            ScanKind::Program => !(whole && self.is_one_value(shape)),
            ScanKind::Slice
            | ScanKind::Conservative
            | ScanKind::Trace
            | ScanKind::Bits
            | ScanKind::Numbered => true,
        }
    }

    /// Whether a cell of a program's shape has one element, and no room for another.
    fn is_one_value(&self, shape: &Shape) -> bool {
        // SAFETY: the shape was looked up here.
        let Some(nest) = (unsafe { self.nest_of(shape) }) else { return false };
        let words = shape.cell_size as u64 / size_of::<usize>() as u64;
        shape.header == 0 && nest.words() > words / 2
    }

    fn take_span(&self, bump: &Bump, local: &Local, id: ShapeId, shape: &Shape) -> Result<(), SpaceError> {
        let class = shape.class().expect("refill is asked for shapes with a size class");
        let cell = class.cell_size();
        loop {
            if self.sweep_at_home(bump, local, cell) {
                return Ok(());
            }
            // New spans only where there is nothing to sweep.
            if bump.unswept.get() == NONE_LEFT
                && local.credit.get() > 0
                && self.new_span(bump, local, id, shape)?
            {
                return Ok(());
            }
            self.visit(bump, local, id)?;
            if bump.unswept.get() == NONE_LEFT && self.is_limited() {
                local.credit.set(0);
                return self.counted_span(bump, local, id, shape);
            }
        }
    }

    /// Gives `bump` a span out of those at home that has free cells, if there is one.
    fn sweep_at_home(&self, bump: &Bump, local: &Local, cell: usize) -> bool {
        while !matches!(bump.unswept.get(), NO_SPAN | NONE_LEFT) {
            let page = PageIndex(bump.unswept.get() as usize);
            let span = self.span(page);
            // What came from the list of partly free ones has been swept.
            let free = match span.swept_in.load(Ordering::Relaxed) == self.cycle() {
                true => self.free_cells(page),
                false => span.cells() - self.sweep_span(page).1,
            };
            bump.unswept.set(span.next);
            if free == 0 {
                self.set_aside(bump, page);
                continue;
            }
            // A span may hold little that is free; what is charged is what it gives.
            local.take(free * cell);
            bump.own(page, span, cell);
            return true;
        }
        false
    }

    /// Gives `bump` a new span in pages of the cache or, if need be, of the page allocator; false if that has none.
    fn new_span(&self, bump: &Bump, local: &Local, id: ShapeId, shape: &Shape) -> Result<bool, SpaceError> {
        let class = shape.class().expect("refill is asked for shapes with a size class");
        if self.is_limited() {
            return Ok(false);
        }
        let mut cache = local.pages.get();
        let taken = self.pages.allocate(&mut cache, class.span_pages());
        let taken = match taken {
            Ok(run) => Ok((run.first, run.scavenged == run.count)),
            Err(_) => self.take_pages(Some(&mut cache), class.span_pages()),
        };
        local.pages.set(cache);
        let (page, fresh) = taken?;
        local.credit.set(local.credit.get() - 1);
        self.make_span(bump, local, id, shape, page, fresh);
        Ok(true)
    }

    /// The same under a limit: every page is counted before it is taken, and none is set aside.
    fn counted_span(&self, bump: &Bump, local: &Local, id: ShapeId, shape: &Shape) -> Result<(), SpaceError> {
        let class = shape.class().expect("refill is asked for shapes with a size class");
        let mut cache = local.pages.get();
        self.pages.flush(&mut cache);
        local.pages.set(cache);
        let (page, fresh) = self.take_pages(None, class.span_pages())?;
        self.stay_within_limit(class.span_pages());
        self.make_span(bump, local, id, shape, page, fresh);
        Ok(())
    }

    fn make_span(
        &self,
        bump: &Bump,
        local: &Local,
        id: ShapeId,
        shape: &Shape,
        page: PageIndex,
        fresh: bool,
    ) {
        let (cell, pages) =
            (shape.cell_size as usize, shape.class().map_or(PageCount(1), SizeClass::span_pages));
        let mut span = Span::new(self.address_of(page), pages, cell, 0, id, fresh);
        *span.swept_in.get_mut() = self.cycle();
        local.take(span.cells() * cell);
        bump.own(page, &span, cell);
        // SAFETY: the pages were free, so no one refers to this descriptor; it is committed.
        unsafe { self.span_ptr(page).write(span) };
        self.table.set_span(page, pages, shape.kind(), id);
    }

    /// Visits the shared state: settles the account, hands in what is used up, and takes home what is to be swept, or
    /// learns that there is nothing.
    #[cold]
    fn visit(&self, bump: &Bump, local: &Local, id: ShapeId) -> Result<(), SpaceError> {
        let mut central = self.central.lock();
        central.visits += 1;
        local.settle(&mut central);
        self.hand_in(&mut central, bump);
        if central.collection_due(1) {
            return Err(SpaceError::CollectionDue);
        }
        // Near the end of the budget a mutator takes little.
        let left = central.budget.saturating_sub(central.allocated) / PAGE_SIZE;
        let most = (left / 4).clamp(1, MOST_SPANS as usize) as u32;
        local.credit.set(most);
        let lists = central.lists(self, id);
        let mut taken = lists.unswept.split(self, most);
        if taken.is_empty() {
            taken = lists.partial.split(self, most);
        }
        bump.unswept.set(match taken.head() {
            NO_SPAN => NONE_LEFT,
            first => first,
        });
        Ok(())
    }

    /// Takes the span away from `bump`: all its cells up to the cursor exist. A run of a mixed span is no more than
    /// forgotten: its cell exists already, and is garbage.
    fn retire(&self, bump: &Bump) {
        if let Some(page) = bump.span() {
            self.span(page).set_frontier(bump.cursor.get());
            self.set_aside(bump, page);
        }
        bump.reset();
    }

    /// Keeps a span that has no more cells to give until the next visit.
    fn set_aside(&self, bump: &Bump, page: PageIndex) {
        // SAFETY: the span is on no list, so it is this thread's.
        unsafe { (*self.span_ptr(page)).next = bump.used.replace(page.0 as u32) };
    }

    /// Puts what was set aside on the shared list, in the order in which it was used.
    fn hand_in(&self, central: &mut Central, bump: &Bump) {
        let (mut at, mut first) = (bump.used.replace(NO_SPAN), NO_SPAN);
        while at != NO_SPAN {
            // SAFETY: the spans that a bump has set aside are its mutator's, which is this thread or stopped.
            let next = unsafe { &mut (*self.span_ptr(PageIndex(at as usize))).next };
            first = core::mem::replace(&mut at, core::mem::replace(next, first));
        }
        if first != NO_SPAN {
            let shape = self.span(PageIndex(first as usize)).shape;
            let used = SpanList::linked_from(self, first);
            central.lists(self, shape).full.append(self, used);
        }
    }

    pub(crate) fn flush(&self, bumps: &Bumps<'_>) {
        let local = bumps.local();
        local.credit.set(0);
        if local.is_empty() {
            return;
        }
        let mut central = self.central.lock();
        while let Some(shape) = local.next_active() {
            let bump = bumps.get(shape);
            self.give_back(&mut central, local, bump);
            self.hand_in(&mut central, bump);
            match bump.unswept.replace(NO_SPAN) {
                NO_SPAN | NONE_LEFT => {}
                first => {
                    let swept = self.span(PageIndex(first as usize)).swept_in.load(Ordering::Relaxed);
                    let spans = SpanList::linked_from(self, first);
                    if swept == self.cycle() {
                        central.lists(self, shape).partial.prepend(self, spans);
                    } else {
                        central.return_unswept(self, shape, spans);
                    }
                }
            }
        }
        local.settle(&mut central);
        drop(central);
        let mut cache = local.pages.take();
        self.pages.flush(&mut cache);
    }

    /// Takes the span away from a stopped or leaving mutator's bump: what it has not used is for others.
    fn give_back(&self, central: &mut Central, local: &Local, bump: &Bump) {
        let Some(page) = bump.span() else { return bump.reset() };
        let span = self.span(page);
        span.set_frontier(bump.cursor.get());
        let free = self.free_cells(page);
        if free == 0 {
            self.set_aside(bump, page);
        } else {
            local.returned.set(local.returned.get() + free * span.object_bytes());
            let mut given = SpanList::EMPTY;
            given.push(self, page);
            central.lists(self, span.shape).partial.prepend(self, given);
        }
        bump.reset();
    }
}

impl Local {
    /// A span that gives so many bytes was taken.
    fn take(&self, bytes: usize) {
        self.owed.set(self.owed.get() + bytes);
        self.spans.set(self.spans.get() + 1);
    }

    fn settle(&self, central: &mut Central) {
        central.charge(self.owed.take(), self.returned.take());
        central.spans += self.spans.take() as u64;
    }
}

impl Bump {
    fn own(&self, page: PageIndex, span: &Span, cell: usize) {
        self.cell_size.set(cell as u32);
        self.span.set(page.0 as u32);
        self.set_run(span.frontier(), span.frontier());
        debug_assert!(span.swept_in.load(Ordering::Relaxed) != 0);
    }
}
