//! The counters of a heap's collections, and their results, for slow paths and policies. Invariant: they change only
//! when a collection ends.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;
use heapwood_heap::Collection;

/// The counters of a heap's collections.
pub(crate) struct Cycles {
    /// All collections so far, and the full ones.
    collections: AtomicU64,
    full_collections: AtomicU64,
    /// Bytes allocated between the last full collection and the last young one.
    since_full: AtomicUsize,
    /// Live bytes of the last collection, with old objects; and of the last full one.
    live: AtomicUsize,
    live_in_full: AtomicUsize,
    /// The heap size in bytes at which the next full collection is due.
    goal: AtomicUsize,
    /// Marking all that is alive when the next full collection is due would be a long stop.
    would_stop_long: AtomicBool,
    /// The time limit of young collections in nanoseconds, if a test has set it; otherwise the greatest number.
    young_ns: AtomicU64,
    /// A test wants pacing to take bytes for nanoseconds.
    is_paced_by_bytes: AtomicBool,
}

impl Cycles {
    pub(super) fn new(goal: usize) -> Self {
        Cycles {
            collections: AtomicU64::new(0),
            full_collections: AtomicU64::new(0),
            since_full: AtomicUsize::new(0),
            live: AtomicUsize::new(0),
            live_in_full: AtomicUsize::new(0),
            goal: AtomicUsize::new(goal),
            would_stop_long: AtomicBool::new(false),
            young_ns: AtomicU64::new(u64::MAX),
            is_paced_by_bytes: AtomicBool::new(false),
        }
    }

    /// The number of finished collections.
    pub(crate) fn collections(&self) -> u64 {
        self.collections.load(Ordering::Acquire)
    }

    /// The number of finished full collections.
    pub(crate) fn full_collections(&self) -> u64 {
        self.full_collections.load(Ordering::Acquire)
    }

    /// Counts a collection that ends; `allocated` bytes were allocated since the one before.
    pub(crate) fn count_collection(&self, kind: Collection, allocated: usize) {
        match kind {
            Collection::Full => {
                self.since_full.store(0, Ordering::Relaxed);
                self.full_collections.fetch_add(1, Ordering::Release);
            }
            Collection::Young => _ = self.since_full.fetch_add(allocated, Ordering::Relaxed),
        }
        self.collections.fetch_add(1, Ordering::Release);
    }

    /// Bytes allocated between the last full collection and the last collection.
    pub(crate) fn since_full(&self) -> usize {
        self.since_full.load(Ordering::Relaxed)
    }

    /// Live bytes of the last collection.
    pub(crate) fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// Live bytes of the last full collection.
    pub(crate) fn live_in_full(&self) -> usize {
        self.live_in_full.load(Ordering::Relaxed)
    }

    /// Sets the live bytes of a full collection.
    pub(crate) fn set_live_in_full(&self, bytes: usize) {
        self.live_in_full.store(bytes, Ordering::Relaxed);
    }

    /// The heap size in bytes at which the next full collection is due.
    pub(crate) fn goal(&self) -> &AtomicUsize {
        &self.goal
    }

    /// Sets the live bytes that a marking found, and the next goal.
    pub(crate) fn set_sizes(&self, live: usize, goal: usize) {
        self.live.store(live, Ordering::Relaxed);
        self.goal.store(goal, Ordering::Relaxed);
    }

    /// Whether the next full collection would be a long stop.
    pub(crate) fn would_stop_long(&self) -> bool {
        self.would_stop_long.load(Ordering::Relaxed)
    }

    /// Sets that.
    pub(crate) fn set_would_stop_long(&self, long: bool) {
        self.would_stop_long.store(long, Ordering::Relaxed);
    }

    /// Sets the time limit of young collections; `None`: as long as they are profitable.
    pub(crate) fn set_young_time(&self, time: Option<Duration>) {
        self.young_ns.store(time.map_or(u64::MAX, |time| time.as_nanos() as u64), Ordering::Relaxed);
    }

    /// The time limit of a young collection in nanoseconds, if one is set.
    pub(crate) fn young_time(&self) -> Option<u64> {
        Some(self.young_ns.load(Ordering::Relaxed)).filter(|&ns| ns < u64::MAX)
    }

    /// Lets pacing take bytes for nanoseconds, so that no clock decides when a collection comes.
    pub(crate) fn pace_by_bytes(&self) {
        self.is_paced_by_bytes.store(true, Ordering::Relaxed);
    }

    /// Whether pacing takes bytes for nanoseconds.
    pub(crate) fn is_paced_by_bytes(&self) -> bool {
        self.is_paced_by_bytes.load(Ordering::Relaxed)
    }
}
