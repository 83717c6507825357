//! Allocation buffers, one for each shape in each mutator, as the thread-local allocation buffers (TLAB) of HotSpot.
//!
//! Allocation takes the cell at the cursor if it ends at or below the limit. Storing the advanced cursor is the single
//! store that commits. `cursor..limit` is a run of free cells of one span, zeroed where they may hold pointers unless
//! the mutator writes values whole (see `owner`). For a layout that shares spans (see `demand`) it is one cell of a
//! shared span, and the buffer has no span; nor has it with a run of cells that the program freed. A buffer without a run has cursor and limit 0, which sends every request to
//! the slow path.
//!
//! Invariant: only the owning thread changes a buffer, except while that thread is stopped. Others may look where its run
//! is (`find`): so the span is stored before the cursor, and a buffer gives up its run before its span. The mutator's other
//! state of the shape is in `thread_cache`.

use crate::granule::{GRANULE, GRANULE_LOG};
use crate::publication;
use crate::spans::span::NO_SPAN;
use core::cell::Cell;
use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use heapwood_layout::WORD;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::threads::sync::yield_now;
#[cfg(all(test, loom))]
use heapwood_os::threads::watched::Watch;
use heapwood_os::threads::watched::{AtomicU32, AtomicUsize};
use heapwood_pages::PageIndex;

/// One shape's run of free cells. Inline code outside this library reads the first 20 bytes: their layout is frozen.
#[repr(C, align(32))]
pub struct AllocBuffer {
    /// The next free cell.
    cursor: SharedCell,
    /// One past the last free cell of the run.
    limit: SharedCell,
    /// The cell size; 0 until this mutator first uses the shape.
    cell_size: Cell<u32>,
    /// The first page of the run's span; 0 for none.
    span: AtomicU32,
    /// Bytes of free cells in the span beyond the limit.
    beyond: Cell<u32>,
    /// Bytes of dead cells below the start of the span's fresh range. They stay unused until the span is swept.
    dead: Cell<u32>,
}

const _: () = assert!(size_of::<AllocBuffer>() == 32);
const _: () = assert!(core::mem::offset_of!(AllocBuffer, cursor) == 0);
const _: () = assert!(core::mem::offset_of!(AllocBuffer, limit) == 8);
const _: () = assert!(core::mem::offset_of!(AllocBuffer, cell_size) == 16);

// SAFETY: all-zero bytes are a buffer without a run; it holds plain numbers.
unsafe impl Zeroed for AllocBuffer {}

impl AllocBuffer {
    /// The next cell of `size` bytes (not 0) if the run has one, without taking it.
    #[inline(always)]
    pub fn peek(&self, size: usize) -> Option<NonNull<u8>> {
        let cursor = self.cursor.get();
        if cursor + size > self.limit.get() {
            return None;
        }
        // SAFETY: a buffer without a run has limit 0, so this one has a run, and no run starts at address 0.
        Some(unsafe { NonNull::new_unchecked(cursor as *mut u8) })
    }

    /// Takes the cell that [`AllocBuffer::peek`] returned: from this store on it exists.
    ///
    /// # Safety
    /// 1. `cell` is what `peek` of this buffer returned for `size`, the cell size of its shape, since the last refill
    ///    and the last commit; or `size` is that of several cells, or all the [`room`](Self::room) of the run.
    /// 2. The words that a collection may read in it are written: valid pointers, or zeros.
    #[inline(always)]
    pub unsafe fn commit(&self, cell: NonNull<u8>, size: usize) {
        // The writes into the cell stay before the store that makes it exist.
        publication::publish_object();
        self.cursor.set(cell.as_ptr() as usize + size);
    }

    /// Links `cells` cells of `size` bytes from the cursor on through their first words, the last to 0, before they are taken.
    pub fn chain(&self, cells: usize, size: usize) {
        let start = self.cursor.get();
        assert!(cells * size <= self.room());
        // SAFETY: the cells are those of the run.
        unsafe { chain(start..start + cells * size, size, false) };
    }

    /// Whether its run is one of a span of its own.
    pub fn has_span(&self) -> bool {
        self.span().is_some()
    }

    /// Bytes left in the run.
    pub fn room(&self) -> usize {
        self.limit.get() - self.cursor.get()
    }

    /// The cells of `size` bytes in a run without a span, which the program may have freed.
    #[inline]
    pub fn freed_run(&self, size: usize) -> impl Iterator<Item = usize> {
        let end = if self.span.load(Relaxed) == NO_SPAN { self.limit.get() } else { 0 };
        (self.cursor.get()..end).step_by(size)
    }

    /// The cell size, once the shape has been used.
    pub fn cell_size(&self) -> usize {
        self.cell_size.get() as usize
    }

    /// The address of the cursor.
    pub(crate) fn cursor_address(&self) -> usize {
        (&raw const self.cursor) as usize
    }

    /// The cursor: cells of the span below it are allocated.
    pub(crate) fn cursor(&self) -> usize {
        self.cursor.get()
    }

    /// The limit: the search for the span's next run starts here.
    #[inline]
    pub(crate) fn limit(&self) -> usize {
        self.limit.get()
    }

    /// The first page of its span, if it has one.
    #[inline]
    pub(crate) fn span(&self) -> Option<PageIndex> {
        (self.span.load(Relaxed) != NO_SPAN).then(|| PageIndex(self.span.load(Relaxed) as usize))
    }

    /// Bytes of free cells left in its span, in the run and beyond.
    #[inline]
    pub(crate) fn left(&self) -> usize {
        self.room() + self.beyond.get() as usize
    }

    /// Bytes of its span that hold no object.
    #[inline]
    pub(crate) fn unused_bytes(&self) -> usize {
        self.left() + self.dead.get() as usize
    }

    /// Sets the bytes of free cells from the cursor on (`left`), and of dead cells below it.
    pub(crate) fn set_unused(&self, left: usize, dead: usize) {
        self.beyond.set(left.saturating_sub(self.room()) as u32);
        self.dead.set(dead as u32);
    }

    /// Sets the run. Writes into its cells stay before any pointer to one.
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

    /// Sets the run to one cell of a shared span.
    pub(crate) fn set_cell(&self, cell: usize, size: usize) {
        self.set_cells(cell..cell + size, size);
    }

    /// Sets the run to cells of `size` bytes that the program freed, in a span that is not the buffer's.
    pub(crate) fn set_cells(&self, run: Range<usize>, size: usize) {
        self.cell_size.set(size as u32);
        self.set_run(run);
    }

    /// Whether an address lies in a run without a span: a freed cell that is about to be used again.
    #[inline]
    pub(crate) fn has_in_freed_run(&self, addr: usize) -> bool {
        self.span.load(Relaxed) == NO_SPAN && addr.wrapping_sub(self.cursor.get()) < self.room()
    }

    /// Sets the span, with `free` bytes of free cells; the search for runs begins at its frontier.
    pub(crate) fn own(&self, page: PageIndex, frontier: usize, cell: usize, free: usize) {
        self.cell_size.set(cell as u32);
        self.span.store(page.0 as u32, Release);
        self.cursor.release(frontier);
        self.limit.release(frontier);
        self.set_unused(free, 0);
    }

    /// Hides the run: every request takes the slow path until [`open`](Self::open). Limits are multiples of a granule, so
    /// a few bits less bring one below every address of the heap, and lose nothing.
    pub(crate) fn close(&self) {
        debug_assert!(self.limit.get().is_multiple_of(GRANULE));
        self.limit.set(self.limit.get() >> GRANULE_LOG);
    }

    /// Shows the run, if it is hidden.
    pub(crate) fn open(&self) {
        if self.limit.get() < self.cursor.get() {
            self.limit.set(self.limit.get() << GRANULE_LOG);
        }
    }

    /// Another thread asks for the cursor of the owner's run, if it is in the span that begins at `page`; 0 before its first
    /// run there. All objects that the asking thread can know of there lie below it.
    pub(crate) fn cursor_in(&self, page: PageIndex) -> Option<usize> {
        let is_there = || self.span.load(Acquire) as usize == page.0;
        if !is_there() {
            return None;
        }
        let cursor = self.cursor.observe();
        is_there().then_some(cursor)
    }

    /// Another thread asks whether a cell is in a run of freed cells. `moves` is odd while the mutator gets one, or a span: if
    /// it is even and does not change, cursor and limit are those of one run, or the run is over. Were spans not counted, the
    /// limit could be that of one which came and went meanwhile.
    pub(crate) fn is_about_to_reuse(&self, cell: usize, moves: impl Fn() -> u32) -> bool {
        loop {
            let begun = moves();
            let has_span = || self.span.load(Acquire) != NO_SPAN;
            let had_span = has_span();
            let (cursor, mut limit) = (self.cursor.observe(), self.limit.observe());
            if limit < cursor {
                // A closed buffer.
                limit <<= GRANULE_LOG;
            }
            let is_in_run = !had_span && !has_span() && cursor <= cell && cell < limit;
            if begun.is_multiple_of(2) && moves() == begun {
                return is_in_run;
            }
            // A few stores later it is even.
            yield_now();
        }
    }

    /// Has a model watch what other threads load.
    #[cfg(all(test, loom))]
    pub(crate) fn watch(&self, watch: &Watch) {
        self.cursor.watch(watch);
        self.limit.watch(watch);
        watch.add(&self.span);
    }

    /// Drops the run and the span. The limit goes first: with cursor 0 and the old limit the buffer would seem to have a run of
    /// all cells below (`is_about_to_reuse`).
    pub(crate) fn reset(&self) {
        self.limit.release(0);
        self.cursor.release(0);
        self.span.store(NO_SPAN, Release);
        self.set_unused(0, 0);
    }
}

/// A cell that its owner changes and others may load at any time: a cursor, which the inline fast path moves by a plain
/// store. To its owner it is a [`Cell`], so its machine code is one; others load it as an atomic word. By the
/// language's rules that is a race; processors load and store an aligned word whole (docs/design/memory-order.md). Under loom
/// it is an atomic word for both, which a model can watch, and under ThreadSanitizer, too, which would report each load.
#[repr(transparent)]
struct SharedCell(
    #[cfg(not(any(loom, heapwood_tsan)))] Cell<usize>,
    #[cfg(any(loom, heapwood_tsan))] AtomicUsize,
);

#[cfg(not(any(loom, heapwood_tsan)))]
impl SharedCell {
    /// Its owner's value.
    #[inline(always)]
    fn get(&self) -> usize {
        self.0.get()
    }

    /// Its owner stores a value.
    #[inline(always)]
    fn set(&self, value: usize) {
        self.0.set(value);
    }

    #[inline(always)]
    fn atomic(&self) -> &AtomicUsize {
        // SAFETY: the cell has the size and the alignment of the atomic word, and lives as long as the result.
        unsafe { AtomicUsize::from_ptr(self.0.as_ptr()) }
    }
}

#[cfg(any(loom, heapwood_tsan))]
impl SharedCell {
    fn get(&self) -> usize {
        self.0.load(Relaxed)
    }

    fn set(&self, value: usize) {
        self.0.store(value, Relaxed);
    }

    fn atomic(&self) -> &AtomicUsize {
        &self.0
    }

    #[cfg(all(test, loom))]
    fn watch(&self, watch: &Watch) {
        watch.add(&self.0);
    }
}

impl SharedCell {
    /// Its owner stores a value, after all that it did before.
    #[inline]
    fn release(&self, value: usize) {
        self.atomic().store(value, Release);
    }

    /// Another thread's load: it sees what the owner did before it [released](Self::release) the value, and before the last
    /// [`publish`](crate::publication::publish) that came before the value.
    fn observe(&self) -> usize {
        self.atomic().load(Acquire)
    }
}

/// Links the cells of `size` bytes in a range through their first words, the last to 0; with `zeroes`, zeroes their other words.
///
/// # Safety
/// 1. The cells are the calling thread's.
pub(crate) unsafe fn chain(cells: Range<usize>, size: usize, zeroes: bool) {
    for cell in cells.clone().step_by(size) {
        let next = if cell + size < cells.end { cell + size } else { 0 };
        // SAFETY: contract 1.
        unsafe {
            (cell as *mut usize).write(next);
            if zeroes {
                ((cell + WORD) as *mut u8).write_bytes(0, size - WORD);
            }
        }
    }
}
