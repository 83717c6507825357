//! How far the collections of a heap have come, and what they have found: what slow paths and policies ask. Invariant: it
//! changes only as a collection ends.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;
use heapwood_heap::Collection;

/// The counters of a heap's collections.
pub(crate) struct Cycles {
    /// Collections so far, and those of them that were full.
    collections: AtomicU64,
    full_collections: AtomicU64,
    /// The bytes that were handed out before the young collections since the last full one.
    since_full: AtomicUsize,
    /// The bytes that the last collection found alive, with what is old; and those that the last full one found.
    live: AtomicUsize,
    live_in_full: AtomicUsize,
    /// The size in bytes at which the next full one is due.
    goal: AtomicUsize,
    /// The time of young collections in nanoseconds that a test has set, or the most.
    young_ns: AtomicU64,
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
            young_ns: AtomicU64::new(u64::MAX),
        }
    }

    /// How many collections have ended.
    pub(crate) fn collections(&self) -> u64 {
        self.collections.load(Ordering::Acquire)
    }

    /// How many of them looked at everything.
    pub(crate) fn full_collections(&self) -> u64 {
        self.full_collections.load(Ordering::Acquire)
    }

    /// A collection ends, before which N bytes had been handed out since the one before.
    pub(crate) fn count_collection(&self, kind: Collection, handed_out: usize) {
        match kind {
            Collection::Full => {
                self.since_full.store(0, Ordering::Relaxed);
                self.full_collections.fetch_add(1, Ordering::Release);
            }
            Collection::Young => _ = self.since_full.fetch_add(handed_out, Ordering::Relaxed),
        }
        self.collections.fetch_add(1, Ordering::Release);
    }

    /// The bytes that were handed out between the last full collection and the last of all.
    pub(crate) fn since_full(&self) -> usize {
        self.since_full.load(Ordering::Relaxed)
    }

    /// The bytes that the last collection found alive.
    pub(crate) fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// The bytes that the last full collection found alive.
    pub(crate) fn live_in_full(&self) -> usize {
        self.live_in_full.load(Ordering::Relaxed)
    }

    /// A full collection has found so many.
    pub(crate) fn set_live_in_full(&self, bytes: usize) {
        self.live_in_full.store(bytes, Ordering::Relaxed);
    }

    /// The size in bytes at which the next full collection is due.
    pub(crate) fn goal(&self) -> &AtomicUsize {
        &self.goal
    }

    /// A marking has found N bytes alive, and sets this goal.
    pub(crate) fn set_sizes(&self, live: usize, goal: usize) {
        self.live.store(live, Ordering::Relaxed);
        self.goal.store(goal, Ordering::Relaxed);
    }

    /// From now on young collections have so much time, or as much as they are worth.
    pub(crate) fn set_young_time(&self, time: Option<Duration>) {
        self.young_ns.store(time.map_or(u64::MAX, |time| time.as_nanos() as u64), Ordering::Relaxed);
    }

    /// How many nanoseconds a young collection has, if that is set.
    pub(crate) fn young_time(&self) -> Option<u64> {
        Some(self.young_ns.load(Ordering::Relaxed)).filter(|&ns| ns < u64::MAX)
    }
}
