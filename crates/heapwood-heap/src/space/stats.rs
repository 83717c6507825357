//! The statistics of a space. Invariant: they are read under the lock of the central lists, so they are consistent.

use super::memory::PageMemory;
use crate::alloc::allocator::Allocator;

impl SpaceStats {
    /// The current statistics of the space.
    pub(super) fn of(allocator: &Allocator, committed_end: usize) -> SpaceStats {
        let central = allocator.sweeper().lock();
        let (counts, pages) = (central.counts(), allocator.sweeper().heap().pages());
        let [swept_by_allocation, swept_by_background, swept_by_collector] =
            allocator.sweeper().clock().times().spans;
        let page_lock_acquisitions = pages.stats().lock_acquisitions;
        SpaceStats {
            total_allocated: counts.total,
            small_allocated: counts.total.saturating_sub(counts.large),
            allocated_in_cycle: counts.in_cycle,
            freed: counts.freed,
            in_use: pages.in_use().bytes(),
            grown: committed_end,
            resident: PageMemory(allocator).resident_bytes(),
            spans: counts.spans,
            span_lock_acquisitions: counts.lock_acquisitions,
            page_lock_acquisitions,
            large_lock_acquisitions: counts.large_acquisitions,
            large_page_lock_acquisitions: counts.large_page_locks,
            shared_rmws: 2
                * (counts.lock_acquisitions + page_lock_acquisitions)
                    .saturating_sub(counts.large_acquisitions + counts.large_page_locks)
                + counts.gate_rmws,
            refills: counts.refills,
            spans_taken: counts.taken,
            spans_returned: counts.returned,
            swept_by_allocation,
            swept_by_background,
            swept_by_collector,
            hold_spans: allocator.sweeper().longest_hold(),
            held_spans: allocator.sweeper().total_hold(),
            hold_pages: pages.longest_hold(),
            hold_types: allocator.shapes().longest_hold(),
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
    /// Spans that mutators allocated small objects from. This and all following numbers are since the space was made.
    pub spans: u64,
    /// Acquisitions of the lock of the span lists.
    pub span_lock_acquisitions: u64,
    /// Those for large objects.
    pub large_lock_acquisitions: u64,
    /// Acquisitions of the page allocator's lock for large objects.
    pub large_page_lock_acquisitions: u64,
    /// Acquisitions of the page allocator's lock.
    pub page_lock_acquisitions: u64,
    /// Read-modify-writes on shared cache lines for small objects: two for each acquisition of either lock, except for
    /// large objects.
    pub shared_rmws: u64,
    /// Runs that mutators needed, except the next of the same span.
    pub refills: u64,
    /// Spans that mutators took off the central lists.
    pub spans_taken: u64,
    /// Spans that mutators returned there.
    pub spans_returned: u64,
    /// Spans swept by allocating threads.
    pub swept_by_allocation: u64,
    /// Spans swept by the background thread.
    pub swept_by_background: u64,
    /// Spans swept by collecting threads.
    pub swept_by_collector: u64,
    /// The longest time that the lock of the span lists was held, in ticks ([`heapwood_os::threads::timed_lock`]).
    pub hold_spans: u64,
    /// The total time that it was held, in ticks.
    pub held_spans: u64,
    /// The same of the page allocator's lock.
    pub hold_pages: u64,
    /// The same of the lock for registering shapes.
    pub hold_types: u64,
}
