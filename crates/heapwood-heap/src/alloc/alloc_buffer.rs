//! Bumps: where a mutator allocates next, one for each shape. Elsewhere this is called a thread-local allocation buffer (TLAB).
//!
//! Allocation takes the cell at the cursor if it ends at or below the limit; storing the advanced cursor is the
//! one store that commits. `cursor..limit` is a run of free cells of one span, zeroed where they may hold
//! pointers unless their mutator writes values whole (see `owner`); or one cell of a span that the layout shares (see
//! `demand`), and then the allocation buffer has no span. An allocation buffer without a run has cursor and limit 0, which sends every request to the
//! slow path.
//! Invariant: only the owning thread changes an allocation buffer, except while it is stopped at a safepoint. What else a mutator keeps of a
//! shape is beside it (`cached`).

use crate::publication;
use crate::spans::span::NO_SPAN;
use core::cell::Cell;
use core::ops::Range;
use core::ptr::NonNull;
use heapwood_os::region::Zeroed;
use heapwood_pages::PageIndex;

/// One shape's run of free cells. The first 20 bytes are read by inline code outside this library: frozen.
#[repr(C, align(32))]
pub struct AllocBuffer {
    /// The next free cell.
    cursor: Cell<usize>,
    /// One past the last free cell of the run.
    limit: Cell<usize>,
    /// The cell size; 0 until the shape is first used by this mutator.
    cell_size: Cell<u32>,
    /// The first page of the span the run is in; 0 for none.
    span: Cell<u32>,
    /// Bytes of free cells that the span has behind the limit.
    beyond: Cell<u32>,
    /// Bytes of cells below where it began in this cycle that are free for nobody before the span is swept.
    dead: Cell<u32>,
}

const _: () = assert!(size_of::<AllocBuffer>() == 32);
const _: () = assert!(core::mem::offset_of!(AllocBuffer, cursor) == 0);
const _: () = assert!(core::mem::offset_of!(AllocBuffer, limit) == 8);
const _: () = assert!(core::mem::offset_of!(AllocBuffer, cell_size) == 16);

// SAFETY: all-zero bytes are an allocation buffer without a run; it holds plain numbers.
unsafe impl Zeroed for AllocBuffer {}

impl AllocBuffer {
    /// The next cell of `size` bytes (not 0) if the run has one, without taking it.
    #[inline(always)]
    pub fn peek(&self, size: usize) -> Option<NonNull<u8>> {
        let cursor = self.cursor.get();
        if cursor + size > self.limit.get() {
            return None;
        }
        // SAFETY: the limit of an allocation buffer without a run is 0, so here it has one, and no run starts at address 0.
        Some(unsafe { NonNull::new_unchecked(cursor as *mut u8) })
    }

    /// Takes the cell that [`AllocBuffer::peek`] showed: from this store on it exists.
    ///
    /// # Safety
    /// 1. `cell` is what `peek` of this allocation buffer returned for `size`, the cell size of its shape, since it was last refilled and
    ///    since the last commit; or `size` is several cells', or all the [`room`](Self::room) that the run has.
    /// 2. What a collection may read of it is written: pointers that it may follow, or zeros.
    #[inline(always)]
    pub unsafe fn commit(&self, cell: NonNull<u8>, size: usize) {
        // Whatever was written into the cell stays before the store that makes it exist.
        publication::publish_object();
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

    /// Where the cursor is kept.
    pub(crate) fn cursor_address(&self) -> usize {
        self.cursor.as_ptr() as usize
    }

    /// The cursor: cells of the span below it have been handed out.
    pub(crate) fn cursor(&self) -> usize {
        self.cursor.get()
    }

    /// The limit: where the next run of the span is looked for.
    #[inline]
    pub(crate) fn limit(&self) -> usize {
        self.limit.get()
    }

    /// The first page of the span that it allocates from, if it has one.
    #[inline]
    pub(crate) fn span(&self) -> Option<PageIndex> {
        (self.span.get() != NO_SPAN).then(|| PageIndex(self.span.get() as usize))
    }

    /// Bytes of free cells that its span still has, in the run and behind it.
    #[inline]
    pub(crate) fn left(&self) -> usize {
        self.room() + self.beyond.get() as usize
    }

    /// Bytes of its span that no object has.
    #[inline]
    pub(crate) fn unused_bytes(&self) -> usize {
        self.left() + self.dead.get() as usize
    }

    /// Its span has N bytes of free cells from the cursor on, and so many of dead ones below.
    pub(crate) fn set_unused(&self, left: usize, dead: usize) {
        self.beyond.set(left.saturating_sub(self.room()) as u32);
        self.dead.set(dead as u32);
    }

    /// It has these free cells now. What was written for them comes before any pointer to one.
    #[inline]
    pub(crate) fn set_run(&self, run: Range<usize>) {
        publication::publish();
        self.beyond.set(self.beyond.get().saturating_sub(run.len() as u32));
        self.move_to(run);
    }

    #[inline]
    fn move_to(&self, run: Range<usize>) {
        self.cursor.set(run.start);
        self.limit.set(run.end);
    }

    /// It has one cell of a span that is not its own.
    pub(crate) fn set_cell(&self, cell: usize, size: usize) {
        self.cell_size.set(size as u32);
        self.set_run(cell..cell + size);
    }

    /// It has a span now, from whose frontier on runs are to be looked for, with N bytes of free cells.
    pub(crate) fn own(&self, page: PageIndex, frontier: usize, cell: usize, free: usize) {
        self.cell_size.set(cell as u32);
        self.span.set(page.0 as u32);
        self.move_to(frontier..frontier);
        self.set_unused(free, 0);
    }

    /// It has no run and no span.
    pub(crate) fn reset(&self) {
        self.move_to(0..0);
        self.span.set(NO_SPAN);
        self.set_unused(0, 0);
    }
}
