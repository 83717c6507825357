//! The number of protected chunks. A protected chunk among others splits a mapping of the process in three, unless its
//! neighbours are protected, too. A process with vm.max_map_count mappings (65530 by default) gets no memory for anything,
//! so only so many chunks are protected, in all heaps together. Go's runtime, which protects chunks of 8 MiB
//! (`setUserArenaChunkToFault` in runtime/arena.go), has no such bound. Invariant: the count of the process is the sum of
//! its heaps'.

use core::sync::atomic::{AtomicUsize, Ordering};

/// The most in a process: half of its mappings are left to the program.
const MOST: usize = 16 << 10;

static IN_PROCESS: AtomicUsize = AtomicUsize::new(0);

/// The number of chunks that a heap has protected.
pub(super) struct ProtectedChunks(usize);

impl ProtectedChunks {
    pub(super) const NONE: Self = ProtectedChunks(0);

    /// Counts a chunk that is to be protected; false if there are too many.
    pub(super) fn add(&mut self) -> bool {
        let more = |all: usize| (all < MOST).then_some(all + 1);
        let added = IN_PROCESS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok();
        self.0 += added as usize;
        added
    }

    /// Counts one less.
    pub(super) fn remove(&mut self) {
        self.0 -= 1;
        IN_PROCESS.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for ProtectedChunks {
    fn drop(&mut self) {
        IN_PROCESS.fetch_sub(self.0, Ordering::Relaxed);
    }
}
