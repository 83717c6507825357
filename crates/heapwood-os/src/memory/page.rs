//! Sizes of pages: those the running kernel has, the bounds of those a heap can lie on, and those of huge ones. All are powers
//! of two.

use core::sync::atomic::{AtomicUsize, Ordering};

/// The smallest pages a kernel hands out, in bytes. Those of the one that runs are [`Kernel::page_size`](crate::Kernel::page_size).
pub const LEAST_KERNEL_PAGE: usize = 4096;

/// The largest pages a kernel may have under a heap, in bytes.
pub const MOST_KERNEL_PAGE: usize = 64 << 10;

/// The size of a huge page, in bytes.
pub const HUGE_PAGE: usize = 2 << 20;

/// Rounds `n` up to a multiple of `to`, a power of two; `None` on overflow.
pub const fn round_up(n: usize, to: usize) -> Option<usize> {
    debug_assert!(to.is_power_of_two());
    match n.checked_add(to - 1) {
        Some(sum) => Some(sum & !(to - 1)),
        None => None,
    }
}

/// The size of the running kernel's pages in bytes.
pub(crate) fn page_size() -> usize {
    static KNOWN: AtomicUsize = AtomicUsize::new(0);
    match KNOWN.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: sysconf takes a number and returns one; the kernel passes this one to every program.
            let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
            KNOWN.store(size, Ordering::Relaxed);
            size
        }
        size => size,
    }
}
