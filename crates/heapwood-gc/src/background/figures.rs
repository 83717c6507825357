//! What a heap's own thread has done, as it tells. Invariant: each only grows.

use crate::observe::Stats;
use core::sync::atomic::{AtomicU64, Ordering};

/// The figures of one heap.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// Bytes that were given back, by the thread or when asked to.
    released: AtomicU64,
    idle_collections: AtomicU64,
}

impl Figures {
    /// So many bytes were given back.
    pub(crate) fn count_released(&self, bytes: usize) {
        self.released.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// The heap was idle, and is collected.
    pub(super) fn count_idle_collection(&self) {
        self.idle_collections.fetch_add(1, Ordering::Relaxed);
    }

    /// Writes what it knows into the figures of the heap.
    pub(crate) fn add_to_stats(&self, stats: &mut Stats) {
        stats.released_bytes = self.released.load(Ordering::Relaxed);
        stats.idle_collections = self.idle_collections.load(Ordering::Relaxed);
    }
}
