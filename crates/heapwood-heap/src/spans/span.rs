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

use crate::address::{Address, ObjectRef};
use crate::layout::shape_id::ShapeId;
use crate::layout::size_class::{cell_at, reciprocal};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use heapwood_os::region::Zeroed;
use heapwood_pages::PageCount;

/// No span: the end of a list.
pub(crate) const NO_SPAN: u32 = 0;

/// A span's descriptor: one line, at the index of the span's first page.
#[repr(C, align(64))]
pub struct Span {
    /// The address of the first cell.
    cells_start: usize,
    /// One past the last cell; for a large object, one past its last byte.
    cells_end: usize,
    /// Cells below this address exist.
    frontier: AtomicUsize,
    /// [`reciprocal`] of the cell size.
    reciprocal: u64,
    pages: u32,
    /// 0 for a large object.
    cell_size: u32,
    shape: ShapeId,
    /// The sweep cycle this span has been swept in.
    swept_in: AtomicU32,
    /// The next span of the list this one is on.
    next: AtomicU32,
    /// The memory has never been written: cells are zero already.
    fresh: AtomicU32,
}

const _: () = assert!(size_of::<Span>() == 64);

// SAFETY: all-zero bytes are a descriptor that no page refers to; it holds plain numbers and atomics.
unsafe impl Zeroed for Span {}

impl Span {
    /// A span of cells of `cell_size` bytes, or of one large object of `object_bytes` (and a cell size of 0), made in this
    /// sweep cycle; `fresh` if its memory has never been written.
    pub(crate) fn new(
        start: usize,
        pages: PageCount,
        cell_size: usize,
        object_bytes: usize,
        shape: ShapeId,
        (cycle, fresh): (u32, bool),
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
            swept_in: AtomicU32::new(cycle),
            next: AtomicU32::new(NO_SPAN),
            fresh: AtomicU32::new(fresh as u32),
        }
    }

    /// Cells below this address exist.
    #[inline]
    pub(crate) fn frontier(&self) -> usize {
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
    pub(crate) fn cells_start(&self) -> usize {
        self.cells_start
    }

    /// One past the last cell; for a large object, one past its last byte.
    #[inline]
    pub(crate) fn cells_end(&self) -> usize {
        self.cells_end
    }

    /// The first byte of the cell that an address lies in, whether or not an object is there.
    #[inline]
    pub fn cell_in(&self, address: Address) -> Option<Address> {
        let address = address.get();
        if address < self.cells_start || address >= self.cells_end {
            return None;
        }
        let index = cell_at(address - self.cells_start, self.reciprocal);
        Some(Address::new(self.cells_start + index * self.cell_size as usize))
    }

    /// The cell size; 0 for a large object.
    #[inline]
    pub(crate) fn cell_size(&self) -> u32 {
        self.cell_size
    }

    /// How many pages it has.
    pub fn pages(&self) -> PageCount {
        PageCount(self.pages as usize)
    }

    /// The shape of its cells.
    pub fn shape(&self) -> ShapeId {
        self.shape
    }

    /// Whether it was swept, or made, in this cycle.
    #[inline]
    pub(crate) fn is_swept_in(&self, cycle: u32) -> bool {
        self.swept_in.load(Ordering::Relaxed) == cycle
    }

    /// It has just been swept: what was written in it may lie in every cell, and those below the first exist.
    pub(crate) fn set_swept_in(&self, cycle: u32) {
        self.swept_in.store(cycle, Ordering::Relaxed);
        self.set_frontier(self.cells_start);
        self.fresh.store(0, Ordering::Relaxed);
    }

    /// Whether cells that are free have never been written.
    #[inline]
    pub(crate) fn is_fresh(&self) -> bool {
        self.fresh.load(Ordering::Relaxed) != 0
    }

    /// The number of the next span of the list this one is on.
    #[inline]
    pub(crate) fn next(&self) -> u32 {
        self.next.load(Ordering::Relaxed)
    }

    /// Links it; the span is the caller's, as a span of its own or of a list that it holds.
    #[inline]
    pub(crate) fn set_next(&self, next: u32) {
        self.next.store(next, Ordering::Relaxed);
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
