//! Bumps: where a mutator allocates next, one for each shape.
//!
//! Allocation takes the cell at the cursor if it ends at or below the limit; storing the advanced cursor is the
//! one store that commits. `cursor..limit` is a run of free cells of one span, zeroed where they may hold
//! pointers unless their mutator writes values whole (see `refill`); or one cell of a span that the layout shares (see
//! `rare`), and then the bump has no span. A bump without a run has cursor and limit 0, which sends every request to the
//! slow path.
//! Invariant: only the owning thread changes a bump, except while it is stopped at a safepoint.

use crate::local::Local;
use crate::shape_id::ShapeId;
use core::cell::Cell;
use core::ptr::NonNull;
use heapwood_os::region::Zeroed;
use heapwood_pages::PageIndex;

/// One shape's run of free cells. The first 20 bytes are read by inline code outside this library: frozen.
#[repr(C, align(32))]
pub struct Bump {
    /// The next free cell.
    pub(crate) cursor: Cell<usize>,
    /// One past the last free cell of the run.
    pub(crate) limit: Cell<usize>,
    /// The cell size; 0 until the shape is first used by this mutator.
    pub(crate) cell_size: Cell<u32>,
    /// The first page of the span the run is in; 0 for none.
    pub(crate) span: Cell<u32>,
    /// The first of the unswept spans that this mutator took home; 0 for none, [`NONE_LEFT`] if the shared state had
    /// none either, and so will not before the next marking.
    pub(crate) unswept: Cell<u32>,
    /// The last of the spans that this mutator has used up or found full since its last visit; they are linked.
    pub(crate) used: Cell<u32>,
}

/// See [`Bump::unswept`].
pub(crate) const NONE_LEFT: u32 = u32::MAX;

const _: () = assert!(size_of::<Bump>() == 32);
const _: () = assert!(core::mem::offset_of!(Bump, cursor) == 0);
const _: () = assert!(core::mem::offset_of!(Bump, limit) == 8);
const _: () = assert!(core::mem::offset_of!(Bump, cell_size) == 16);

// SAFETY: all-zero bytes are a bump without a run; it holds plain numbers.
unsafe impl Zeroed for Bump {}

impl Bump {
    /// The next cell of `size` bytes (not 0) if the run has one, without taking it.
    #[inline(always)]
    pub fn peek(&self, size: usize) -> Option<NonNull<u8>> {
        let cursor = self.cursor.get();
        if cursor + size > self.limit.get() {
            return None;
        }
        // SAFETY: the limit of a bump without a run is 0, so here it has one, and no run starts at address 0.
        Some(unsafe { NonNull::new_unchecked(cursor as *mut u8) })
    }

    /// Takes the cell that [`Bump::peek`] showed: from this store on it exists.
    ///
    /// # Safety
    /// 1. `cell` is what `peek` of this bump returned for `size`, the cell size of its shape, since it was last refilled and
    ///    since the last commit; or `size` is several cells', or all the [`room`](Self::room) that the run has.
    /// 2. What a collection may read of it is written: pointers that it may follow, or zeros.
    #[inline(always)]
    pub unsafe fn commit(&self, cell: NonNull<u8>, size: usize) {
        // Whatever was written into the cell stays before the store that makes it exist.
        core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::Release);
        self.cursor.set(cell.as_ptr() as usize + size);
    }

    /// The bytes that the run still has.
    pub fn room(&self) -> usize {
        self.limit.get() - self.cursor.get()
    }

    /// The cell size, once the shape has been used.
    pub fn cell_size(&self) -> usize {
        self.cell_size.get() as usize
    }

    pub(crate) fn span(&self) -> Option<PageIndex> {
        (self.span.get() != 0).then(|| PageIndex(self.span.get() as usize))
    }

    pub(crate) fn set_run(&self, start: usize, limit: usize) {
        self.cursor.set(start);
        self.limit.set(limit);
    }

    pub(crate) fn reset(&self) {
        self.set_run(0, 0);
        self.span.set(0);
    }
}

/// The bumps of one mutator, an array by shape, and what it keeps beside them.
pub(crate) struct Bumps<'m> {
    first: NonNull<Bump>,
    local: &'m Local,
}

impl<'m> Bumps<'m> {
    /// The array at `first`, and `local`.
    ///
    /// # Safety
    /// 1. `first` points to [`crate::MAX_SHAPES`] bumps, zeroed when new, that live as long as `local`.
    #[inline(always)]
    pub(crate) const unsafe fn new(first: NonNull<Bump>, local: &'m Local) -> Self {
        Bumps { first, local }
    }

    #[inline(always)]
    pub(crate) fn local(&self) -> &'m Local {
        self.local
    }

    /// The bump of `shape`.
    #[inline(always)]
    pub(crate) fn get(&self, shape: ShapeId) -> &'m Bump {
        // SAFETY: shape numbers are below MAX_SHAPES (their invariant), and the array is that long (contract of `new`).
        unsafe { &*self.first.as_ptr().add(shape.index()) }
    }
}
