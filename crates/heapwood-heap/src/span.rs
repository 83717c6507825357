//! Spans: runs of pages cut into cells of one shape, or holding one large object.
//!
//! A span is in one of these states; its owner is who may touch its descriptor:
//!
//! ```text
//!   free pages --new--> ALLOCATING (a mutator) --exhausted or stop--> FULL, PARTIAL (central lists)
//!        ^                   ^                                             | end of marking
//!        |                   | has free cells                              v
//!        +---- nothing live --+------- sweep ------------------------- UNSWEPT (central lists)
//! ```
//!
//! (`central` has the lists in detail.)
//!
//! Which cells exist: those whose allocation bit is set, and those below the frontier (runs are consumed in
//! ascending order, so every cell below it has been handed out or had outlived the last cycle).

use crate::address::ObjectRef;
use crate::page_table::PageEntry;
use crate::shape_id::ShapeId;
use crate::size_class::reciprocal;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use heapwood_os::region::Zeroed;
use heapwood_pages::{PageCount, PageIndex};

/// No span: the end of a list.
pub(crate) const NO_SPAN: u32 = 0;

/// A span's descriptor: one line, at the index of the span's first page.
#[repr(C, align(64))]
pub struct Span {
    /// The address of the first cell.
    pub(crate) cells_start: usize,
    /// One past the last cell; for a large object, one past its last byte.
    pub(crate) cells_end: usize,
    /// Cells below this address exist.
    frontier: AtomicUsize,
    /// [`reciprocal`] of the cell size.
    pub(crate) reciprocal: u64,
    pub(crate) pages: u32,
    /// 0 for a large object.
    pub(crate) cell_size: u32,
    pub(crate) shape: ShapeId,
    /// The sweep cycle this span has been swept in.
    pub(crate) swept_in: AtomicU32,
    /// The next span of the list this one is on.
    pub(crate) next: u32,
    /// The memory has never been written: cells are zero already.
    pub(crate) fresh: u32,
}

const _: () = assert!(size_of::<Span>() == 64);

// SAFETY: all-zero bytes are a descriptor that no page refers to; it holds plain numbers and atomics.
unsafe impl Zeroed for Span {}

impl Span {
    pub(crate) fn new(
        start: usize,
        pages: PageCount,
        cell_size: usize,
        object_bytes: usize,
        shape: ShapeId,
        fresh: bool,
    ) -> Self {
        let room = pages.bytes();
        let used = room.checked_div(cell_size).map_or(object_bytes, |cells| cells * cell_size);
        Span {
            cells_start: start,
            cells_end: start + used,
            frontier: AtomicUsize::new(start),
            reciprocal: if cell_size == 0 { 0 } else { reciprocal(cell_size) },
            pages: pages.0 as u32,
            cell_size: cell_size as u32,
            shape,
            swept_in: AtomicU32::new(0),
            next: NO_SPAN,
            fresh: fresh as u32,
        }
    }

    /// Cells below this address exist.
    #[inline]
    pub fn frontier(&self) -> usize {
        self.frontier.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn set_frontier(&self, addr: usize) {
        self.frontier.store(addr, Ordering::Relaxed);
    }

    /// The size of each object's memory here: the cell's, or the large object's own size.
    #[inline]
    pub fn object_bytes(&self) -> usize {
        if self.cell_size == 0 { self.cells_end - self.cells_start } else { self.cell_size as usize }
    }

    /// How many cells the span has; 1 for a large object.
    pub fn cells(&self) -> usize {
        (self.cells_end - self.cells_start) / self.object_bytes()
    }

    /// Its cells in order of address, whether or not there are objects in them.
    pub fn iter(&self) -> Cells {
        Cells { next: self.cells_start, end: self.cells_end, step: self.object_bytes() }
    }

    /// The address of the first cell.
    pub fn cells_start(&self) -> usize {
        self.cells_start
    }

    /// How many pages it has.
    pub fn pages(&self) -> PageCount {
        PageCount(self.pages as usize)
    }

    /// The shape of its cells.
    pub fn shape(&self) -> ShapeId {
        self.shape
    }
}

/// The cells of a span.
#[derive(Clone, Debug)]
pub struct Cells {
    next: usize,
    end: usize,
    step: usize,
}

impl Iterator for Cells {
    type Item = ObjectRef;

    #[inline]
    fn next(&mut self) -> Option<ObjectRef> {
        let cell = self.next;
        self.next += self.step;
        (cell < self.end).then_some(ObjectRef::new(cell))
    }
}

/// The first page of the span that `page` belongs to, given its entry.
#[inline(always)]
pub(crate) fn first_page(page: PageIndex, entry: PageEntry) -> PageIndex {
    PageIndex(page.0 - entry.back().0)
}
