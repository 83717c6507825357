//! Large objects: each has pages of its own, and a span with one cell. They are made in three steps, so that zeroing, which
//! may take long, can go on while a collection does. Of the largest perhaps little will ever be touched, so nothing here
//! touches them: memory that was in use before is given back instead of zeroed, and they do without huge pages, of which
//! one would be behind every page that is touched. Invariant: pages between the first step and the last are in use, in no
//! span, and counted as unfinished.

use crate::page_table::PageEntry;
use crate::refused::Refused;
use crate::shape::ScanKind;
use crate::shape_id::ShapeId;
use crate::space::Space;
use crate::span::Span;
use core::ptr::NonNull;
use heapwood_pages::{PAGE_SIZE, PageCount, PageIndex};

/// Pages that were taken for a large object and are not yet one.
#[must_use = "the pages are lost unless they become an object"]
pub struct LargePages {
    page: PageIndex,
    pages: PageCount,
    bytes: usize,
    shape: ShapeId,
    fresh: bool,
    zero: bool,
}

impl LargePages {
    /// How many bytes [`Space::zero_large`] will write.
    pub fn bytes_to_zero(&self) -> usize {
        if self.zero { self.bytes } else { 0 }
    }
}

impl Space {
    /// Allocates `bytes` (not 0) in pages of their own. The memory is zero if the shape has pointers or `zeroed`
    /// asks for it.
    pub fn allocate_large(&self, id: ShapeId, bytes: usize, zeroed: bool) -> Result<NonNull<u8>, Refused> {
        let large = self.take_large(id, bytes, zeroed)?;
        self.zero_large(&large);
        Ok(self.finish_large(large))
    }

    /// The first step of that: takes the pages. Zeroing them may take long, so the steps can be taken one by one:
    /// [`zero_large`](Self::zero_large) at any time, [`finish_large`](Self::finish_large) when no stop is under way.
    pub fn take_large(&self, id: ShapeId, bytes: usize, zeroed: bool) -> Result<LargePages, Refused> {
        let too_large = Refused::Window { bytes, window: self.window_bytes() };
        if bytes > self.window_bytes() {
            return Err(too_large);
        }
        let kind = self.shape(id).kind();
        let pages = PageCount(bytes.div_ceil(PAGE_SIZE));
        let charge = pages.0 * PAGE_SIZE;
        if self.central.lock().collection_due(charge) {
            return Err(Refused::CollectionDue);
        }
        let (page, fresh) = self.take_pages(None, pages)?;
        let mut central = self.central.lock();
        central.charge(charge, 0);
        central.unfinished = PageCount(central.unfinished.0 + pages.0);
        drop(central);
        self.stay_within_limit(pages);
        self.begin_sparse(page, pages);
        let zero = (zeroed || kind != ScanKind::NoPointers) && !fresh;
        Ok(LargePages { page, pages, bytes, shape: id, fresh, zero })
    }

    /// Makes the pages zero, if that is wanted. They belong to no span yet, so this may go on while a collection does.
    pub fn zero_large(&self, large: &LargePages) {
        if large.zero && !self.empty_sparse(large.page, large.pages) {
            // SAFETY: the pages were taken by the caller of `take_large`, which alone knows them.
            unsafe { (self.address_of(large.page) as *mut u8).write_bytes(0, large.bytes) };
        }
    }

    /// Makes an object of the pages.
    pub fn finish_large(&self, large: LargePages) -> NonNull<u8> {
        let LargePages { page, pages, bytes, shape: id, fresh, .. } = large;
        let mut span = Span::new(self.address_of(page), pages, 0, bytes, id, fresh);
        let object = span.cells_start;
        span.set_frontier(span.cells_end);
        *span.swept_in.get_mut() = self.cycle();
        let kind = self.shape(id).kind();
        let mut central = self.central.lock();
        // SAFETY: the pages were free, so no one refers to this descriptor; it is committed.
        unsafe { self.span_ptr(page).write(span) };
        self.table.set_span(page, pages, kind, id);
        central.lists(self, id).full.push(self, page);
        central.unfinished = PageCount(central.unfinished.0 - pages.0);
        debug_assert!(self.table.get(page) == PageEntry::new(kind, id, 0));
        NonNull::new(object as *mut u8).expect("no page lies at address 0")
    }

    /// Objects from here on may be sparse.
    const SPARSE: PageCount = PageCount::from_bytes(1 << 30);

    fn bytes_of(pages_from: PageIndex, count: PageCount) -> core::ops::Range<usize> {
        pages_from.byte_offset()..pages_from.byte_offset() + count.bytes()
    }

    /// The pages belong to an object now that may be sparse.
    fn begin_sparse(&self, first: PageIndex, count: PageCount) {
        if count >= Self::SPARSE && self.huge_pages {
            self.memory.advise_small(Self::bytes_of(first, count));
        }
    }

    /// Makes the pages of an object that may be sparse zero without touching them; false if they must be written.
    fn empty_sparse(&self, first: PageIndex, count: PageCount) -> bool {
        // SAFETY: the pages were just taken by the caller, so they are committed and nobody needs what is in them.
        count >= Self::SPARSE && unsafe { self.memory.decommit(Self::bytes_of(first, count)) }.is_ok()
    }

    /// The object that had the pages is dead.
    pub(crate) fn end_sparse(&self, first: PageIndex, count: PageCount) {
        if count >= Self::SPARSE && self.prefers_huge_pages() {
            self.memory.advise_huge(Self::bytes_of(first, count));
        }
    }
}
