//! Large objects: each has pages of its own, and a span with one cell.

use crate::page_table::PageEntry;
use crate::refused::Refused;
use crate::shape::{ScanKind, ShapeId};
use crate::space::Space;
use crate::span::Span;
use core::ptr::NonNull;
use heapwood_pages::{PAGE_SIZE, PageCount};

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
        if (zeroed || kind != ScanKind::NoPointers) && !fresh {
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
}
