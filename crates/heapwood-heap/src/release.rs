//! Giving memory of free pages back to the kernel. The page allocator says which and keeps them from being handed out
//! meanwhile; here the kernel is told. What has been released reads as zeros when it is used again, which new spans
//! rely on instead of zeroing.

use crate::space::Space;
use core::sync::atomic::Ordering;
use heapwood_os::HUGE_PAGE;
use heapwood_pages::{Effort, PAGE_SIZE, PageCount, ReleasePolicy};

impl Space {
    /// Releases the memory of one run of free pages, up to 2 MiB; returns how many bytes may have had memory behind
    /// them, and whether the kernel took it. `None` if there is nothing that `effort` would release.
    pub fn release_some(&self, effort: Effort) -> Option<(usize, bool)> {
        let most = PageCount(HUGE_PAGE / PAGE_SIZE);
        let policy = ReleasePolicy { most, huge_pages: self.huge_pages };
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
        self.finish_sweep();
        let mut released = 0;
        while let Some((bytes, true)) = self.release_some(Effort::Full) {
            released += bytes;
        }
        released
    }

    /// Bytes of pages that may have memory behind them, in use or not.
    pub fn backed_bytes(&self) -> usize {
        let figures = self.pages.figures();
        (figures.grown.0 - figures.scavenged.0) * PAGE_SIZE
    }

    /// Whether there is a limit on the bytes of spans.
    pub(crate) fn is_limited(&self) -> bool {
        self.limited.load(Ordering::Relaxed)
    }
}
