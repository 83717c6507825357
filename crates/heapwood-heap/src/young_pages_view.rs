//! What a write barrier asks of a heap at each store: whether all is young where a slot lies, and whether a value is old. The
//! answers are found by shifting addresses, from pointers that hold until the next collection ends; so a mutator keeps a copy.
//! Invariant: a view is used in the cycle in which it was made.

use crate::granule::GRANULE_LOG;
use crate::spans::young_pages::{AGE, IN_ARENA};
use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use heapwood_pages::PAGE_SIZE;

/// Which pages are young, and which objects old.
#[derive(Clone, Copy)]
pub struct YoungPagesView {
    pub(crate) base: usize,
    pub(crate) ages: *const AtomicU8,
    pub(crate) allocated: *const AtomicU64,
    pub(crate) young: u8,
}

impl YoungPagesView {
    /// How far an address lies above where the heap begins; more than its extent if it lies below.
    #[inline(always)]
    pub fn offset(&self, address: usize) -> usize {
        address.wrapping_sub(self.base)
    }

    /// Whether everything in the page at an offset was made since the last collection. False is no answer.
    ///
    /// # Safety
    /// 1. The view is of this cycle, and the offset less than the heap's extent.
    #[inline(always)]
    pub unsafe fn is_young_page(&self, offset: usize) -> bool {
        // SAFETY: contract 1.
        unsafe { self.age(offset) & AGE == self.young }
    }

    /// Whether an arena has the page at an offset: what lies there may be old without its bit.
    ///
    /// # Safety
    /// 1. As for [`YoungPagesView::is_young_page`].
    #[inline(always)]
    pub unsafe fn is_in_arena(&self, offset: usize) -> bool {
        // SAFETY: contract 1.
        unsafe { self.age(offset) & IN_ARENA != 0 }
    }

    #[inline(always)]
    unsafe fn age(&self, offset: usize) -> u8 {
        // SAFETY: pages below the extent have ages (the callers' contract).
        unsafe { &*self.ages.add(offset / PAGE_SIZE) }.load(Ordering::Relaxed)
    }

    /// Whether an object at an offset is old: a collection has found it, or it was made in a cell that the program had freed.
    ///
    /// # Safety
    /// 1. As for [`YoungPagesView::is_young_page`].
    #[inline(always)]
    pub unsafe fn is_old(&self, offset: usize) -> bool {
        let granule = offset >> GRANULE_LOG;
        // SAFETY: bits below the extent are committed (contract 1).
        let word = unsafe { &*self.allocated.add(granule / 64) }.load(Ordering::Relaxed);
        word >> (granule % 64) & 1 == 1
    }
}
