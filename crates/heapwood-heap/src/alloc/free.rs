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
        self.may_exist_beside(span, cell, || ())
    }

    /// The same, for tests with what another thread may do `between` two looks.
    #[inline]
    fn may_exist_beside(&self, span: &Span, cell: usize, between: impl FnOnce()) -> bool {
        let spans = self.heap().spans();
        let page = spans.page_of(span.cells_start());
        let mine = self.buffer(span.shape()).span() == Some(page);
        let others = span.is_held() && !mine && span.is_swept_in(self.cycle());
        if self.heap().exists(span, cell) {
            return true;
        }
        between();
        // The owner may use the span up meanwhile, and promote: then the range is empty, and the cell has its bit.
        others && (span.is_above_fresh_range_start(cell) || self.heap().exists(span, cell))
    }

    fn free_cell(&self, span: &Span, cell: usize) -> Result<(), FreeError> {
        let heap = self.heap();
        self.begin_freeing()?;
        if !heap.freed().set(cell) {
            return Err(FreeError::Twice { address: Address::new(cell) });
        }
        // The cell counts as old, so only a sweep after a full collection reclaims it; until then it is in the chain.
        // SAFETY: the bit that was set just now makes the cell this thread's, and no marking is under way.
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

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::address::Address;
    use crate::alloc::alloc_buffer::AllocBuffer;
    use crate::alloc::owner::Owner;
    use crate::alloc::thread_cache::ThreadCache;
    use crate::config::{MIN_RESERVATION, SpaceConfig};
    use crate::layout::shape_id::{MAX_SHAPES, ShapeId};
    use crate::layout::size_class::SizeClass;
    use crate::space::Space;
    use core::ptr::NonNull;
    use heapwood_os::{MappedArray, SYSTEM};

    struct Mutator(MappedArray<AllocBuffer>, MappedArray<ThreadCache>);

    impl Mutator {
        fn new() -> Self {
            let (buffers, cache) = (MappedArray::new(&SYSTEM, MAX_SHAPES), MappedArray::new(&SYSTEM, 1));
            let mutator = Mutator(buffers.unwrap(), cache.unwrap());
            mutator.0.commit(0..MAX_SHAPES).unwrap();
            mutator.1.commit(0..1).unwrap();
            mutator
        }

        fn owner<'m>(&'m self, space: &'m Space) -> Owner<'m> {
            // SAFETY: the memory is zeroed and long enough, both live as long as this, and the test has one thread.
            unsafe { space.owner(NonNull::new(self.0.as_ptr()).unwrap(), &*self.1.at(0)) }
        }
    }

    /// A thread frees an object of another that uses up its span at that moment: with promotion the fresh range becomes
    /// empty between two looks at the cell.
    #[test]
    fn an_object_is_found_while_its_span_is_used_up() {
        const CELL: usize = 4096;
        for promotes in [false, true] {
            let config = SpaceConfig {
                reservation: MIN_RESERVATION,
                most: None,
                limit: None,
                huge_pages: false,
                clobber: false,
                protect_arenas: None,
                single_cells: false,
            };
            let space = Space::new(&SYSTEM, config).unwrap();
            let shape = ShapeId::no_pointers(SizeClass::of(CELL));
            let (makes, frees) = (Mutator::new(), Mutator::new());
            let (maker, other) = (makes.owner(&space), frees.owner(&space));
            let allocate = || {
                if maker.buffer(shape).peek(CELL).is_none() {
                    maker.refill(shape, false).unwrap();
                }
                let cell = maker.buffer(shape).peek(CELL).unwrap();
                // SAFETY: `peek` has just returned it, and its words are no pointers.
                unsafe { maker.buffer(shape).commit(cell, CELL) };
                Address::new(cell.as_ptr() as usize)
            };
            // SAFETY: the only thread is here.
            unsafe { space.stopped() }.set_promotes_retired(promotes);
            let object = allocate();
            let (span, own) = (space.find_span(object).unwrap(), maker.buffer(shape).span());
            assert!(!space.heap().exists(span, object.get()), "the cursor is the maker's secret");
            let uses_up = || {
                while maker.buffer(shape).span() == own {
                    allocate();
                }
            };
            assert!(other.may_exist_beside(span, object.get(), uses_up), "promotes: {promotes}");
            assert_eq!(space.is_old(object), promotes);
            // SAFETY: nothing uses it.
            unsafe { other.free(object) }.unwrap();
        }
    }
}
