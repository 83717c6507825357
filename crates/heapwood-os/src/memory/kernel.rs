//! The source of memory and threads, as a trait. Address space is first reserved without access, then committed in
//! parts; committing a part again changes nothing. Implementations for tests refuse requests.

use crate::error::OsError;
use crate::memory::request::Request;
use crate::threads::thread::{self, StartRoutine, Thread};
use core::ffi::{CStr, c_void};

/// A source of memory.
///
/// # Safety
///
/// An implementation promises:
/// 1. `reserve` returns the start of `len` bytes of address space that nothing else uses, aligned to `align`; what `reserve_at`
///    grants nothing else uses, either.
/// 2. After `commit`, the range reads as zeros where it was never written since it was reserved or decommitted,
///    and can be read and written until it is released.
/// 3. None of the calls for memory allocates from the ordinary heap or unwinds.
pub unsafe trait Kernel: Send + Sync {
    /// The page size in bytes, a power of two. All addresses and lengths below are multiples of it.
    fn page_size(&self) -> usize;

    /// Reserves `len` bytes of address space aligned to `align` (a power of two) without access rights.
    fn reserve(&self, len: usize, align: usize) -> Result<usize, OsError>;

    /// Reserves exactly these bytes, as a reservation of its own, if nothing is there. EEXIST: something is. Without this, reservations
    /// take up all of their addresses from the beginning.
    fn reserve_at(&self, _addr: usize, len: usize) -> Result<(), OsError> {
        Err(OsError::new(Request::Reserve, len, libc::ENOSYS))
    }

    /// Makes `len` bytes at `addr` readable and writable.
    ///
    /// # Safety
    /// 1. The range lies in reservations of this kernel that have not been released.
    unsafe fn commit(&self, addr: usize, len: usize) -> Result<(), OsError>;

    /// Releases the memory behind the range, which stays accessible and reads as zeros.
    ///
    /// # Safety
    /// 1. The range is committed.
    /// 2. Its contents are not needed.
    unsafe fn decommit(&self, addr: usize, len: usize) -> Result<(), OsError>;

    /// Asks for huge pages behind the range; without this there are none. A hint: refusal is not an error.
    ///
    /// # Safety
    /// 1. The range lies in reservations of this kernel.
    unsafe fn advise_huge(&self, addr: usize, len: usize);

    /// Asks for small pages only, for sparsely used memory. A hint.
    ///
    /// # Safety
    /// 1. The range lies in reservations of this kernel.
    unsafe fn advise_small(&self, addr: usize, len: usize);

    /// Takes all access from the range, until it is committed again: who touches it faults. A wish, too; returns whether
    /// it is granted.
    ///
    /// # Safety
    /// 1. The range lies in reservations of this kernel, and nobody uses it.
    unsafe fn protect(&self, addr: usize, len: usize) -> bool;

    /// Ends reservations, or a part of one.
    ///
    /// # Safety
    /// 1. The range is one reservation of this kernel, or adjacent ones, or a part of one that is never used again.
    /// 2. Nothing refers to it any more.
    unsafe fn release(&self, addr: usize, len: usize);

    /// Starts a thread of the library (see [`thread`]).
    ///
    /// # Safety
    /// 1. As for [`thread::start`].
    unsafe fn start_thread(
        &self,
        name: &CStr,
        stack: usize,
        run: StartRoutine,
        argument: *mut c_void,
    ) -> Result<Thread, OsError> {
        // SAFETY: the caller's contract is passed on.
        unsafe { thread::start(name, stack, run, argument) }
    }
}

/// A reference to a kernel: the system's, or a test's that lives as long as the process.
pub type KernelRef = &'static dyn Kernel;
