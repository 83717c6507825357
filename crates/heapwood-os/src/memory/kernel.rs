//! Memory, and threads, from the kernel, as a trait. Address space is first reserved without access, then committed piece by
//! piece; committing what is committed already changes nothing. An implementation must hand out zeroed memory.

use crate::error::OsError;
use crate::threads::thread::{self, Entry, Thread};
use core::ffi::{CStr, c_void};

/// A source of memory.
///
/// # Safety
///
/// An implementation promises:
/// 1. `reserve` returns the start of `len` bytes of address space that nothing else uses, aligned to `align`.
/// 2. After `commit`, the range reads as zeros where it was never written since it was reserved or decommitted,
///    and can be read and written until it is released.
/// 3. None of the calls for memory allocates from the ordinary heap or unwinds.
pub unsafe trait Kernel: Send + Sync {
    /// The size of its pages in bytes, a power of two. All addresses and lengths below are multiples of it.
    fn page_size(&self) -> usize;

    /// Reserves `len` bytes of address space aligned to `align` (a power of two) without access rights.
    fn reserve(&self, len: usize, align: usize) -> Result<usize, OsError>;

    /// Makes `len` bytes at `addr` readable and writable.
    ///
    /// # Safety
    /// 1. The range lies in one reservation of this kernel that has not been released.
    unsafe fn commit(&self, addr: usize, len: usize) -> Result<(), OsError>;

    /// Gives the memory behind the range back; it stays accessible and reads as zeros.
    ///
    /// # Safety
    /// 1. The range is committed.
    /// 2. Nobody needs its contents.
    unsafe fn decommit(&self, addr: usize, len: usize) -> Result<(), OsError>;

    /// Asks for huge pages behind the range; without this there are none. A wish: refusal is not an error.
    ///
    /// # Safety
    /// 1. The range lies in one reservation of this kernel.
    unsafe fn advise_huge(&self, addr: usize, len: usize);

    /// Asks for small pages only: for memory of which little will be touched. A wish, too.
    ///
    /// # Safety
    /// 1. The range lies in one reservation of this kernel.
    unsafe fn advise_small(&self, addr: usize, len: usize);

    /// Takes all access from the range, until it is committed again: who touches it faults. A wish, too.
    ///
    /// # Safety
    /// 1. The range lies in one reservation of this kernel, and nobody uses it.
    unsafe fn protect(&self, addr: usize, len: usize);

    /// Ends a reservation.
    ///
    /// # Safety
    /// 1. The range is exactly one reservation of this kernel.
    /// 2. Nothing refers to it any more.
    unsafe fn release(&self, addr: usize, len: usize);

    /// Starts a thread of the library's own (see [`thread`]).
    ///
    /// # Safety
    /// 1. As for [`thread::start`].
    unsafe fn start_thread(
        &self,
        name: &CStr,
        stack: usize,
        run: Entry,
        argument: *mut c_void,
    ) -> Result<Thread, OsError> {
        // SAFETY: the caller's contract is passed on.
        unsafe { thread::start(name, stack, run, argument) }
    }
}

/// How a kernel is passed around: the system's, or a test's that lives as long as the process.
pub type KernelRef = &'static dyn Kernel;
