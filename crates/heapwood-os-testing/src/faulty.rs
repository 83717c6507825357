//! A kernel that refuses on command. It counts requests, and refuses the chosen one, or all from then on. Tests walk
//! the refusal through all requests of an operation, and check that the operation survives each. Invariant: requests
//! that are not refused are passed on to the system.

use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_os::threads::thread::StartRoutine;
use heapwood_os::{Kernel, OsError, Request, SYSTEM, Thread};

/// The system's memory with planned refusals.
#[derive(Debug)]
pub struct Faulty {
    seen: AtomicUsize,
    /// The first request to refuse, and the number of refusals.
    refuse_at: AtomicUsize,
    refusals: AtomicUsize,
}

impl Faulty {
    /// A kernel that refuses nothing yet.
    pub const fn new() -> Self {
        Faulty {
            seen: AtomicUsize::new(0),
            refuse_at: AtomicUsize::new(usize::MAX),
            refusals: AtomicUsize::new(0),
        }
    }

    /// Refuses the `n`-th request from now (0 is the next), and only that one.
    pub fn refuse(&self, n: usize) {
        self.refusals.store(1, Ordering::SeqCst);
        self.refuse_at.store(self.seen.load(Ordering::SeqCst) + n, Ordering::SeqCst);
    }

    /// Grants `n` more requests and refuses all that follow, until [`Faulty::relent`].
    pub fn refuse_from(&self, n: usize) {
        self.refuse(n);
        self.refusals.store(usize::MAX, Ordering::SeqCst);
    }

    /// Refuses nothing from now on.
    pub fn relent(&self) {
        self.refuse_at.store(usize::MAX, Ordering::SeqCst);
    }

    /// The number of requests so far that can fail.
    pub fn requests(&self) -> usize {
        self.seen.load(Ordering::SeqCst)
    }

    fn admit(&self, request: Request, bytes: usize) -> Result<(), OsError> {
        let turn = self.seen.fetch_add(1, Ordering::SeqCst);
        let from = self.refuse_at.load(Ordering::SeqCst);
        if turn >= from && turn - from < self.refusals.load(Ordering::SeqCst) {
            return Err(OsError::new(request, bytes, libc::ENOMEM));
        }
        Ok(())
    }
}

impl Default for Faulty {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: every granted request is passed on unchanged to the system, which keeps the contract.
unsafe impl Kernel for Faulty {
    fn page_size(&self) -> usize {
        SYSTEM.page_size()
    }
    fn reserve(&self, len: usize, align: usize) -> Result<usize, OsError> {
        self.admit(Request::Reserve, len)?;
        SYSTEM.reserve(len, align)
    }
    unsafe fn commit(&self, addr: usize, len: usize) -> Result<(), OsError> {
        self.admit(Request::Commit, len)?;
        // SAFETY: the caller's contract is passed on.
        unsafe { SYSTEM.commit(addr, len) }
    }
    unsafe fn decommit(&self, addr: usize, len: usize) -> Result<(), OsError> {
        self.admit(Request::Decommit, len)?;
        // SAFETY: the caller's contract is passed on.
        unsafe { SYSTEM.decommit(addr, len) }
    }
    pass_on! {
        advise_huge(addr: usize, len: usize);
        advise_small(addr: usize, len: usize);
        protect(addr: usize, len: usize) -> bool;
        release(addr: usize, len: usize);
    }
    unsafe fn start_thread(
        &self,
        name: &CStr,
        stack: usize,
        run: StartRoutine,
        argument: *mut c_void,
    ) -> Result<Thread, OsError> {
        self.admit(Request::Thread, stack)?;
        // SAFETY: the caller's contract is passed on.
        unsafe { SYSTEM.start_thread(name, stack, run, argument) }
    }
}
