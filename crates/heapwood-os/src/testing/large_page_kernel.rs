//! A kernel with larger pages than this machine's, for tests: it reports the size it is told, and refuses requests that
//! are not multiples of it with EINVAL, as the real one does. What it grants is passed on to the system. Invariant: none
//! of the memory it hands out was asked for in parts of its pages, so code that works on it does not rely on small ones.

use crate::error::OsError;
use crate::memory::kernel::Kernel;
use crate::memory::linux::SYSTEM;
use crate::memory::request::Request;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The system's memory in pages of a given size.
#[derive(Debug)]
pub struct Coarse {
    page: usize,
    odd: AtomicUsize,
}

impl Coarse {
    /// A kernel with pages of `page` bytes, a power of two.
    pub const fn new(page: usize) -> Self {
        assert!(page.is_power_of_two());
        Coarse { page, odd: AtomicUsize::new(0) }
    }

    /// How many requests were not about whole pages, refused or not heard.
    pub fn odd_requests(&self) -> usize {
        self.odd.load(Ordering::SeqCst)
    }

    fn is_whole(&self, addr: usize, len: usize) -> bool {
        let whole = addr.is_multiple_of(self.page) && len.is_multiple_of(self.page);
        if !whole {
            self.odd.fetch_add(1, Ordering::SeqCst);
        }
        whole
    }

    fn admit(&self, request: Request, addr: usize, len: usize) -> Result<(), OsError> {
        let refused = || OsError::new(request, len, libc::EINVAL);
        self.is_whole(addr, len).then_some(()).ok_or_else(refused)
    }
}

// SAFETY: every granted request is passed on unchanged to the system, whose promises hold.
unsafe impl Kernel for Coarse {
    fn page_size(&self) -> usize {
        self.page
    }
    fn reserve(&self, len: usize, align: usize) -> Result<usize, OsError> {
        self.admit(Request::Reserve, align, len)?;
        SYSTEM.reserve(len, align)
    }
    unsafe fn commit(&self, addr: usize, len: usize) -> Result<(), OsError> {
        self.admit(Request::Commit, addr, len)?;
        // SAFETY: the caller's contract is passed on.
        unsafe { SYSTEM.commit(addr, len) }
    }
    unsafe fn decommit(&self, addr: usize, len: usize) -> Result<(), OsError> {
        self.admit(Request::Decommit, addr, len)?;
        // SAFETY: the caller's contract is passed on.
        unsafe { SYSTEM.decommit(addr, len) }
    }
    unsafe fn advise_huge(&self, addr: usize, len: usize) {
        if self.is_whole(addr, len) {
            // SAFETY: the caller's contract is passed on.
            unsafe { SYSTEM.advise_huge(addr, len) }
        }
    }
    unsafe fn advise_small(&self, addr: usize, len: usize) {
        if self.is_whole(addr, len) {
            // SAFETY: the caller's contract is passed on.
            unsafe { SYSTEM.advise_small(addr, len) }
        }
    }
    unsafe fn protect(&self, addr: usize, len: usize) {
        if self.is_whole(addr, len) {
            // SAFETY: the caller's contract is passed on.
            unsafe { SYSTEM.protect(addr, len) }
        }
    }
    unsafe fn release(&self, addr: usize, len: usize) {
        if self.is_whole(addr, len) {
            // SAFETY: the caller's contract is passed on.
            unsafe { SYSTEM.release(addr, len) }
        }
    }
}
