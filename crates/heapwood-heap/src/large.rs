//! Large objects: each has pages of its own, and a span with one cell. Of the largest perhaps little will ever be
//! touched, so nothing here touches them: memory that was in use before is given back instead of zeroed, and they do
//! without huge pages, of which one would be behind every page that is touched.

use crate::page_table::PageEntry;
use crate::refused::Refused;
use crate::shape::ScanKind;
use crate::shape_id::ShapeId;
use crate::space::Space;
use crate::span::Span;
use core::ptr::NonNull;
use heapwood_pages::{PAGE_SIZE, PageCount, PageIndex};

impl Space {
    /// Allocates `bytes` (not 0) in pages of their own. The memory is zero if the shape has pointers or `zeroed`
    /// asks for it.
    pub fn allocate_large(&self, id: ShapeId, bytes: usize, zeroed: bool) -> Result<NonNull<u8>, Refused> {
        let too_large = Refused::Window { bytes, window: self.window_bytes() };
        if bytes > self.window_bytes() {
            return Err(too_large);
        }
        let kind = self.shape(id).kind();
        let pages = PageCount(bytes.div_ceil(PAGE_SIZE));
        let (page, fresh) = {
            let mut central = self.central.lock();
            if central.collection_due(pages.0 * PAGE_SIZE) {
                return Err(Refused::CollectionDue);
            }
            let taken = self.take_pages(&mut central, None, pages)?;
            central.charge(pages.0 * PAGE_SIZE);
            taken
        };
        self.stay_within_limit(pages);
        let mut span = Span::new(self.address_of(page), pages, 0, bytes, id, fresh);
        let object = span.cells_start;
        self.begin_sparse(page, pages);
        if (zeroed || kind != ScanKind::NoPointers) && !fresh && !self.empty_sparse(page, pages) {
            // SAFETY: the pages were just taken by this thread; nobody else knows them.
            unsafe { (object as *mut u8).write_bytes(0, bytes) };
        }
        span.set_frontier(span.cells_end);
        *span.swept_in.get_mut() = self.cycle();
        let mut central = self.central.lock();
        // SAFETY: the pages were free, so no one refers to this descriptor; it is committed.
        unsafe { self.span_ptr(page).write(span) };
        self.table.set_span(page, pages, kind, id);
        self.push_swept(&mut central, page);
        debug_assert!(self.table.get(page) == PageEntry::new(kind, id, 0));
        NonNull::new(object as *mut u8).ok_or(too_large)
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
        if count >= Self::SPARSE && self.huge_pages {
            self.memory.advise_huge(Self::bytes_of(first, count));
        }
    }
}
