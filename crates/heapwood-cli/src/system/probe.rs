//! Trials of kernel calls, each a small part of a heap's calls. A probe leaves nothing behind: its mappings are
//! released when it returns, or when its [`TouchProbe`] is dropped. Versions are not compared, since sandboxes refuse
//! calls of newer kernels, and distributions add calls to old ones.

use heapwood_os::{HUGE_PAGE, Kernel, OsError, Reservation, SYSTEM};
use std::io;
use std::ops::Range;

// Some C libraries of the libc crate lack these.
const MADV_POPULATE_WRITE: i32 = 23;
const MADV_COLLAPSE: i32 = 25;
const MEMBARRIER_CMD_QUERY: i32 = 0;
const MEMBARRIER_CMD_PRIVATE_EXPEDITED: i64 = 1 << 3;
const PR_GET_THP_DISABLE: i32 = 42;
/// With the bit for "disabled", since Linux 6.18: except for memory with madvise.
const EXCEPT_ADVISED: i32 = 1 << 1;

/// Advice of madvise for a heap's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// MADV_FREE: release the memory when it is needed elsewhere.
    Free,
    /// MADV_COLLAPSE: make it a huge page now.
    Collapse,
    /// MADV_POPULATE_WRITE: make it resident before it is touched.
    PopulateWrite,
}

impl Advice {
    fn number(self) -> i32 {
        match self {
            Advice::Free => libc::MADV_FREE,
            Advice::Collapse => MADV_COLLAPSE,
            Advice::PopulateWrite => MADV_POPULATE_WRITE,
        }
    }
}

/// Memory that requested huge pages as a heap does, and was written to in every kernel page.
pub(crate) struct TouchProbe(Reservation);

impl TouchProbe {
    /// Reserves `bytes`, aligned to a huge page, requests huge pages, commits and writes.
    pub(crate) fn new(bytes: usize) -> Result<Self, OsError> {
        let memory = Reservation::new(&SYSTEM, bytes, HUGE_PAGE)?;
        memory.advise_huge(0..memory.len());
        write_to_all(&memory)?;
        Ok(TouchProbe(memory))
    }

    /// Its addresses.
    pub(crate) fn range(&self) -> Range<usize> {
        self.0.start()..self.0.start() + self.0.len()
    }
}

/// Commits all of `memory` and writes to each of its pages.
fn write_to_all(memory: &Reservation) -> Result<(), OsError> {
    memory.commit(0..memory.len())?;
    for offset in (0..memory.len()).step_by(SYSTEM.page_size()) {
        // SAFETY: the range was committed just above, and is not shared.
        unsafe { ((memory.start() + offset) as *mut u8).write_volatile(7) };
    }
    Ok(())
}

/// Whether huge pages are disabled for this process (PR_SET_THP_DISABLE, which is inherited).
pub(crate) fn huge_pages_forbidden() -> bool {
    const NONE: libc::c_ulong = 0;
    // SAFETY: this prctl reads a flag; all its other arguments must be zero.
    let flags = unsafe { libc::prctl(PR_GET_THP_DISABLE, NONE, NONE, NONE, NONE) };
    flags > 0 && flags & EXCEPT_ADVISED == 0
}

/// Reserves `bytes` without access, and releases them.
pub(crate) fn reserve(bytes: usize) -> Result<(), OsError> {
    Reservation::new(&SYSTEM, bytes, SYSTEM.page_size()).map(drop)
}

/// Whether released memory reads as zeros.
pub(crate) fn given_back_reads_zero() -> Result<bool, OsError> {
    let memory = Reservation::new(&SYSTEM, HUGE_PAGE, HUGE_PAGE)?;
    write_to_all(&memory)?;
    // SAFETY: it was committed just above, and its contents are not needed.
    unsafe { memory.decommit(0..memory.len()) }?;
    // SAFETY: the range stays committed.
    let byte = |offset| unsafe { ((memory.start() + offset) as *const u8).read_volatile() };
    Ok((0..memory.len()).step_by(SYSTEM.page_size()).all(|offset| byte(offset) == 0))
}

/// Applies `advice` to one aligned huge page of memory in use.
pub(crate) fn takes(advice: Advice) -> io::Result<()> {
    let refused = |e: OsError| io::Error::from_raw_os_error(e.errno);
    let memory = Reservation::new(&SYSTEM, HUGE_PAGE, HUGE_PAGE).map_err(refused)?;
    write_to_all(&memory).map_err(refused)?;
    // SAFETY: the memory is this function's own, and its contents do not matter.
    match unsafe { libc::madvise(memory.start() as *mut _, memory.len(), advice.number()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether the expedited membarrier of the process works.
pub(crate) fn private_expedited_barrier() -> io::Result<bool> {
    // SAFETY: the query takes numbers and changes nothing.
    match unsafe { libc::syscall(libc::SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) } {
        commands @ 0.. => Ok(commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED != 0),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_answer_and_leave_nothing_behind() {
        let size = SYSTEM.page_size();
        assert!(size.is_power_of_two() && size >= heapwood_os::LEAST_KERNEL_PAGE);
        assert_eq!(given_back_reads_zero(), Ok(true));
        assert_eq!(reserve(1 << 30), Ok(()));
        assert_eq!(reserve(1 << 60).unwrap_err().errno, libc::ENOMEM);
        for advice in [Advice::Free, Advice::Collapse, Advice::PopulateWrite] {
            if let Err(e) = takes(advice) {
                assert!(e.raw_os_error().is_some_and(|errno| errno > 0), "{advice:?}: {e}");
            }
        }
        let _ = (huge_pages_forbidden(), private_expedited_barrier());
    }

    #[test]
    fn touched_memory_is_aligned_to_huge_pages() {
        let range = TouchProbe::new(2 * HUGE_PAGE).unwrap().range();
        assert!(range.start.is_multiple_of(HUGE_PAGE));
        assert_eq!(range.len(), 2 * HUGE_PAGE);
    }
}
