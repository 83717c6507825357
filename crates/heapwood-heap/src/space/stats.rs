//! The statistics of a space. Invariant: they are read under the lock of the central lists, so they are consistent.

use crate::space::Space;

impl Space {
    /// The current statistics.
    pub fn stats(&self) -> SpaceStats {
        let central = self.sweeper.lock();
        let (counts, pages) = (central.budget.counts(), &self.sweeper.heap.pages);
        let page_locks = pages.stats().lock_acquisitions;
        let span_lock_acquisitions = counts.lock_acquisitions.saturating_sub(counts.large_acquisitions);
        let page_lock_acquisitions = page_locks.saturating_sub(counts.large_page_locks);
        SpaceStats {
            total_allocated: counts.total,
            small_allocated: counts.total.saturating_sub(counts.large),
            allocated_in_cycle: counts.in_cycle,
            freed: counts.freed,
            in_use: pages.in_use().bytes(),
            grown: self.committed_end(),
            resident: self.memory().resident_bytes(),
            span_lock_acquisitions,
            page_lock_acquisitions,
            shared_rmws: 2 * (span_lock_acquisitions + page_lock_acquisitions) + counts.gate_rmws,
        }
    }
}

/// Bytes of a space, and the use of its locks.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpaceStats {
    /// Bytes allocated by mutators since the space was made.
    pub total_allocated: u64,
    /// Those for objects that share pages with others.
    pub small_allocated: u64,
    /// Bytes allocated since the last marking.
    pub allocated_in_cycle: usize,
    /// Bytes of objects that the program has freed itself since the space was made.
    pub freed: u64,
    /// Bytes of pages that spans use, or mutators cache.
    pub in_use: usize,
    /// Bytes committed for spans.
    pub grown: usize,
    /// Bytes of pages that may be resident.
    pub resident: usize,
    /// Acquisitions of the lock of the span lists since the space was made, but for large objects.
    pub span_lock_acquisitions: u64,
    /// The same of the page allocator's lock.
    pub page_lock_acquisitions: u64,
    /// Read-modify-writes on shared cache lines for small objects: two for each of these.
    pub shared_rmws: u64,
}
