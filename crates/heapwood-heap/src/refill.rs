//! Refill: the slow path of allocation. A bump first moves to the next run of free cells in its span, without a
//! lock; when the span is exhausted it gets another one of its shape under the central lock: an unswept one that
//! turns out to have free cells, or new pages.

use crate::bump::{Bump, Bumps};
use crate::central::Central;
use crate::granule::GRANULE;
use crate::refused::Refused;
use crate::shape::{ScanKind, Shape, ShapeId};
use crate::space::Space;
use crate::span::Span;
use crate::sweep::Swept;
use core::sync::atomic::Ordering;
use heapwood_pages::PageIndex;

impl Space {
    /// Gives `bump` a run with at least one free cell. Its cells are zero where they may hold pointers, unless
    /// `whole` promises that each will be written as a whole before it is committed: then those of masked shapes
    /// are not, since only the words of the value itself will ever be read as pointers.
    ///
    /// `bump` must be the calling mutator's bump for `shape`, a shape with a size class.
    pub fn refill(&self, bump: &Bump, id: ShapeId, whole: bool) -> Result<(), Refused> {
        let shape = self.shape(id);
        let zero = match shape.kind() {
            ScanKind::NoPointers => false,
            ScanKind::Pair | ScanKind::Mask | ScanKind::WideMask => !whole,
            ScanKind::Slice | ScanKind::Conservative | ScanKind::Trace => true,
        };
        loop {
            if bump.span().is_some() && self.next_run(bump, shape, zero) {
                return Ok(());
            }
            let mut central = self.central.lock();
            self.retire(&mut central, bump);
            self.take_span(&mut central, bump, id, shape)?;
        }
    }

    /// Moves `bump` to the next run of free cells of its span; false if there is none.
    #[inline]
    fn next_run(&self, bump: &Bump, shape: &Shape, zero: bool) -> bool {
        let cell = shape.cell_size as usize;
        let end = bump.span_end.get();
        let mut start = bump.limit.get();
        if cell == GRANULE {
            start = self.marks.next_free_granule(start, end);
        } else {
            while start < end && self.marks.is_allocated(start) {
                start += cell;
            }
        }
        if start >= end {
            return false;
        }
        let limit =
            if self.single_cells() { start + cell } else { self.marks.next_allocated(start + cell, end) };
        debug_assert!((limit - start).is_multiple_of(cell));
        if zero {
            let span = self.span(PageIndex(bump.span.get() as usize));
            if span.fresh == 0 {
                // SAFETY: the run's cells are free, and this thread owns the span.
                unsafe { (start as *mut u8).write_bytes(0, limit - start) };
            }
        }
        bump.set_run(start, limit);
        true
    }

    fn take_span(
        &self,
        central: &mut Central,
        bump: &Bump,
        id: ShapeId,
        shape: &Shape,
    ) -> Result<(), Refused> {
        let class = shape.class().expect("refill is asked for shapes with a size class");
        let cell = class.cell_size();
        // A span may hold little that is free; what is charged is what it gives.
        if central.collection_due(1) {
            return Err(Refused::CollectionDue);
        }
        while let Some(page) = self.pop_unswept(central, id) {
            let (swept, live) = self.sweep_span(central, page);
            let span = self.span(page);
            match swept {
                Swept::Full => self.push_swept(central, page),
                Swept::Empty | Swept::Partial => {
                    central.charge((span.cells() - live) * cell);
                    bump.own(page, span, cell);
                    return Ok(());
                }
            }
        }
        let pages = class.span_pages();
        let (page, fresh) = self.take_pages(central, pages)?;
        let mut span = Span::new(self.address_of(page), pages, cell, 0, id, fresh);
        *span.swept_in.get_mut() = central.cycle;
        central.charge(span.cells() * cell);
        bump.own(page, &span, cell);
        // SAFETY: the pages were free, so no one refers to this descriptor; it is committed.
        unsafe { self.span_ptr(page).write(span) };
        self.table.set_span(page, pages, shape.kind(), id);
        Ok(())
    }

    /// Takes the span away from `bump`: all its cells up to the cursor exist.
    pub(crate) fn retire(&self, central: &mut Central, bump: &Bump) {
        if let Some(page) = bump.span() {
            self.span(page).set_frontier(bump.cursor.get());
            self.push_swept(central, page);
            bump.reset();
        }
    }

    /// Takes all spans away from a stopped or leaving mutator. Cells that it has not used stay free and can be
    /// handed out after the next collection.
    pub fn flush(&self, bumps: &Bumps) {
        let mut central = self.central.lock();
        for index in 1..self.shape_count() {
            self.retire(&mut central, bumps.get(ShapeId(index)));
        }
    }
}

impl Bump {
    fn own(&self, page: PageIndex, span: &Span, cell: usize) {
        self.cell_size.set(cell as u32);
        self.span.set(page.0 as u32);
        self.span_end.set(span.cells_end);
        self.set_run(span.cells_start, span.cells_start);
        span.set_frontier(span.cells_start);
        debug_assert!(span.swept_in.load(Ordering::Relaxed) != 0);
    }
}
