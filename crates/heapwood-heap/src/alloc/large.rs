//! Large objects: each has pages of its own, and a span with one cell. They are made in three steps, so that zeroing, which
//! may take long, can go on while a collection does. Of the largest perhaps little will ever be touched, so nothing here
//! touches them: memory that was in use before is given back instead of zeroed, and they do without huge pages, of which
//! one would be behind every page that is touched. Invariant: pages between the first step and the last are in use, in no
//! span, and counted as unfinished.

use crate::error::SpaceError;
use crate::layout::shape::{ScanKind, Shape};
use crate::layout::shape_id::ShapeId;
use crate::pages::page_heap::PageHeap;
use crate::reclaim::sweeper::Sweeper;
use crate::spans::span::Span;
use core::ptr::NonNull;
use heapwood_pages::{PAGE_SIZE, PageCount, PageRun};

/// Pages that were taken for a large object and are not yet one.
#[must_use = "the pages are lost unless they become an object"]
pub struct LargePages<'s> {
    sweeper: &'s Sweeper,
    run: PageRun,
    bytes: usize,
    shape: ShapeId,
    kind: ScanKind,
    zero: bool,
}

impl<'s> LargePages<'s> {
    /// Takes pages for an object of `bytes` bytes, zero if its shape has pointers or `zeroed` asks for it.
    pub(crate) fn take(
        sweeper: &'s Sweeper,
        (id, shape): (ShapeId, &Shape),
        bytes: usize,
        zeroed: bool,
    ) -> Result<Self, SpaceError> {
        assert!(
            shape.class().is_none(),
            "objects of shape {} have cells, not pages of their own",
            id.index()
        );
        let (heap, bytes) = (sweeper.heap(), bytes.max(1));
        if bytes > heap.window_bytes() {
            return Err(heap.no_room(bytes));
        }
        let pages = PageCount(bytes.div_ceil(PAGE_SIZE));
        if !sweeper.lock_for_large().begin_large(pages) {
            return Err(SpaceError::CollectionDue);
        }
        let taken = sweeper.take_pages(None, pages);
        let run = taken.inspect_err(|_| sweeper.lock_for_large().give_up_large(pages))?;
        heap.stay_within_limit(pages);
        heap.memory().begin_sparse(run.first, pages);
        let large = LargePages { sweeper, run, bytes, shape: id, kind: shape.kind(), zero: false };
        let zero = (zeroed || large.kind != ScanKind::NoPointers) && !large.is_fresh();
        Ok(LargePages { zero, ..large })
    }

    fn heap(&self) -> &'s PageHeap {
        self.sweeper.heap()
    }

    /// Whether none of them is resident, so that they read as zeros.
    fn is_fresh(&self) -> bool {
        self.run.scavenged == self.run.count
    }

    /// How many bytes [`zero`](Self::zero) will write.
    pub fn bytes_to_zero(&self) -> usize {
        if self.zero { self.bytes } else { 0 }
    }

    /// Makes the pages zero, if that is wanted. They belong to no span yet, so this may go on while a collection does.
    pub fn zero(&self) {
        let (first, count) = (self.run.first, self.run.count);
        // SAFETY: the pages were taken for this, which alone knows them.
        if self.zero && !unsafe { self.heap().memory().empty_sparse(first, count) } {
            let start = self.heap().spans().address_of(first) as *mut u8;
            // SAFETY: as above.
            unsafe { start.write_bytes(0, self.bytes) };
        }
    }

    /// Makes an object of the pages. No stop may be under way, or the object is not marked.
    pub fn finish(self) -> NonNull<u8> {
        let (spans, first, cycle) = (self.heap().spans(), self.run.first, self.heap().marks().cycle());
        let start = spans.address_of(first);
        let span = Span::of_object(start, self.run.count, self.bytes, self.shape, (cycle, self.is_fresh()));
        // SAFETY: the pages were taken for this, and the kind is the shape's.
        unsafe { spans.add(first, span, self.kind) };
        spans.large().add(first);
        self.sweeper.lock_for_large().finish_large(self.run.count);
        NonNull::new(start as *mut u8).expect("no page lies at address 0")
    }
}
