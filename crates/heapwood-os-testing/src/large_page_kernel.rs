//! A kernel with larger pages than this machine's, for tests. It reports the size that it is given, and refuses
//! requests that are not multiples of it with EINVAL, as a real one does. It passes the others on to the system.
//! Invariant: all memory was requested in whole pages of that size.

use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_os::{Kernel, OsError, Request, SYSTEM};

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

    /// The number of requests that were not multiples of the page size, whether refused or ignored.
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

// SAFETY: every granted request is passed on unchanged to the system, which keeps the contract.
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
    unsafe fn protect(&self, addr: usize, len: usize) -> bool {
        // SAFETY: the caller's contract is passed on.
        self.is_whole(addr, len) && unsafe { SYSTEM.protect(addr, len) }
    }
    unsafe fn release(&self, addr: usize, len: usize) {
        if self.is_whole(addr, len) {
            // SAFETY: the caller's contract is passed on.
            unsafe { SYSTEM.release(addr, len) }
        }
    }
}
