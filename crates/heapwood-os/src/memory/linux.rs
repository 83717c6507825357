//! The kernel behind the trait: mmap to reserve, mprotect to commit (so that overcommit accounting sees what is
//! really used), madvise to give back.

use crate::error::OsError;
use crate::memory::kernel::Kernel;
use crate::memory::page::page_size;
use crate::memory::request::Request;

/// The running system.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

/// The running system, as a [`crate::KernelRef`] can be made from it.
pub static SYSTEM: System = System;

fn errno() -> i32 {
    // SAFETY: __errno_location returns this thread's valid errno slot.
    unsafe { *libc::__errno_location() }
}

// SAFETY: (1) mmap returns unused space, and the excess of the over-reservation is trimmed to the alignment;
// (2) anonymous memory is zeroed and MADV_DONTNEED makes it so again; (3) only system calls are made.
unsafe impl Kernel for System {
    fn page_size(&self) -> usize {
        page_size()
    }

    fn reserve(&self, len: usize, align: usize) -> Result<usize, OsError> {
        let fail = |errno| OsError::new(Request::Reserve, len, errno);
        let slack = if align > self.page_size() { align } else { 0 };
        let total = len.checked_add(slack).ok_or_else(|| fail(libc::ENOMEM))?;
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches no existing memory.
        let start = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                total,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(fail(errno()));
        }
        let start = start as usize;
        let aligned = (start + align - 1) & !(align - 1);
        let end = start + total;
        // SAFETY: both trimmed pieces lie in the mapping just made, outside the part that is handed out, and advice about
        // that changes no contents.
        unsafe {
            if aligned > start {
                libc::munmap(start as *mut _, aligned - start);
            }
            if end > aligned + len {
                libc::munmap((aligned + len) as *mut _, end - aligned - len);
            }
            // Where the system gives huge pages to the thread that does not refuse, little heaps would each have several.
            libc::madvise(aligned as *mut _, len, libc::MADV_NOHUGEPAGE);
        }
        Ok(aligned)
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

    unsafe fn protect(&self, addr: usize, len: usize) {
        // SAFETY: nobody uses the caller's range (contract 1).
        unsafe { libc::mprotect(addr as *mut _, len, libc::PROT_NONE) };
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
    fn reserved_committed_and_given_back() {
        let len = 8 << 20;
        let base = SYSTEM.reserve(len, 4 << 20).unwrap();
        assert_eq!(base % (4 << 20), 0);
        // SAFETY: the range was reserved just above and is used by this test alone.
        unsafe {
            SYSTEM.commit(base, 8192).unwrap();
            let p = base as *mut u8;
            assert_eq!(*p, 0);
            *p = 7;
            SYSTEM.commit(base, 16384).unwrap();
            assert_eq!(*p, 7, "committing again keeps the contents");
            SYSTEM.decommit(base, 8192).unwrap();
            assert_eq!(*p, 0);
            SYSTEM.release(base, len);
        }
    }

    #[test]
    fn an_impossible_reservation_is_an_error() {
        let e = SYSTEM.reserve(1 << 60, SYSTEM.page_size()).unwrap_err();
        assert_eq!(e.request, Request::Reserve);
        assert!(e.to_string().contains("reserve"), "{e}");
        assert!(SYSTEM.reserve(usize::MAX & !(SYSTEM.page_size() - 1), 1 << 20).is_err());
    }
}
