//! Runs: where in a span the next free cells lie, one behind the other, for a bump to take.

use crate::bump::Bump;
use crate::granule::GRANULE;
use crate::shape::Shape;
use crate::space::Space;
use heapwood_pages::PageIndex;

impl Space {
    /// Moves `bump` to the next run of free cells of its span; false if there is none.
    #[inline]
    pub(crate) fn next_run(&self, bump: &Bump, shape: &Shape, zero: bool) -> bool {
        let cell = shape.cell_size as usize;
        let span = self.span(PageIndex(bump.span.get() as usize));
        let end = span.cells_end;
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
        if zero && span.fresh == 0 {
            // SAFETY: the run's cells are free, and this thread owns the span.
            unsafe { (start as *mut u8).write_bytes(0, limit - start) };
        }
        bump.set_run(start, limit);
        true
    }
}
