//! Objects that the program frees itself. Freeing a small object sets a bit of its cell: from then on the cell is no
//! object, and a second free is an error. The cell waits in a chain until its shape needs one, with the mutator that
//! freed it or, if that has many, for all mutators. A free thus touches no state of other mutators, even if the cell
//! lies in their span. The pages of a large object return at once. Invariant: a cell is in one chain once, and only the
//! thread that takes it out uses it.

use super::owner::{Owner, RefillRequest};
use crate::address::{Address, ObjectRef};
use crate::config::CLOBBER;
use crate::error::FreeError;
use crate::layout::shape::ScanKind;
use crate::policy::refill;
use crate::spans::span::Span;
use heapwood_layout::WORD;

impl Owner<'_> {
    /// Frees an object: its memory may be reused at once.
    ///
    /// # Errors
    /// There is no object, or not its first byte, or it was freed before.
    ///
    /// # Safety
    /// 1. Nothing reads or writes the object afterwards: no slot that a collection reads holds its address.
    pub unsafe fn free(&self, object: Address) -> Result<(), FreeError> {
        let (heap, spans) = (self.heap(), self.heap().spans());
        let span = self.span_to_free_from(object)?;
        heap.freed().note();
        if span.cell_size() != 0 {
            return self.free_cell(span, object.get());
        }
        match self.sweeper().free_large(spans.page_of(object.get())) {
            Some(pages) => {
                // At once: a thread that frees only large objects may not refill for long.
                self.cache().note_freed(pages.bytes());
                self.announce(&mut self.sweeper().lock());
                Ok(())
            }
            None => Err(FreeError::Twice { address: object }),
        }
    }

    /// Checks that an object begins there, which may have been freed before.
    ///
    /// # Errors
    /// There is no object, or not its first byte.
    pub fn check_free(&self, object: Address) -> Result<(), FreeError> {
        self.span_to_free_from(object).map(|_| ())
    }

    /// Frees an object during a full marking that may have to scan it. It is no object any more, but its memory stays
    /// as it is until the end of the marking [forgets](crate::Stopped::forget_freed) it.
    ///
    /// # Errors
    /// As [`free`](Owner::free).
    pub fn free_later(&self, object: Address) -> Result<(), FreeError> {
        let freed = self.heap().freed();
        self.span_to_free_from(object)?;
        freed.note();
        self.begin_freeing()?;
        if freed.set(object.get()) { Ok(()) } else { Err(FreeError::Twice { address: object }) }
    }

    /// The span of an object that the program frees.
    fn span_to_free_from(&self, object: Address) -> Result<&Span, FreeError> {
        let (heap, spans) = (self.heap(), self.heap().spans());
        self.publish_span_at(object);
        let nothing = FreeError::NoObject { address: object };
        let span = spans.find(object).ok_or(nothing)?;
        if let Some(place) = heap.find_arena(object) {
            return Err(FreeError::InArena { address: object, arena: place.arena });
        }
        let base = span.cell_in(object).filter(|base| *base <= object).ok_or(nothing)?;
        let freed = heap.freed().is_freed(base.get());
        if !freed && !self.may_exist(span, base.get()) {
            return Err(nothing);
        }
        if base != object {
            return Err(FreeError::Inside { address: object, object: ObjectRef::new(base.get()) });
        }
        Ok(span)
    }

    fn begin_freeing(&self) -> Result<(), FreeError> {
        if !self.heap().freed().are_in_use() {
            self.heap().begin_freeing(self.sweeper().lock().growth()).map_err(FreeError::Kernel)?;
        }
        Ok(())
    }

    /// Whether a cell may hold an object. For a span that another mutator allocates from, only that mutator knows the
    /// cursor: any cell of the fresh range may hold one.
    fn may_exist(&self, span: &Span, cell: usize) -> bool {
        let spans = self.heap().spans();
        let page = spans.page_of(span.cells_start());
        let mine = self.buffer(span.shape()).span() == Some(page);
        let others = span.is_held() && !mine && span.is_swept_in(self.cycle());
        self.heap().exists(span, cell) || others && span.is_above_fresh_range_start(cell)
    }

    fn free_cell(&self, span: &Span, cell: usize) -> Result<(), FreeError> {
        let heap = self.heap();
        self.begin_freeing()?;
        if !heap.freed().set(cell) {
            return Err(FreeError::Twice { address: Address::new(cell) });
        }
        // The cell counts as old, so only a sweep after a full collection reclaims it; until then it is in the chain.
        // SAFETY: the bit that was set just now makes the cell this thread's. A marker beside the program that sees the
        // allocation bit sees that one, too.
        unsafe { heap.marks().set_allocated(cell) };
        let (id, bytes, cycle) = (span.shape(), span.object_bytes(), self.full_cycle());
        // A marking that reaches the cell, from an object that only a dangling word keeps alive, must find zeros where
        // pointers may be. The next object needs them, too.
        // SAFETY: the cell is no object any more; its first word will be the chain's.
        let fill = |byte| unsafe { (cell as *mut u8).add(WORD).write_bytes(byte, bytes - WORD) };
        if heap.spans().entry(heap.spans().page_of(cell)).kind() != Some(ScanKind::NoPointers) {
            fill(0);
        } else if self.sweeper().clobbers() {
            fill(CLOBBER);
        }
        let cached = self.cache().cached(id);
        let mut chain = cached.freed.get();
        // SAFETY: the bit was set just now.
        unsafe { chain.push(cell, cycle) };
        cached.freed.set(chain);
        self.cache().note_freed(bytes);
        self.cache().activate(id);
        if refill::returns_freed(chain.len(cycle), false) {
            let mut central = self.sweeper().lock();
            self.announce(&mut central);
            self.return_used_spans(&mut central, id);
        }
        Ok(())
    }

    /// Takes a cell of the buffer's shape that was freed since the last full collection; its freed bit stays set.
    pub(super) fn next_freed(&self, request: RefillRequest<'_>) -> Option<usize> {
        let (heap, cached, cycle) = (self.heap(), self.cache().cached(request.id), self.full_cycle());
        let mut chain = cached.freed.get();
        // The chain's links lie in memory that the program has freed and may have overwritten: a link counts only if it
        // leads to a freed cell of the shape.
        let is_right = |cell: usize| {
            let span = heap.spans().find(Address::new(cell)).filter(|span| span.shape() == request.id);
            span.is_some_and(|span| span.cell_in(Address::new(cell)) == Some(Address::new(cell)))
                && heap.freed().is_freed(cell)
        };
        let cell = chain.pop(cycle, is_right);
        cached.freed.set(chain);
        cell
    }
}
