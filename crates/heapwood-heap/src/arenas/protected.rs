//! The number of protected chunks. A protected chunk among others splits a mapping of the process in three, unless its
//! neighbours are protected, too. A process with vm.max_map_count mappings (65530 by default) gets no memory for anything,
//! so only so many chunks are protected, in all heaps together. Go's runtime, which protects chunks of 8 MiB
//! (`setUserArenaChunkToFault` in runtime/arena.go), has no such bound. The process's count comes from the configuration,
//! since this crate has no global state. Invariant: the count of the process is the sum of its heaps'.

use core::sync::atomic::{AtomicUsize, Ordering};

/// The most in a process: half of its mappings are left to the program.
const MOST: usize = 16 << 10;

/// The number of chunks that all heaps of a process have protected. A process has one.
#[derive(Debug)]
pub struct ProtectedChunks(AtomicUsize);

impl ProtectedChunks {
    /// Of a process without heaps.
    pub const fn none() -> Self {
        ProtectedChunks(AtomicUsize::new(0))
    }
}

/// The number of chunks that a heap has protected, and that of its process.
pub(super) struct HeapProtectedChunks {
    count: usize,
    process: Option<&'static ProtectedChunks>,
}

impl HeapProtectedChunks {
    /// Of a new heap. Without a count of its process it protects none.
    pub(super) const fn new(process: Option<&'static ProtectedChunks>) -> Self {
        HeapProtectedChunks { count: 0, process }
    }

    /// Counts a chunk that is to be protected; false if there are too many, or the heap protects none.
    pub(super) fn add(&mut self) -> bool {
        let Some(ProtectedChunks(process)) = self.process else { return false };
        let more = |all: usize| (all < MOST).then_some(all + 1);
        let added = process.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok();
        self.count += added as usize;
        added
    }

    /// Counts one less.
    pub(super) fn remove(&mut self) {
        self.subtract(1);
    }

    fn subtract(&mut self, chunks: usize) {
        self.count -= chunks;
        if let Some(ProtectedChunks(process)) = self.process {
            process.fetch_sub(chunks, Ordering::Relaxed);
        }
    }
}

impl Drop for HeapProtectedChunks {
    fn drop(&mut self) {
        self.subtract(self.count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heaps_of_a_process_share_the_bound() {
        static PROCESS: ProtectedChunks = ProtectedChunks::none();
        let mut heaps = [HeapProtectedChunks::new(Some(&PROCESS)), HeapProtectedChunks::new(Some(&PROCESS))];
        let added = (0..MOST + 10).filter(|i| heaps[i % 2].add()).count();
        assert_eq!(added, MOST);
        heaps[0].remove();
        assert!(heaps[1].add() && !heaps[0].add());
        let [first, second] = heaps;
        drop(first);
        assert_eq!(PROCESS.0.load(Ordering::Relaxed), second.count);
        drop(second);
        assert_eq!(PROCESS.0.load(Ordering::Relaxed), 0);
        assert!(!HeapProtectedChunks::new(None).add());
    }
}
