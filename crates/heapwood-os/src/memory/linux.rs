//! The kernel trait over Linux: mmap reserves, mprotect commits (so that overcommit accounting counts only committed
//! memory), and madvise releases. Invariant: a reservation has no access rights until it is committed.

use crate::error::OsError;
use crate::memory::kernel::Kernel;
use crate::memory::page::page_size;
use crate::memory::request::Request;

/// The running system.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

/// The running system, for a [`crate::KernelRef`].
pub static SYSTEM: System = System;

fn errno() -> i32 {
    // SAFETY: __errno_location returns this thread's valid errno slot.
    unsafe { *libc::__errno_location() }
}

/// Maps addresses without access, at one that is given or that the kernel chooses; returns it.
fn map(addr: usize, len: usize, flags: i32) -> Result<usize, i32> {
    let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: an anonymous mapping that replaces none touches no existing memory.
    let start = unsafe { libc::mmap(addr as *mut _, len, libc::PROT_NONE, flags, -1, 0) };
    if start == libc::MAP_FAILED { Err(errno()) } else { Ok(start as usize) }
}

// SAFETY: (1) mmap returns unused space, and replaces nothing at an address that is given; the excess of an over-reservation is
// trimmed to the alignment; (2)
// anonymous memory is zeroed and MADV_DONTNEED zeroes it again; (3) only system calls are made.
unsafe impl Kernel for System {
    fn page_size(&self) -> usize {
        page_size()
    }

    fn reserve(&self, len: usize, align: usize) -> Result<usize, OsError> {
        let fail = |errno| OsError::new(Request::Reserve, len, errno);
        let slack = if align > self.page_size() { align } else { 0 };
        let total = len.checked_add(slack).ok_or_else(|| fail(libc::ENOMEM))?;
        let start = map(0, total, 0).map_err(fail)?;
        let aligned = (start + align - 1) & !(align - 1);
        let end = start + total;
        // SAFETY: both trimmed ranges lie in the new mapping, outside the returned part; the advice changes no
        // contents.
        unsafe {
            if aligned > start {
                libc::munmap(start as *mut _, aligned - start);
            }
            if end > aligned + len {
                libc::munmap((aligned + len) as *mut _, end - aligned - len);
            }
            // With system-wide huge pages, each of many small heaps would otherwise get several.
            libc::madvise(aligned as *mut _, len, libc::MADV_NOHUGEPAGE);
        }
        Ok(aligned)
    }

    fn reserve_at(&self, addr: usize, len: usize) -> Result<(), OsError> {
        let fail = |errno| OsError::new(Request::Reserve, len, errno);
        // No MAP_FIXED_NOREPLACE: ThreadSanitizer sets an address that it does not like to 0, where root may map.
        let start = map(addr, len, 0).map_err(fail)?;
        // SAFETY: the advice changes no contents; where something lies at the address, the kernel has mapped something new elsewhere.
        unsafe {
            if start != addr {
                libc::munmap(start as *mut _, len);
                return Err(fail(libc::EEXIST));
            }
            libc::madvise(start as *mut _, len, libc::MADV_NOHUGEPAGE);
        }
        Ok(())
    }

    unsafe fn commit(&self, addr: usize, len: usize) -> Result<(), OsError> {
        // SAFETY: the caller owns the range (contract 1), so its protection may change.
        let r = unsafe { libc::mprotect(addr as *mut _, len, libc::PROT_READ | libc::PROT_WRITE) };
        if r == 0 { Ok(()) } else { Err(OsError::new(Request::Commit, len, errno())) }
    }

    unsafe fn decommit(&self, addr: usize, len: usize) -> Result<(), OsError> {
        // SAFETY: the caller no longer needs the contents (contract 2).
        let r = unsafe { libc::madvise(addr as *mut _, len, libc::MADV_DONTNEED) };
        if r == 0 { Ok(()) } else { Err(OsError::new(Request::Decommit, len, errno())) }
    }

    unsafe fn advise_huge(&self, addr: usize, len: usize) {
        // SAFETY: advice about the caller's own range; it changes no contents.
        unsafe { libc::madvise(addr as *mut _, len, libc::MADV_HUGEPAGE) };
    }

    unsafe fn advise_small(&self, addr: usize, len: usize) {
        // SAFETY: advice about the caller's own range; it changes no contents.
        unsafe { libc::madvise(addr as *mut _, len, libc::MADV_NOHUGEPAGE) };
    }

    unsafe fn protect(&self, addr: usize, len: usize) -> bool {
        // SAFETY: nobody uses the caller's range (contract 1).
        unsafe { libc::mprotect(addr as *mut _, len, libc::PROT_NONE) == 0 }
    }

    unsafe fn release(&self, addr: usize, len: usize) {
        // SAFETY: the caller gives up the whole reservation (contracts 1 and 2).
        unsafe { libc::munmap(addr as *mut _, len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impossible_reservation_is_an_error() {
        let e = SYSTEM.reserve(1 << 60, SYSTEM.page_size()).unwrap_err();
        assert_eq!(e.request, Request::Reserve);
        assert!(e.to_string().contains("reserve"), "{e}");
        assert!(SYSTEM.reserve(usize::MAX & !(SYSTEM.page_size() - 1), 1 << 20).is_err());
    }
}
