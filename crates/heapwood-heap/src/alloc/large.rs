//! Large objects: each has pages of its own, and a span with one cell. They are made in three steps, so that a long
//! zeroing can go on during a collection. The program may touch little of a very large object, so nothing here touches
//! its pages: memory that was in use is released instead of zeroed, and gets no huge pages, since each touched page
//! would then cost a whole huge page.
//!
//! A mutator takes large objects on credit, in its cached pages, so most need no lock. When the credit is used up, it
//! settles its account under the central lock, where it learns whether a collection is due. Invariants: pages between
//! the first step and the last are in use, in no span, and counted as unfinished if a stop may come between. The
//! credits of all mutators together are about the remaining budget, apart from threads in their first cycle: each
//! mutator gets its part.

use super::owner::Owner;
use crate::error::SpaceError;
use crate::layout::shape::{ScanKind, Shape};
use crate::layout::shape_id::ShapeId;
use crate::pages::page_blocks::CacheTarget;
use crate::pages::page_heap::PageHeap;
use crate::policy::refill;
use crate::publication;
use crate::reclaim::budget::Account;
use crate::reclaim::central::Central;
use crate::reclaim::sweeper::Sweeper;
use crate::space::Space;
use crate::spans::span::Span;
use crate::spans::young_pages::epoch_of;
use core::ptr::NonNull;
use heapwood_pages::{PAGE_SIZE, PageCount, PageIndex, PageRun};

/// Pages taken for a large object that does not exist yet.
#[must_use = "the pages are lost unless they become an object"]
pub struct LargePages<'s> {
    sweeper: &'s Sweeper,
    run: PageRun,
    bytes: usize,
    shape: ShapeId,
    kind: ScanKind,
    zero: bool,
}

impl<'m> Owner<'m> {
    /// Takes pages for an object of `bytes` bytes, the first step. [`LargePages::zero`] is the second; it may take
    /// long, and can go on during a collection. [`LargePages::finish`] makes the object, when no stop is under way. The
    /// pages are zero if the shape has pointers or `zeroed` asks for it. If there is nothing to zero, no stop may come
    /// between the steps.
    ///
    /// # Errors
    /// A collection is due, or there is no memory.
    ///
    /// # Panics
    /// The shape is another space's, or has a size class.
    pub fn take_large(&self, id: ShapeId, bytes: usize, zeroed: bool) -> Result<LargePages<'m>, SpaceError> {
        let (shape, cache, sweeper) = (self.space.shapes.shape(id), self.cache, self.sweeper());
        let pages = pages_for(&sweeper.heap, (id, shape), bytes)?;
        if cache.large_credit() < pages.bytes() {
            self.refill_large_credit(pages)?;
        }
        let run = match cache.pages.take_long(pages) {
            Some(run) => run,
            None => self.take_long_pages(pages)?,
        };
        cache.charge_large(pages.bytes());
        // The next large object is likely to follow this one.
        self.heap().spans.prefetch(PageIndex(run.first.0 + pages.0));
        Ok(LargePages::new(sweeper, run, (id, shape), bytes, zeroed))
    }

    /// Settles the account, and gets credit for at least `pages`.
    #[cold]
    fn refill_large_credit(&self, pages: PageCount) -> Result<(), SpaceError> {
        let mut central = self.sweeper().lock_for_large();
        self.announce(&mut central);
        central.budget.check(pages.bytes())?;
        self.cache.set_share(central.budget.share(), self.cache.credit());
        self.cache.set_large_credit(self.large_credit(&central).max(pages.bytes()));
        Ok(())
    }

    /// The credit after a refill. Under a limit there is none: each large object is counted at once, like every page.
    pub(super) fn large_credit(&self, central: &Central<'_>) -> usize {
        if self.heap().is_limited() { 0 } else { central.budget.large_credit() }
    }

    /// Takes pages, and caches pages that follow them, up to half of the room in its share.
    #[cold]
    fn take_long_pages(&self, pages: PageCount) -> Result<PageRun, SpaceError> {
        let held = self.cache.held_bytes() - self.cache.pages.long_pages().bytes();
        let room = PageCount::from_bytes(self.cache.share().saturating_sub(held) / 2);
        let most = refill::pages_behind_large(room, pages);
        self.cache.note_large_page_lock();
        self.take_and_cache_pages(CacheTarget::Long(&self.cache.pages, most), pages)
    }
}

impl Space {
    /// Takes pages for a large object as [`Owner::take_large`] does, without a mutator, and charges them at once.
    ///
    /// # Errors
    /// A collection is due, or there is no memory.
    ///
    /// # Panics
    /// The shape is another space's, or has a size class.
    pub fn take_large(&self, id: ShapeId, bytes: usize, zeroed: bool) -> Result<LargePages<'_>, SpaceError> {
        let (shape, sweeper) = (self.shapes.shape(id), &self.sweeper);
        let pages = pages_for(&sweeper.heap, (id, shape), bytes)?;
        sweeper.lock_for_large().budget.check(pages.bytes())?;
        let run = sweeper.heap.take_pages(sweeper, CacheTarget::Uncached, pages)?;
        let charge = Account { owed: pages.bytes(), large: pages.bytes(), ..Account::default() };
        sweeper.lock_for_large().budget.settle(charge);
        Ok(LargePages::new(sweeper, run, (id, shape), bytes, zeroed))
    }
}

/// The pages that an object of a shape needs.
fn pages_for(heap: &PageHeap, (id, shape): (ShapeId, &Shape), bytes: usize) -> Result<PageCount, SpaceError> {
    assert!(shape.class().is_none(), "objects of shape {} have cells, not pages of their own", id.index());
    if bytes > heap.reservation_bytes() {
        return Err(heap.no_room(bytes));
    }
    Ok(PageCount(bytes.max(1).div_ceil(PAGE_SIZE)))
}

impl<'s> LargePages<'s> {
    #[inline]
    fn new(
        sweeper: &'s Sweeper,
        run: PageRun,
        (shape, of): (ShapeId, &Shape),
        bytes: usize,
        zeroed: bool,
    ) -> Self {
        let (heap, kind) = (&sweeper.heap, of.kind());
        heap.memory.begin_sparse(run.first, run.count);
        // Pages that are not resident read as zeros.
        let zero = (zeroed || kind != ScanKind::NoPointers) && run.scavenged != run.count;
        if zero {
            sweeper.lock_for_large().begin_large(run.count);
        }
        LargePages { sweeper, run, bytes: bytes.max(1), shape, kind, zero }
    }

    fn heap(&self) -> &'s PageHeap {
        &self.sweeper.heap
    }

    /// The bytes that [`zero`](Self::zero) will write.
    pub fn bytes_to_zero(&self) -> usize {
        if self.zero { self.bytes } else { 0 }
    }

    /// Zeroes the pages, if needed. They belong to no span yet, so this may go on during a collection.
    pub fn zero(&self) {
        let (first, count) = (self.run.first, self.run.count);
        // SAFETY: the pages were taken for this object, and nothing else refers to them.
        if self.zero && !unsafe { self.heap().memory.empty_sparse(first, count) } {
            let start = self.heap().spans.address_of(first) as *mut u8;
            // SAFETY: as above.
            unsafe { start.write_bytes(0, self.bytes) };
        }
    }

    /// Makes the pages an object. No stop may be under way, or the object is not marked.
    pub fn finish(self) -> NonNull<u8> {
        let (spans, first, cycle) = (&self.heap().spans, self.run.first, self.heap().marks.cycle());
        let (start, fresh) = (spans.address_of(first), self.run.scavenged == self.run.count);
        let span = Span::of_object(start, self.run.count, self.bytes, self.shape, (cycle, fresh));
        // SAFETY: the pages were taken for this, and the kind is the shape's.
        unsafe { spans.add(first, span, self.kind) };
        spans.young_pages().set(first, self.run.count, epoch_of(cycle));
        spans.large().add_new(first);
        if self.zero {
            self.sweeper.lock_for_large().finish_large(self.run.count);
        }
        publication::publish();
        NonNull::new(start as *mut u8).expect("no page lies at address 0")
    }
}
