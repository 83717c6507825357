//! The queries of a write barrier at each store: whether all objects in a slot's page are young, and whether a value is
//! old. Both shift addresses and read tables whose pointers are valid until the next collection ends, so a mutator
//! keeps a copy of the view. Invariant: a view is used only in the cycle in which it was made.

use crate::granule::GRANULE_LOG;
use crate::spans::young_pages::{EPOCH, IN_ARENA};
use core::sync::atomic::{AtomicU8, Ordering};
use heapwood_os::threads::watched::AtomicU64;
use heapwood_pages::PAGE_SIZE;

/// A view of the young pages and old objects.
#[derive(Clone, Copy)]
pub struct YoungPagesView {
    pub(crate) base: usize,
    pub(crate) entries: *const AtomicU8,
    pub(crate) allocated: *const AtomicU64,
    pub(crate) epoch: u8,
}

impl YoungPagesView {
    /// The offset of an address from the heap's base; beyond the committed end if it lies below.
    #[inline(always)]
    pub fn offset(&self, address: usize) -> usize {
        address.wrapping_sub(self.base)
    }

    /// Whether every object in the page at an offset was made since the last collection. False may mean either.
    ///
    /// # Safety
    /// 1. The view is of this cycle, and the offset below the committed end.
    #[inline(always)]
    pub unsafe fn is_young_page(&self, offset: usize) -> bool {
        // SAFETY: contract 1.
        unsafe { self.entry(offset) & EPOCH == self.epoch }
    }

    /// Whether an arena has the page at an offset: an object there may be old without its bit.
    ///
    /// # Safety
    /// 1. As for [`YoungPagesView::is_young_page`].
    #[inline(always)]
    pub unsafe fn is_in_arena(&self, offset: usize) -> bool {
        // SAFETY: contract 1.
        unsafe { self.entry(offset) & IN_ARENA != 0 }
    }

    #[inline(always)]
    unsafe fn entry(&self, offset: usize) -> u8 {
        // SAFETY: pages below the committed end have entries (the callers' contract).
        unsafe { &*self.entries.add(offset / PAGE_SIZE) }.load(Ordering::Relaxed)
    }

    /// Whether an object at an offset is old: a collection has found it, or it was made in a cell that the program had
    /// freed.
    ///
    /// # Safety
    /// 1. As for [`YoungPagesView::is_young_page`].
    #[inline(always)]
    pub unsafe fn is_old(&self, offset: usize) -> bool {
        let granule = offset >> GRANULE_LOG;
        // SAFETY: bits below the committed end are committed (contract 1).
        let word = unsafe { &*self.allocated.add(granule / 64) }.load(Ordering::Relaxed);
        word >> (granule % 64) & 1 == 1
    }
}
