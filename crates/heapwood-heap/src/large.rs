//! Large objects: each has pages of its own, and a span with one cell. They are made in three steps, so that zeroing, which
//! may take long, can go on while a collection does. Of the largest perhaps little will ever be touched, so nothing here
//! touches them: memory that was in use before is given back instead of zeroed, and they do without huge pages, of which
//! one would be behind every page that is touched. Invariant: pages between the first step and the last are in use, in no
//! span, and counted as unfinished.

use crate::error::{NoRoom, SpaceError};
use crate::page_table::PageEntry;
use crate::shape::ScanKind;
use crate::shape_id::ShapeId;
use crate::space::Space;
use crate::span::Span;
use core::ptr::NonNull;
use heapwood_pages::{PAGE_SIZE, PageCount, PageIndex};

/// Pages that were taken for a large object and are not yet one.
#[must_use = "the pages are lost unless they become an object"]
pub struct LargePages<'s> {
    space: &'s Space,
    page: PageIndex,
    pages: PageCount,
    bytes: usize,
    shape: ShapeId,
    fresh: bool,
    zero: bool,
}

impl LargePages<'_> {
    /// How many bytes [`zero`](Self::zero) will write.
    pub fn bytes_to_zero(&self) -> usize {
        if self.zero { self.bytes } else { 0 }
    }

    /// Makes the pages zero, if that is wanted. They belong to no span yet, so this may go on while a collection does.
    pub fn zero(&self) {
        if self.zero && !self.space.empty_sparse(self.page, self.pages) {
            // SAFETY: the pages were taken for this, which alone knows them.
            unsafe { (self.space.address_of(self.page) as *mut u8).write_bytes(0, self.bytes) };
        }
    }

    /// Makes an object of the pages. No stop may be under way, or the object is not marked.
    pub fn finish(self) -> NonNull<u8> {
        let LargePages { space, page, pages, bytes, shape: id, fresh, .. } = self;
        let mut span = Span::new(space.address_of(page), pages, 0, bytes, id, fresh);
        let object = span.cells_start;
        span.set_frontier(span.cells_end);
        *span.swept_in.get_mut() = space.cycle();
        let kind = space.shape(id).kind();
        let mut central = space.central.lock();
        // SAFETY: the pages were free, so no one refers to this descriptor; it is committed.
        unsafe { space.span_ptr(page).write(span) };
        space.table.set_span(page, pages, kind, id);
        central.lists(space, id).full.push(space, page);
        central.unfinished = PageCount(central.unfinished.0 - pages.0);
        debug_assert!(space.table.get(page) == PageEntry::new(kind, id, 0));
        NonNull::new(object as *mut u8).expect("no page lies at address 0")
    }
}

impl Space {
    /// Allocates `bytes` in pages of their own. The memory is zero if the shape has pointers or `zeroed` asks for it.
    ///
    /// # Errors
    /// As [`take_large`](Self::take_large).
    ///
    /// # Panics
    /// As [`take_large`](Self::take_large).
    pub fn allocate_large(&self, id: ShapeId, bytes: usize, zeroed: bool) -> Result<NonNull<u8>, SpaceError> {
        let large = self.take_large(id, bytes, zeroed)?;
        large.zero();
        Ok(large.finish())
    }

    /// The first step of that: takes the pages. Zeroing them may take long, so the steps can be taken one by one:
    /// [`LargePages::zero`] at any time, [`LargePages::finish`] when no stop is under way.
    ///
    /// # Errors
    /// A collection is due, or there is no memory.
    ///
    /// # Panics
    /// The shape is another space's, or has a size class.
    pub fn take_large(&self, id: ShapeId, bytes: usize, zeroed: bool) -> Result<LargePages<'_>, SpaceError> {
        let (shape, bytes) = (self.shape(id), bytes.max(1));
        assert!(
            shape.class().is_none(),
            "objects of shape {} have cells, not pages of their own",
            id.index()
        );
        if bytes > self.window_bytes() {
            return Err(SpaceError::Window(NoRoom::new(bytes, self.window_bytes())));
        }
        let pages = PageCount(bytes.div_ceil(PAGE_SIZE));
        let charge = pages.0 * PAGE_SIZE;
        if self.central.lock().collection_due(charge) {
            return Err(SpaceError::CollectionDue);
        }
        let (page, fresh) = self.take_pages(None, pages)?;
        let mut central = self.central.lock();
        central.charge(charge, 0);
        central.unfinished = PageCount(central.unfinished.0 + pages.0);
        drop(central);
        self.stay_within_limit(pages);
        self.begin_sparse(page, pages);
        let zero = (zeroed || shape.kind() != ScanKind::NoPointers) && !fresh;
        Ok(LargePages { space: self, page, pages, bytes, shape: id, fresh, zero })
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
