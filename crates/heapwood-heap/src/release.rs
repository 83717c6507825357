//! Giving memory of free pages back to the kernel. The page allocator says which and keeps them from being handed out
//! meanwhile; here the kernel is told. What has been released reads as zeros when it is used again, which new spans
//! rely on instead of zeroing.

use crate::space::Space;
use heapwood_os::HUGE_PAGE;
use heapwood_pages::{Effort, PAGE_SIZE, PageCount, ReleasePolicy};

/// The most pages that are released at a time: those of a huge page.
const MOST: PageCount = PageCount(HUGE_PAGE / PAGE_SIZE);
/// How many runs a thread that allocates may release at a limit, however few pages it takes.
const LEAST_AT_LIMIT: usize = 4;

impl Space {
    /// Releases the memory of one run of free pages, up to 2 MiB; returns how many bytes may have had memory behind
    /// them, and whether the kernel took it. `None` if there is nothing that `effort` would release.
    pub fn release_some(&self, effort: Effort) -> Option<(usize, bool)> {
        self.release(effort, MOST)
    }

    fn release(&self, effort: Effort, most: PageCount) -> Option<(usize, bool)> {
        let policy = ReleasePolicy { most, huge_pages: self.prefers_huge_pages() };
        let done = self.pages.scavenge(effort, policy, |first, count| {
            let start = first.0 * PAGE_SIZE;
            // SAFETY: the pages were grown, so their memory is committed; they are free, and the allocator gives them
            // to nobody while they are being released.
            unsafe { self.memory.decommit(start..start + count.bytes()) }.is_ok()
        });
        done.map(|(pages, taken)| (pages.bytes(), taken))
    }

    /// Sweeps what has not been swept and releases the memory of all free pages; returns how many bytes may have had
    /// memory behind them. It ends early if the kernel refuses.
    pub fn release_all(&self) -> usize {
        while self.sweep_some() || self.is_being_swept() {}
        let mut released = 0;
        while let Some((bytes, true)) = self.release_some(Effort::Full) {
            released += bytes;
        }
        released
    }

    /// Bytes of pages that may have memory behind them, in use or not.
    pub fn backed_bytes(&self) -> usize {
        self.pages.resident().bytes()
    }

    /// After so many pages were taken: if more have memory now than the limit allows, free ones elsewhere give theirs
    /// back. This is the only release on a thread that allocates, and a bounded one: a run for each page at most, which
    /// costs no more than to fill those pages.
    pub(crate) fn stay_within_limit(&self, taken: PageCount) {
        let Some(limit) = self.limit() else { return };
        for _ in 0..taken.0.max(LEAST_AT_LIMIT) {
            let over = self.backed_bytes().saturating_sub(limit).div_ceil(PAGE_SIZE);
            if over == 0 || self.release(Effort::Full, PageCount(over.clamp(16, MOST.0))).is_none() {
                return;
            }
        }
    }
}
