//! The cells that a mutator has freed lately: for a few pages one bit a granule. Neighbours that were freed in any order come
//! back as one run, so a free writes nothing into its cell, and most allocations after it take the inlined path. mimalloc and
//! tcmalloc keep lists of cells instead; a run suits a buffer that bumps.
//!
//! Invariant: a cell with a bit here has its freed bit (`freed`), and is in no chain and in no other mutator's record. From the
//! next stop on it has its allocation bit, too, so that no sweep but one after a full collection reclaims it: so the record
//! lasts for a full cycle. A page that another takes the place of goes to the chain of its shape.

use super::runs::{for_each_word, run_of_bits};
use crate::granule::GRANULE;
use crate::layout::shape_id::ShapeId;
use crate::layout::size_class::SizeClass;
use crate::marks::PAGE_WORDS;
use core::cell::Cell;
use core::ops::Range;
use heapwood_os::memory::region::Zeroed;
use heapwood_pages::PageIndex;

/// The pages of a record: a thousand cells of 64 bytes are 8 pages, of 1 KiB 125.
const PAGES: usize = 128;
/// The largest cell that is recorded: 8 of them begin in a page.
pub(super) const MAX_CELL: usize = 1 << 10;

/// What a mutator has freed lately.
pub(crate) struct RecentlyFreed {
    pages: [FreedPage; PAGES],
    /// The full cycle that it is about.
    cycle: Cell<u32>,
    /// The page to which the last cell was added.
    last: Cell<u32>,
    /// One bit for 64 of the shapes in turn: those whose cells may be here.
    shapes: Cell<u64>,
    /// Whether a cell may be without its allocation bit.
    young: Cell<bool>,
}

// SAFETY: all-zero bytes are pages without a freed cell, of a cycle that never is the current one.
unsafe impl Zeroed for RecentlyFreed {}

/// A page of cells.
#[derive(Clone, Copy)]
pub(super) struct PageOfCells {
    pub(super) page: PageIndex,
    pub(super) shape: ShapeId,
    pub(super) class: SizeClass,
    /// The byte with which freed cells are filled.
    pub(super) fill: Option<u8>,
    /// The granule at which its first cell begins.
    pub(super) first: usize,
    /// One past the last at which one may begin.
    pub(super) end: usize,
}

/// The freed cells that begin in one page.
#[repr(C, align(16))]
pub(crate) struct FreedPage {
    page: Cell<u32>,
    /// The cycle in which all cells of its span existed, but for freed ones: it was used up in this cycle.
    whole_in: Cell<u32>,
    shape: Cell<u32>,
    cells: Cell<u32>,
    /// The cycle in which a cell was last freed here; a span keeps its pages that long.
    seen_in: Cell<u32>,
    class: Cell<u16>,
    cell_size: Cell<u16>,
    fill: Cell<Option<u8>>,
    bits: [Cell<u64>; PAGE_WORDS],
    /// The granules in which cells begin.
    starts: [Cell<u64>; PAGE_WORDS],
}

/// Adjacent freed cells.
pub(super) struct FreedRun {
    /// The page in which they begin.
    pub(super) page: PageIndex,
    /// Their granules in it. The last may end behind the page.
    pub(super) granules: Range<usize>,
    pub(super) cells: u32,
    /// Bits of their granules, by the words of the page.
    pub(super) bits: [u64; PAGE_WORDS],
}

impl RecentlyFreed {
    /// Forgets what was freed in an earlier full cycle: those are ordinary free cells, or will be.
    #[inline]
    fn begin(&self, cycle: u32) {
        if self.cycle.get() != cycle {
            self.forget(cycle);
        }
    }

    #[cold]
    fn forget(&self, cycle: u32) {
        self.cycle.set(cycle);
        self.shapes.set(0);
        self.young.set(false);
        self.pages.iter().for_each(FreedPage::clear);
    }

    /// The place of a page whose cells all exist, but for freed ones.
    #[inline(always)]
    pub(super) fn whole_page(&self, page: usize, cycle: u32) -> Option<&FreedPage> {
        let place = &self.pages[page % PAGES];
        // Any number may be asked about: only the whole of it tells a page of the heap.
        (place.page.get() as usize == page && place.whole_in.get() == cycle).then_some(place)
    }

    /// Adds a freed cell to the place of its page.
    #[inline(always)]
    pub(super) fn add_at(&self, place: &FreedPage, granule: usize) {
        place.add(granule);
        self.last.set((place.page.get() as usize % PAGES) as u32);
        self.shapes.set(self.shapes.get() | 1 << (place.shape.get() % 64));
        self.young.set(true);
    }

    /// Adds a freed cell of a page; false if the page has no place. Then [`RecentlyFreed::take_place`] makes one.
    #[inline]
    pub(super) fn add(&self, page: PageIndex, granule: usize, (cycle, full_cycle): (u32, u32)) -> bool {
        self.begin(full_cycle);
        let place = &self.pages[page.0 % PAGES];
        let is_known = place.cells.get() != 0 || place.seen_in.get() == cycle;
        if place.page.get() != page.0 as u32 || !is_known {
            return false;
        }
        place.seen_in.set(cycle);
        self.add_at(place, granule);
        true
    }

    /// Notes that all cells of the page's span exist in this cycle, but for freed ones.
    pub(super) fn note_whole(&self, page: PageIndex, cycle: u32) {
        let place = &self.pages[page.0 % PAGES];
        if place.page.get() == page.0 as u32 {
            place.whole_in.set(cycle);
        }
    }

    /// Gives a page its place. Calls `evict` with each run that was recorded there, and their shape.
    pub(super) fn take_place(&self, page: PageOfCells, cycle: u32, evict: impl FnMut(ShapeId, FreedRun)) {
        let place = &self.pages[page.page.0 % PAGES];
        place.take_all(evict);
        place.page.set(page.page.0 as u32);
        place.shape.set(page.shape.index() as u32);
        place.class.set(page.class.index() as u16);
        place.cell_size.set(page.class.cell_size() as u16);
        place.fill.set(page.fill);
        place.seen_in.set(cycle);
        place.whole_in.set(0);
        place.starts.iter().for_each(|word| word.set(0));
        for granule in (page.first..page.end).step_by(page.class.cell_size() / GRANULE) {
            let word = &place.starts[granule / 64];
            word.set(word.get() | 1 << (granule % 64));
        }
    }

    /// Whether cells of a shape may be here.
    #[inline]
    pub(super) fn may_have(&self, shape: ShapeId, cycle: u32) -> bool {
        self.begin(cycle);
        self.shapes.get() & bit_of(shape) != 0
    }

    /// Takes a run of cells of a shape; one cell if `single`.
    pub(super) fn take_run(&self, shape: ShapeId, single: bool, cycle: u32) -> Option<FreedRun> {
        if !self.may_have(shape, cycle) {
            return None;
        }
        let is_right =
            |place: &&FreedPage| place.cells.get() != 0 && place.shape.get() == shape.index() as u32;
        let (before, from_last) = self.pages.split_at(self.last.get() as usize);
        let Some(found) = from_last.iter().chain(before).find(is_right) else {
            self.find_shapes();
            return None;
        };
        self.last.set((found.page.get() as usize % PAGES) as u32);
        Some(found.take_first(single))
    }

    /// Looks anew of which shapes cells are here.
    fn find_shapes(&self) {
        let some = self.pages.iter().filter(|place| place.cells.get() != 0);
        self.shapes.set(some.fold(0, |shapes, place| shapes | bit_of(place.shape())));
    }

    /// Takes all runs, and forgets all pages.
    pub(super) fn take_all(&self, cycle: u32, mut f: impl FnMut(ShapeId, FreedRun)) {
        self.begin(cycle);
        for place in &self.pages {
            place.take_all(&mut f);
            place.end();
        }
        self.shapes.set(0);
    }

    /// Calls `f` with the pages and bits of all cells, if some may be without their allocation bits.
    pub(super) fn for_each_young(&self, cycle: u32, mut f: impl FnMut(PageIndex, [u64; PAGE_WORDS])) {
        self.begin(cycle);
        if self.young.replace(false) {
            let some = self.pages.iter().filter(|place| place.cells.get() != 0);
            some.for_each(|place| {
                f(PageIndex(place.page.get() as usize), place.bits.each_ref().map(Cell::get))
            });
        }
    }
}

#[inline]
fn bit_of(shape: ShapeId) -> u64 {
    1 << (shape.index() % 64)
}

impl FreedPage {
    fn clear(&self) {
        self.cells.set(0);
        self.bits.iter().for_each(|word| word.set(0));
        self.end();
    }

    /// The next free there looks at the page again.
    fn end(&self) {
        self.seen_in.set(0);
        self.whole_in.set(0);
    }

    /// Whether a cell begins at a granule.
    #[inline(always)]
    pub(super) fn has_start(&self, granule: usize) -> bool {
        self.starts[granule / 64 % PAGE_WORDS].get() >> (granule % 64) & 1 != 0
    }

    /// The shape of its cells.
    #[inline(always)]
    pub(super) fn shape(&self) -> ShapeId {
        ShapeId::from_index(self.shape.get())
    }

    /// The size of its cells.
    #[inline(always)]
    pub(super) fn cell_size(&self) -> usize {
        self.cell_size.get() as usize
    }

    /// The byte with which freed cells are filled.
    #[inline(always)]
    pub(super) fn fill(&self) -> Option<u8> {
        self.fill.get()
    }

    #[inline(always)]
    fn add(&self, granule: usize) {
        let (word, bit) = (&self.bits[granule / 64 % PAGE_WORDS], 1 << (granule % 64));
        // A program whose threads free an object twice may bring a cell again: it counts once.
        self.cells.set(self.cells.get() + u32::from(word.get() & bit == 0));
        word.set(word.get() | bit);
    }

    fn take_first(&self, single: bool) -> FreedRun {
        let class = SizeClass::new(self.class.get() as usize);
        let mut granules = run_of_bits(class, &self.bits.each_ref().map(Cell::get));
        let cell = class.cell_size() / GRANULE;
        if single {
            granules.end = granules.start + cell;
        }
        let (mut bits, mut cells) = ([0; PAGE_WORDS], 0);
        for_each_word(class, &granules, |index, starts| {
            let word = &self.bits[index];
            word.set(word.get() & !starts);
            bits[index] = starts;
            cells += starts.count_ones();
        });
        self.cells.set(self.cells.get() - cells);
        FreedRun { page: PageIndex(self.page.get() as usize), granules, cells, bits }
    }

    fn take_all(&self, mut f: impl FnMut(ShapeId, FreedRun)) {
        let shape = self.shape();
        while self.cells.get() != 0 {
            f(shape, self.take_first(false));
        }
    }
}
