//! Cells that the program has freed, on their way to new objects ([`free`](super::free) is their way here). A buffer without a
//! span gets a run of them; that of a shared span one cell. Invariant: a buffer has the cells before their freed bits go, and
//! they are zero by then where pointers may be.

use super::owner::{Owner, RefillRequest};
use super::runs::for_each_word;
use crate::address::Address;
use crate::granule::GRANULE;
use crate::layout::per_object;
use crate::layout::shape::ScanKind;
use crate::layout::shape_id::ShapeId;
use crate::layout::size_class::SizeClass;
use crate::marks::Marks;
#[cfg(loom)]
use crate::publication::mutant;
use core::ops::Range;
use heapwood_pages::PAGE_SIZE;

impl Owner<'_> {
    /// Gives a buffer without a span a run of cells that the program freed lately, if there is one.
    pub(super) fn reuse_lately_freed(&self, id: ShapeId) -> bool {
        let Some(recent) = self.cache.recently_freed() else { return false };
        if self.keeps_runs || !recent.may_have(id, self.full_cycle()) {
            return false;
        }
        // SAFETY: cells of the shape may have been freed, so it is this heap's.
        let shape = unsafe { self.space.shapes.get_unchecked(id) };
        let Some(shape) = shape.small() else { return false };
        let request = RefillRequest { buffer: self.buffer(id), id, shape };
        self.next_lately_freed(request, false).is_some_and(|run| self.reuse(request, run, false))
    }

    /// Gives the buffer cells of its shape that the program has freed, if there are some. A thread that is stopped between any
    /// two instructions gets one at a time: it keeps what its buffer has.
    pub(super) fn reuse_freed(&self, request: RefillRequest<'_>) -> bool {
        let single = self.keeps_runs || self.space.single_cells;
        while let Some(run) = self.next_freed(request, single) {
            if self.reuse(request, run, single) {
                return true;
            }
        }
        false
    }

    fn reuse(&self, request: RefillRequest<'_>, run: Range<usize>, single: bool) -> bool {
        if !self.prepare_freed(request, &run, single) {
            return false;
        }
        if !self.cache.run_owner.is_listed() {
            self.join_run_owners(&mut self.sweeper().lock());
        }
        // The buffer has the cells before their freed bits go: a thread that no longer sees these finds the run.
        let class = request.shape.size_class();
        #[cfg(loom)]
        if mutant::is(mutant::TAKEN_FIRST) {
            self.take_freed(&run, class);
        }
        self.cache.run_owner.with_move(|| request.buffer.set_cells(run.clone(), class.cell_size()));
        self.take_freed(&run, class);
        true
    }

    /// Takes the cell of a freed object of a shared span for layout `id`. The mutator that allocates from a span writes
    /// its layouts without a lock, so this skips cells in other mutators' spans; they wait for the next cycle.
    pub(super) fn reuse_shared(&self, request: RefillRequest<'_>, id: ShapeId) -> Option<usize> {
        let spans = &self.heap().spans;
        loop {
            let run = self.next_freed(request, true)?;
            let cell = run.start;
            let page = spans.first_page_of(cell);
            let _central = self.sweeper().lock();
            if spans.at(page).is_held() && request.buffer.span() != Some(page) {
                continue;
            }
            // Before the freed bit goes: a marker beside the program that a stray word leads here then sees the layout.
            // SAFETY: the cell is of the class and the span of the shape. No other mutator holds the span, others do
            // this under the lock, and no marking visits a freed cell.
            unsafe { per_object::write(&self.space.shapes, &self.heap().pointer_bits, id, cell) };
            if self.prepare_freed(request, &run, true) {
                self.take_freed(&run, request.shape.size_class());
                return Some(cell);
            }
        }
    }

    /// Whether some of the cells that wait in a buffer without a span have allocation bits: the program had freed them.
    pub fn reuses_old(&self, id: ShapeId) -> bool {
        let buffer = self.buffer(id);
        buffer.span().is_none()
            && self.heap().marks.count_allocated_cells(buffer.cursor(), buffer.limit()) != 0
    }

    /// Prepares freed cells to be objects, all zeros where they may have pointers, when their freed bits go; false if some were
    /// not free: then the program has written into a chain, and the others wait for a collection. A cell `with_bits` gets its allocation bit first: a
    /// collection may find it before the thread goes on.
    fn prepare_freed(&self, request: RefillRequest<'_>, run: &Range<usize>, with_bits: bool) -> bool {
        let class = request.shape.size_class();
        if !self.are_freed(run, class) {
            return false;
        }
        if request.shape.kind() != ScanKind::NoPointers {
            // All but the link has been zero since the cells were freed, unless the program has written there, which must
            // do no harm.
            // SAFETY: the cells were freed, and this thread has them.
            unsafe { (run.start as *mut u8).write_bytes(0, run.len()) };
        }
        let spans = &self.heap().spans;
        // Another mutator's span: only that one knows its cursor, so nothing else says that the cells exist.
        let span = spans.at(spans.first_page_of(run.start));
        span.note_reused();
        if with_bits || span.is_held() {
            // They are freed still; `remember_reused` notes them for a marking before they are given out.
            self.make_run_old(run, class);
        }
        self.cache.charge(run.len());
        true
    }

    /// Takes cells of the buffer's shape that were freed since the last full collection, adjacent ones; one if `single`.
    /// Their freed bits stay set.
    pub(super) fn next_freed(&self, request: RefillRequest<'_>, single: bool) -> Option<Range<usize>> {
        if let Some(run) = self.next_lately_freed(request, single) {
            return Some(run);
        }
        let (id, cell) = (request.id, request.shape.size_class().cell_size());
        let spans = &self.heap().spans;
        let (cached, cycle) = (self.cache.cached(id), self.full_cycle());
        let mut chain = cached.freed.get();
        // The chain's links lie in memory that the program has freed and may have overwritten: a link counts only if it
        // leads to a freed cell of the shape. Who uses the cells checks that all are free.
        let is_right = |cell: usize| {
            let span = spans.find(Address::new(cell)).filter(|span| span.shape() == id);
            span.is_some_and(|span| span.cell_in(Address::new(cell)) == Some(Address::new(cell)))
                && self.heap().freed.is_freed(cell)
        };
        let (start, cells) = chain.pop(cycle, is_right)?;
        // A run begins and ends with cells of one page.
        let page_end = spans.address_of(spans.page_of(start)) + PAGE_SIZE;
        let cells_end = spans.at(spans.first_page_of(start)).cells_end();
        let cells = cells.clamp(1, ((cells_end - start) / cell).min((page_end - start).div_ceil(cell)));
        let taken = if single { 1 } else { cells };
        if taken < cells {
            // SAFETY: the cells behind the first were in the chain, and were taken out with it.
            unsafe { chain.push(start + cell, (cells - 1) as u32, cycle) };
        }
        let end = start + taken * cell;
        cached.freed.set(chain);
        Some(start..end)
    }

    /// The same of those that this mutator freed lately.
    pub(super) fn next_lately_freed(&self, request: RefillRequest<'_>, single: bool) -> Option<Range<usize>> {
        let run = self.cache.recently_freed()?.take_run(request.id, single, self.full_cycle())?;
        let start = self.heap().spans.address_of(run.page) + run.granules.start * GRANULE;
        Some(start..start + run.cells as usize * request.shape.size_class().cell_size())
    }

    /// Whether adjacent cells are freed.
    pub(super) fn are_freed(&self, run: &Range<usize>, class: SizeClass) -> bool {
        let mut all = true;
        self.for_each_word(run, class, |word, bits| all &= self.heap().freed.load_word(word) & bits == bits);
        all
    }

    /// Gives freed adjacent cells, which are this thread's, their allocation bits.
    pub(super) fn make_run_old(&self, run: &Range<usize>, class: SizeClass) {
        let marks = &self.heap().marks;
        self.for_each_word(run, class, |word, bits| {
            if marks.allocated_word(word) & bits != bits {
                // SAFETY: their freed bits make the cells this thread's, and were set before.
                unsafe { marks.set_allocated_word(word, bits) };
            }
        });
    }

    /// Clears the freed bits of adjacent cells.
    pub(super) fn take_freed(&self, run: &Range<usize>, class: SizeClass) {
        self.for_each_word(run, class, |word, bits| self.heap().freed.take_word(word, bits));
    }

    /// Sets the freed bits of adjacent cells, and then their allocation bits.
    pub(super) fn put_freed(&self, run: &Range<usize>, class: SizeClass) {
        self.for_each_word(run, class, |word, bits| {
            self.heap().freed.set_word(word, bits);
            // SAFETY: the cells are this thread's, and their freed bits were set just now.
            unsafe { self.heap().marks.set_allocated_word(word, bits) };
        });
    }

    /// Calls `f` with each word of bits of adjacent cells: the address that it begins at, and the bits.
    fn for_each_word(&self, run: &Range<usize>, class: SizeClass, mut f: impl FnMut(usize, u64)) {
        let spans = &self.heap().spans;
        let page = spans.address_of(spans.page_of(run.start));
        let granules = (run.start - page) / GRANULE..(run.end - page) / GRANULE;
        for_each_word(class, &granules, |word, bits| f(page + word * Marks::WORD_BYTES, bits));
    }
}
