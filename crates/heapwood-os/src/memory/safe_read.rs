//! Memory of this process that may be unmapped at any moment, as a library's that another thread closes: read by the kernel,
//! which says that it is gone where the processor would raise a fault. By process_vm_readv of the process itself, or where
//! a sandbox refuses that, from /proc/self/mem. Invariant: whatever the address, nothing faults.

use core::cell::OnceCell;
use core::ffi::c_int;

/// A way to such memory. Not to be kept: /proc/self/mem is opened where it is needed, and a program may close descriptors
/// that it does not know.
#[derive(Debug, Default)]
pub struct Peek {
    memory: OnceCell<Memory>,
}

/// /proc/self/mem, if it can be opened.
#[derive(Debug)]
struct Memory(c_int);

impl Drop for Memory {
    fn drop(&mut self) {
        if self.0 >= 0 {
            // SAFETY: opened by `Peek::by_file`, and closed once.
            unsafe { libc::close(self.0) };
        }
    }
}

impl Peek {
    /// Nothing is opened yet.
    pub const fn new() -> Self {
        Peek { memory: OnceCell::new() }
    }

    /// Reads memory from an address on, as far as there is some, and returns how many bytes that were; `None` where the
    /// system has no way to do so.
    pub fn read(&self, from: usize, into: &mut [u8]) -> Option<usize> {
        by_process_vm(from, into).or_else(|| self.by_file(from, into))
    }

    fn by_file(&self, from: usize, into: &mut [u8]) -> Option<usize> {
        // SAFETY: the path is a constant with its zero byte.
        let open = || unsafe { libc::open(c"/proc/self/mem".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        let memory = self.memory.get_or_init(|| Memory(open()));
        if memory.0 < 0 {
            return None;
        }
        // SAFETY: the buffer has room for N bytes.
        let got = unsafe { libc::pread(memory.0, into.as_mut_ptr().cast(), into.len(), from as libc::off_t) };
        match got {
            ..0 => (error() == libc::EIO).then_some(0),
            read => Some(read as usize),
        }
    }
}

fn by_process_vm(from: usize, into: &mut [u8]) -> Option<usize> {
    let here = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let there = libc::iovec { iov_base: from as *mut _, iov_len: into.len() };
    // SAFETY: the kernel writes to the buffer alone; what it is to read may be any address.
    let got = unsafe { libc::process_vm_readv(libc::getpid(), &here, 1, &there, 1, 0) };
    match got {
        ..0 => (error() == libc::EFAULT).then_some(0),
        read => Some(read as usize),
    }
}

fn error() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kernel, SYSTEM};

    /// Calls `test` with each way to read.
    fn each_way(test: impl Fn(&dyn Fn(usize, &mut [u8]) -> Option<usize>)) {
        let peek = Peek::new();
        let try_way = |name, way: &dyn Fn(usize, &mut [u8]) -> Option<usize>| match way(
            &raw const name as usize,
            &mut [0],
        ) {
            Some(_) => test(way),
            None => println!("skipped: {name} is refused here"),
        };
        try_way("any", &|from, into| peek.read(from, into));
        try_way("process_vm_readv", &by_process_vm);
        try_way("/proc/self/mem", &|from, into| peek.by_file(from, into));
    }

    #[test]
    fn what_is_there_is_read() {
        each_way(|way| {
            let (there, mut here) = (*b"some bytes", [0; 10]);
            assert_eq!(way(&raw const there as usize, &mut here), Some(10));
            assert_eq!(here, there);
            assert_eq!(way(&raw const there as usize, &mut []), Some(0));
        });
    }

    /// Two pages, of which the second is gone. What another test maps meanwhile may lie there; so the thread that looks tries again.
    fn a_page_before_nothing() -> usize {
        let page = SYSTEM.page_size();
        let at = SYSTEM.reserve(2 * page, page).unwrap();
        // SAFETY: the range is this test's, and of its second page nothing is used.
        unsafe {
            SYSTEM.commit(at, page).unwrap();
            (at as *mut u8).write_bytes(7, page);
            SYSTEM.release(at + page, page);
        }
        at
    }

    #[test]
    fn what_is_not_there_is_not_read_and_nothing_faults() {
        let page = SYSTEM.page_size();
        each_way(|way| {
            let mut buffer = vec![0; page];
            let is_told = |_| {
                let at = a_page_before_nothing();
                assert_eq!(way(at, &mut buffer), Some(page));
                assert!(buffer.iter().all(|&byte| byte == 7));
                let (behind, across) = (way(at + page, &mut buffer), way(at + page - 16, &mut [0; 64]));
                // SAFETY: nothing refers to it.
                unsafe { SYSTEM.release(at, page) };
                behind == Some(0) && across == Some(16)
            };
            assert!((0..100).any(is_told));
            assert_eq!(way(0, &mut buffer), Some(0));
        });
    }
}
