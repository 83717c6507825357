//! The figures of a space. Invariant: they are read under the lock of the central lists, so that they agree.

use super::memory::PageMemory;
use crate::alloc::allocator::Allocator;

impl SpaceStats {
    /// The figures of the space at this moment.
    pub(super) fn of(allocator: &Allocator, extent: usize) -> SpaceStats {
        let central = allocator.sweeper().lock();
        let (counts, pages) = (central.counts(), allocator.sweeper().heap().pages());
        let [swept_by_allocation, swept_by_background, swept_by_collector] =
            allocator.sweeper().clock().times().spans;
        let page_lock_acquisitions = pages.stats().lock_acquisitions;
        SpaceStats {
            total_allocated: counts.total,
            small_allocated: counts.total.saturating_sub(counts.large),
            allocated_in_cycle: counts.in_cycle,
            in_use: pages.in_use().bytes(),
            grown: extent,
            resident: PageMemory(allocator).resident_bytes(),
            spans: counts.spans,
            span_lock_acquisitions: counts.lock_acquisitions,
            page_lock_acquisitions,
            large_lock_acquisitions: counts.large_acquisitions,
            large_page_lock_acquisitions: counts.large_page_locks,
            shared_rmws: 2
                * (counts.lock_acquisitions + page_lock_acquisitions)
                    .saturating_sub(counts.large_acquisitions + counts.large_page_locks),
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

/// Bytes of a space, in several senses, and how its locks are used.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpaceStats {
    /// Handed out to mutators since the space was made.
    pub total_allocated: u64,
    /// Those of them for objects that share pages with others.
    pub small_allocated: u64,
    /// Handed out since the last marking.
    pub allocated_in_cycle: usize,
    /// In pages that spans own, or caches.
    pub in_use: usize,
    /// Committed for spans.
    pub grown: usize,
    /// In pages that may be resident.
    pub resident: usize,
    /// Spans that mutators allocated small objects from, since the space was made like all that follows.
    pub spans: u64,
    /// How often the lock of the span lists was taken.
    pub span_lock_acquisitions: u64,
    /// How often for large objects,
    pub large_lock_acquisitions: u64,
    /// and how often that of the page allocator for those.
    pub large_page_lock_acquisitions: u64,
    /// How often the lock of the page allocator was taken.
    pub page_lock_acquisitions: u64,
    /// Read-modify-writes on lines that others write, too, for small objects: two for each time that one of the two was taken,
    /// but for large objects.
    pub shared_rmws: u64,
    /// How often a mutator needed a run, but for the next of the same span.
    pub refills: u64,
    /// Spans that mutators took off the shared lists.
    pub spans_taken: u64,
    /// Spans that they put there.
    pub spans_returned: u64,
    /// Spans that threads swept that allocate.
    pub swept_by_allocation: u64,
    /// Spans that the background thread swept.
    pub swept_by_background: u64,
    /// Spans that threads swept that collect.
    pub swept_by_collector: u64,
    /// The longest that the lock of the span lists was held, in ticks ([`heapwood_os::threads::timed_lock`]).
    pub hold_spans: u64,
    /// All the time that it was held, by any thread, in ticks.
    pub held_spans: u64,
    /// The same of the page allocator's lock.
    pub hold_pages: u64,
    /// The same of the lock for registering shapes.
    pub hold_types: u64,
}
