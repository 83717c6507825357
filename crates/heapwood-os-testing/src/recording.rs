//! A kernel that knows its reservations: a test can compare them with what is told of them, and with what the system's
//! list of mappings says. Invariant: an unused page lies behind each, so no two share a mapping of that list.

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_os::{Kernel, OsError, SYSTEM};

/// The most reservations at a time.
const MOST: usize = 1024;

/// The system's memory, and a list of its reservations.
#[derive(Debug)]
pub struct Recording {
    /// The start and the length of each; a start of 0 is a free place.
    reservations: [(AtomicUsize, AtomicUsize); MOST],
}

impl Recording {
    /// A kernel without reservations.
    pub const fn new() -> Self {
        Recording { reservations: [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; MOST] }
    }

    /// The reservations that exist, by address.
    pub fn reservations(&self) -> Vec<Range<usize>> {
        let range = |(start, len): &(AtomicUsize, AtomicUsize)| {
            let start = start.load(Ordering::SeqCst);
            start..start + len.load(Ordering::SeqCst)
        };
        let mut all: Vec<_> = self.reservations.iter().map(range).filter(|range| range.start != 0).collect();
        all.sort_by_key(|range| range.start);
        all
    }

    fn replace(&self, from: usize, to: usize, len: usize) {
        let place = self
            .reservations
            .iter()
            .find(|(start, _)| start.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok());
        place.expect("a reservation has a place in the list").1.store(len, Ordering::SeqCst);
    }
}

impl Default for Recording {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: every request is passed on to the system, which keeps the contract.
unsafe impl Kernel for Recording {
    fn page_size(&self) -> usize {
        SYSTEM.page_size()
    }
    fn reserve(&self, len: usize, align: usize) -> Result<usize, OsError> {
        let start = SYSTEM.reserve(len + SYSTEM.page_size(), align)?;
        self.replace(0, start, len);
        Ok(start)
    }
    pass_on! {
        commit(addr: usize, len: usize) -> Result<(), OsError>;
        decommit(addr: usize, len: usize) -> Result<(), OsError>;
        advise_huge(addr: usize, len: usize);
        advise_small(addr: usize, len: usize);
        protect(addr: usize, len: usize) -> bool;
    }
    unsafe fn release(&self, addr: usize, len: usize) {
        self.replace(addr, 0, 0);
        // SAFETY: the caller's contract is passed on, for the page behind, too.
        unsafe { SYSTEM.release(addr, len + SYSTEM.page_size()) }
    }
}
