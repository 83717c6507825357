//! Objects that the program frees itself. Freeing a small object sets a bit of its cell: from then on the cell is no
//! object, and a second free is an error. The cell waits with the mutator that freed it until its shape needs one: first in
//! the record of what was freed lately (`recently_freed`), from which adjacent cells come back as one run, then in a chain,
//! which many cells leave for one of all mutators. A free thus touches no state of other mutators, even if the cell lies in
//! their span. The pages of a large object return at once. Invariant: a cell is in the record or in one chain once, and only
//! the thread that clears its bit uses it.

use super::owner::Owner;
use super::recently_freed::{FreedRun, MAX_CELL, PageOfCells};
use crate::address::{Address, ObjectRef};
use crate::config::CLOBBER;
use crate::error::Refusal;
use crate::granule::GRANULE;
use crate::layout::shape::ScanKind;
use crate::layout::shape_id::ShapeId;
use crate::marks::{Marks, PAGE_WORDS};
use crate::policy::refill;
use crate::spans::span::Span;
use heapwood_pages::{PAGE_SIZE, PageIndex};

/// Cells up to this size are filled by a loop of a few stores.
const MAX_LOOP: usize = 128;

/// The span of an object that the program frees.
#[derive(Clone, Copy)]
struct Place<'h> {
    span: &'h Span,
    kind: Option<ScanKind>,
    /// It lies in the fresh range of its span: so the span was swept in this cycle, and then allocated from.
    is_in_fresh_range: bool,
}

impl<'m> Owner<'m> {
    /// Frees an object: its memory may be reused at once. With `alone` no other mutator exists, so that none can free or
    /// reuse a cell at the same time.
    ///
    /// # Errors
    /// There is no object, or not its first byte, or it was freed before.
    ///
    /// # Safety
    /// 1. Nothing reads or writes the object afterwards: no slot that a collection reads holds its address.
    /// 2. `alone` is true only if this is so until the function returns.
    #[inline(always)]
    pub unsafe fn free(&self, object: Address, alone: bool) -> Result<(), Refusal> {
        if self.free_in_whole_page(object.get(), alone) {
            return Ok(());
        }
        self.free_elsewhere(object, alone)
    }

    /// Frees an object in a page that the record has, and all of whose cells exist, but for freed ones: most are. False if it is
    /// no such one.
    #[inline(always)]
    fn free_in_whole_page(&self, object: usize, alone: bool) -> bool {
        let heap = self.heap();
        let Some(recent) = self.cache.recently_freed() else { return false };
        let offset = object.wrapping_sub(heap.spans.base());
        let granule = offset / GRANULE % (PAGE_SIZE / GRANULE);
        let Some(place) = recent.whole_page(offset / PAGE_SIZE, self.cycle()) else { return false };
        if !offset.is_multiple_of(GRANULE) || !place.has_start(granule) {
            return false;
        }
        if self.buffer(place.shape()).has_in_freed_run(object) {
            return false;
        }
        let is_first = if alone { heap.freed.set_alone(object) } else { heap.freed.set(object) };
        if !is_first {
            return false;
        }
        let size = place.cell_size();
        if let Some(byte) = place.fill() {
            // SAFETY: the cell is no object any more.
            unsafe { fill(object, byte, size) };
        }
        self.cache.note_freed(size);
        recent.add_at(place, granule);
        true
    }

    #[inline(never)]
    fn free_elsewhere(&self, object: Address, alone: bool) -> Result<(), Refusal> {
        match self.usual_place(object.get()) {
            Some(place) if self.free_usual(place, object.get(), alone) => Ok(()),
            Some(_) => Err(Refusal::FreedTwice { address: object }),
            None => self.free_unusual(object),
        }
    }

    /// The place of an object, unless that is an unusual one: large, rare, in an arena, or the first that is freed; or there is
    /// none.
    fn usual_place(&self, object: usize) -> Option<Place<'m>> {
        let heap = self.heap();
        if !heap.freed.are_in_use() {
            return None;
        }
        let (page, entry, span) = heap.spans.find_with_entry(Address::new(object))?;
        let (shape, size) = (entry.shape(), span.cell_size() as usize);
        let is_rare = shape.is_shared_or_arena() || shape == ShapeId::EPHEMERON;
        if is_rare || size.wrapping_sub(1) >= MAX_CELL {
            return None;
        }
        if span.cell_in(Address::new(object)) != Some(Address::new(object)) {
            return None;
        }
        let buffer = self.buffer(shape);
        let is_in_fresh_range = self.is_in_fresh_range(span, page, object);
        let exists = is_in_fresh_range || heap.marks.is_allocated(object);
        let kind = entry.kind();
        (exists && !buffer.has_in_freed_run(object)).then_some(Place { span, kind, is_in_fresh_range })
    }

    /// Whether a cell lies in the fresh range of its span, which begins at `page`. Of its own span this mutator knows the
    /// cursor; the frontier may lag behind. For a span that another mutator allocates from, only that mutator knows the cursor:
    /// any cell from the start of the fresh range on may hold an object.
    #[inline(always)]
    fn is_in_fresh_range(&self, span: &Span, page: PageIndex, cell: usize) -> bool {
        if !span.is_swept_in(self.cycle()) {
            return false;
        }
        let buffer = self.buffer(span.shape());
        match buffer.span() == Some(page) {
            true => span.is_above_fresh_range_start(cell) && cell < buffer.cursor(),
            false if span.is_held() => span.is_above_fresh_range_start(cell),
            false => span.is_in_fresh_range(cell),
        }
    }

    #[cold]
    #[inline(never)]
    fn free_unusual(&self, object: Address) -> Result<(), Refusal> {
        let place = self.place_to_free_from(object)?;
        self.heap().freed.note();
        if place.span.cell_size() == 0 {
            return self.free_large(object);
        }
        self.begin_freeing()?;
        let is_usual = place.span.cell_size() as usize <= MAX_CELL && !place.span.shape().is_shared();
        let is_first = match is_usual {
            true => self.free_usual(place, object.get(), false),
            false => self.free_and_chain(place, object.get()),
        };
        if is_first { Ok(()) } else { Err(Refusal::FreedTwice { address: object }) }
    }

    #[cold]
    fn free_large(&self, object: Address) -> Result<(), Refusal> {
        if self.heap().freed.is_freed(object.get()) {
            // Its pages wait for a full collection.
            return Err(Refusal::FreedTwice { address: object });
        }
        match self.sweeper().free_large(self.heap().spans.page_of(object.get())) {
            Some(pages) => {
                // At once: a thread that frees only large objects may not refill for long.
                self.cache.note_freed(pages.bytes());
                self.announce(&mut self.sweeper().lock());
                Ok(())
            }
            None => Err(Refusal::FreedTwice { address: object }),
        }
    }

    /// Checks that an object begins there, which may have been freed before.
    ///
    /// # Errors
    /// There is no object, or not its first byte.
    pub fn check_free(&self, object: Address) -> Result<(), Refusal> {
        self.place_to_free_from(object).map(|_| ())
    }

    /// Frees an object during a full marking that may have to scan it. It is no object any more, but its memory stays
    /// as it is until the end of the marking [forgets](crate::Stopped::forget_freed) it.
    ///
    /// # Errors
    /// As [`free`](Owner::free).
    pub fn free_later(&self, object: Address) -> Result<(), Refusal> {
        let freed = &self.heap().freed;
        self.place_to_free_from(object)?;
        freed.note();
        self.begin_freeing()?;
        if freed.set(object.get()) { Ok(()) } else { Err(Refusal::FreedTwice { address: object }) }
    }

    /// Frees an object whose memory nobody is to have until a full collection [lets it go](crate::Stopped::for_each_dead); returns its
    /// bytes. It is filled now if nothing has to `read` it any more.
    ///
    /// # Errors
    /// As [`free`](Owner::free).
    ///
    /// # Safety
    /// 1. As for [`free`](Owner::free); but with `read` a marking may read the object until it ends.
    pub unsafe fn free_and_keep(&self, object: Address, read: bool) -> Result<usize, Refusal> {
        let (heap, place) = (self.heap(), self.place_to_free_from(object)?);
        heap.freed.note();
        if !heap.freed.set(object.get()) {
            return Err(Refusal::FreedTwice { address: object });
        }
        if !heap.marks.is_allocated(object.get()) {
            // SAFETY: the bit that was set just now makes the cell this thread's, as in `free_and_chain`.
            unsafe { heap.marks.set_allocated(object.get()) };
        }
        if !read {
            // SAFETY: contract 1.
            unsafe { (object.get() as *mut u8).write_bytes(CLOBBER, place.span.object_bytes()) };
        }
        Ok(place.span.object_bytes())
    }

    /// The place of an object that the program frees, which may have been freed before.
    fn place_to_free_from(&self, object: Address) -> Result<Place<'m>, Refusal> {
        let nothing = Refusal::NoObject { address: object };
        let (page, entry, span) = self.heap().spans.find_with_entry(object).ok_or(nothing)?;
        let kind = entry.kind();
        if kind == Some(ScanKind::Arena) {
            return Err(self.in_arena(object));
        }
        if kind == Some(ScanKind::Ephemeron) {
            return Err(Refusal::Ephemeron { address: object });
        }
        let base = span.cell_in(object).filter(|base| *base <= object).ok_or(nothing)?;
        let is_in_fresh_range = self.is_in_fresh_range(span, page, base.get());
        if !is_in_fresh_range && !self.is_old_or_freed(span, base.get()) {
            return Err(nothing);
        }
        if base != object {
            return Err(Refusal::Inside { address: object, object: ObjectRef::new(base.get()) });
        }
        if self.buffer(span.shape()).has_in_freed_run(base.get()) {
            return Err(Refusal::FreedTwice { address: object });
        }
        Ok(Place { span, kind, is_in_fresh_range })
    }

    fn is_old_or_freed(&self, span: &Span, cell: usize) -> bool {
        self.heap().exists(span, cell) || self.heap().freed.is_freed(cell)
    }

    #[cold]
    fn in_arena(&self, object: Address) -> Refusal {
        match self.space.arenas().find(object) {
            Some(place) => Refusal::InArena { address: object, arena: place.arena },
            None => Refusal::NoObject { address: object },
        }
    }

    #[inline]
    fn begin_freeing(&self) -> Result<(), Refusal> {
        if !self.heap().freed.are_in_use() {
            self.heap().begin_freeing(self.sweeper().lock().growth())?;
        }
        Ok(())
    }

    /// Frees a cell that the record of what was freed lately takes; false if it was freed before.
    fn free_usual(&self, place: Place<'_>, cell: usize, alone: bool) -> bool {
        let freed = &self.heap().freed;
        // No sweep changes a word of a span that was allocated from in this cycle.
        let is_first = if alone && place.is_in_fresh_range { freed.set_alone(cell) } else { freed.set(cell) };
        if !is_first {
            return false;
        }
        self.fill_freed(place, cell);
        let (spans, recent, span) = (&self.heap().spans, self.cache.begin_recently_freed(), place.span);
        let (page, cycles) = (spans.page_of(cell), (self.cycle(), self.full_cycle()));
        let granule = (cell - spans.address_of(page)) / GRANULE;
        if !recent.add(page, granule, cycles) {
            self.record_page(page, place);
            recent.add(page, granule, cycles);
        }
        if place.is_in_fresh_range && !span.is_held() && span.frontier() == span.cells_end() {
            let is_whole = span.fresh_range_start() == span.cells_start();
            if is_whole {
                recent.note_whole(page, self.cycle());
            }
        }
        true
    }

    /// The same for another cell, which goes to the chain of its shape.
    fn free_and_chain(&self, place: Place<'_>, cell: usize) -> bool {
        let (heap, id) = (self.heap(), place.span.shape());
        if !heap.freed.set(cell) {
            return false;
        }
        if !heap.marks.is_allocated(cell) {
            // SAFETY: the bit that was set just now makes the cell this thread's. A marker beside the program that sees the
            // allocation bit sees that one, too.
            unsafe { heap.marks.set_allocated(cell) };
        }
        self.fill_freed(place, cell);
        self.chain(id, cell, 1);
        self.return_if_many(id);
        true
    }

    /// Fills a cell that was freed just now, and notes its bytes.
    fn fill_freed(&self, Place { span, kind, .. }: Place<'_>, cell: usize) {
        let bytes = span.cell_size() as usize;
        // A marking that reaches the cell, from an object that only a dangling word keeps alive, must find zeros where
        // pointers may be. The next object needs them, too.
        if kind != Some(ScanKind::NoPointers) {
            // SAFETY: the cell is no object any more.
            unsafe { fill(cell, 0, bytes) };
        } else if self.sweeper().clobber {
            // SAFETY: as above.
            unsafe { fill(cell, CLOBBER, bytes) };
        }
        self.cache.note_freed(bytes);
    }

    /// Gives a page a place in the record of what was freed lately.
    #[cold]
    fn record_page(&self, page: PageIndex, Place { span, kind, .. }: Place<'_>) {
        let (shape, start) = (span.shape(), self.heap().spans.address_of(page));
        let class = self.small_shape(shape).size_class();
        let fill = match kind {
            Some(ScanKind::NoPointers) => self.sweeper().clobber.then_some(CLOBBER),
            _ => Some(0),
        };
        // Cells of a span of several pages may begin in one and end in the next.
        let before = start.saturating_sub(span.cells_start());
        let first = span.cells_start() + before.next_multiple_of(class.cell_size());
        let end = span.cells_end().min(start + PAGE_SIZE);
        let (first, end) = ((first - start) / GRANULE, (end - start) / GRANULE);
        let mut evicted = None;
        let page = PageOfCells { page, shape, class, fill, first, end };
        self.cache.begin_recently_freed().take_place(page, self.cycle(), |shape, run| {
            self.chain_run(shape, run);
            evicted = Some(shape);
        });
        self.cache.activate(shape);
        evicted.into_iter().for_each(|shape| self.return_if_many(shape));
    }

    /// Adds a run of freed cells to the chain of its shape. They count as old from now on, so only a sweep after a full
    /// collection reclaims them; until then they are in the chain.
    fn chain_run(&self, id: ShapeId, run: FreedRun) {
        self.make_old(run.page, run.bits);
        let start = self.heap().spans.address_of(run.page) + run.granules.start * GRANULE;
        self.chain(id, start, run.cells);
    }

    fn chain(&self, id: ShapeId, start: usize, cells: u32) {
        let (cached, cycle) = (self.cache.cached(id), self.full_cycle());
        let mut chain = cached.freed.get();
        // SAFETY: the bits were set, and only this thread has the cells.
        unsafe { chain.push(start, cells, cycle) };
        cached.freed.set(chain);
        self.cache.activate(id);
    }

    /// Gives freed cells of a page, which are this thread's, their allocation bits.
    fn make_old(&self, page: PageIndex, bits: [u64; PAGE_WORDS]) {
        let (marks, start) = (&self.heap().marks, self.heap().spans.address_of(page));
        for (index, bits) in bits.into_iter().enumerate().filter(|(_, bits)| *bits != 0) {
            let word = start + index * Marks::WORD_BYTES;
            if marks.allocated_word(word) & bits != bits {
                // SAFETY: their freed bits make the cells this thread's, and were set before.
                unsafe { marks.set_allocated_word(word, bits) };
            }
        }
    }

    /// Gives the cells that were freed lately their allocation bits: a collection is about to begin.
    pub(super) fn make_freed_old(&self) {
        if let Some(recent) = self.cache.recently_freed() {
            recent.for_each_young(self.full_cycle(), |page, bits| self.make_old(page, bits));
        }
    }

    /// Moves what was freed lately to the chains, whose shapes are active then. Another thread may get this mutator, so nothing
    /// stays that leads it to a page.
    pub(super) fn chain_recently_freed(&self) {
        if let Some(recent) = self.cache.recently_freed() {
            recent.take_all(self.full_cycle(), |shape, run| self.chain_run(shape, run));
        }
    }

    fn return_if_many(&self, id: ShapeId) {
        let chain = self.cache.cached(id).freed.get();
        if refill::returns_freed(chain.len(self.full_cycle()), false) {
            let mut central = self.sweeper().lock();
            self.announce(&mut central);
            self.return_used_spans(&mut central, id);
        }
    }
}

/// Fills a cell of `bytes` bytes, a multiple of a granule.
///
/// # Safety
/// 1. The cell is the calling thread's.
#[inline]
unsafe fn fill(cell: usize, byte: u8, bytes: usize) {
    if bytes > MAX_LOOP {
        // SAFETY: contract 1.
        return unsafe { (cell as *mut u8).write_bytes(byte, bytes) };
    }
    let granule = u128::from_ne_bytes([byte; GRANULE]);
    for at in (cell..cell + bytes).step_by(GRANULE) {
        // SAFETY: contract 1; cells begin at granules.
        unsafe { (at as *mut u128).write(granule) };
    }
}
