//! Reads of memory in this process that may be unmapped at any moment, such as that of a library which another thread
//! unloads. The kernel reads it, and reports an error where the processor would fault. It does so by process_vm_readv
//! on the process itself, or by /proc/self/mem where a sandbox refuses that. Invariant: no address causes a fault.

use crate::process::file::{File, error};
use core::cell::OnceCell;

/// A reader of such memory. Callers must not keep it: /proc/self/mem is opened on demand, and a program may close
/// descriptors that it does not know.
#[derive(Debug, Default)]
pub struct Peek {
    /// /proc/self/mem, if it can be opened.
    memory: OnceCell<Option<File>>,
}

impl Peek {
    /// No file is open yet.
    pub const fn new() -> Self {
        Peek { memory: OnceCell::new() }
    }

    /// Reads the mapped memory from an address on, and returns the number of bytes read; `None` if the system allows
    /// neither method.
    pub fn read(&self, from: usize, into: &mut [u8]) -> Option<usize> {
        by_process_vm(from, into).or_else(|| self.by_file(from, into))
    }

    fn by_file(&self, from: usize, into: &mut [u8]) -> Option<usize> {
        let memory = self.memory.get_or_init(|| File::open(c"/proc/self/mem")).as_ref()?;
        match memory.read_at(into, from as libc::off_t) {
            Ok(read) => Some(read),
            Err(error) => (error == libc::EIO).then_some(0),
        }
    }
}

fn by_process_vm(from: usize, into: &mut [u8]) -> Option<usize> {
    let here = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let there = libc::iovec { iov_base: from as *mut _, iov_len: into.len() };
    // SAFETY: the kernel writes to the buffer alone; it may read from any address.
    let got = unsafe { libc::process_vm_readv(libc::getpid(), &here, 1, &there, 1, 0) };
    match got {
        ..0 => (error() == libc::EFAULT).then_some(0),
        read => Some(read as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kernel, SYSTEM};

    /// Calls `test` with each method.
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
    fn mapped_memory_is_read() {
        each_way(|way| {
            let (there, mut here) = (*b"some bytes", [0; 10]);
            assert_eq!(way(&raw const there as usize, &mut here), Some(10));
            assert_eq!(here, there);
            assert_eq!(way(&raw const there as usize, &mut []), Some(0));
        });
    }

    /// Two pages, of which the second is unmapped. Another test may map memory there meanwhile, so the caller tries
    /// again.
    fn a_page_before_nothing() -> usize {
        let page = SYSTEM.page_size();
        let at = SYSTEM.reserve(2 * page, page).unwrap();
        // SAFETY: the range belongs to this test, and its second page is unused.
        unsafe {
            SYSTEM.commit(at, page).unwrap();
            (at as *mut u8).write_bytes(7, page);
            SYSTEM.release(at + page, page);
        }
        at
    }

    #[test]
    fn unmapped_memory_is_not_read_and_nothing_faults() {
        let page = SYSTEM.page_size();
        each_way(|way| {
            let mut buffer = vec![0; page];
            let is_told = |_| {
                let at = a_page_before_nothing();
                assert_eq!(way(at, &mut buffer), Some(page));
                assert!(buffer.iter().all(|&byte| byte == 7));
                let (behind, across) = (way(at + page, &mut buffer), way(at + page - 16, &mut [0; 64]));
                // SAFETY: no reference to it is left.
                unsafe { SYSTEM.release(at, page) };
                behind == Some(0) && across == Some(16)
            };
            assert!((0..100).any(is_told));
            assert_eq!(way(0, &mut buffer), Some(0));
        });
    }
}
