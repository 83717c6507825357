//! Where mutators wait for a marking beside the program that is behind (`policy/pace`), for a short time each. The marker ends its
//! slice when somebody waits, says how far it has come, and wakes all. Invariant: a waiter sleeps no longer than it says, so a wake-up
//! that is lost costs time alone.

use crate::observe::Stats;
use crate::policy::pace_limits::{MOST_DOUBLED, WAIT};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use core::time::Duration;
use heapwood_os::process::clock::monotonic_ns;
use heapwood_os::threads::futex::{wait_for, wake};

/// The mutators that wait for a marking.
#[derive(Default)]
pub(crate) struct PaceWaiters {
    waiting: AtomicU32,
    /// Each marking is behind, however far it has come. For tests.
    is_always_behind: AtomicBool,
    /// Changes with each part of the room that is granted.
    granted: AtomicU32,
    /// Waits since the last part that were in vain.
    in_vain: AtomicU32,
    /// Waits so far, their nanoseconds, and those of the longest.
    waits: AtomicU64,
    waited_ns: AtomicU64,
    longest_ns: AtomicU64,
}

impl PaceWaiters {
    /// The word as it is now, to wait for its change.
    pub(crate) fn seen(&self) -> u32 {
        self.granted.load(Ordering::Acquire)
    }

    /// How long an allocation waits now: the longer, the more have waited in vain, because the kernel lets the marker wait, too.
    pub(crate) fn patience(&self) -> Duration {
        WAIT * (1 << self.in_vain.load(Ordering::Relaxed).min(MOST_DOUBLED))
    }

    /// An allocation has waited in vain.
    pub(crate) fn give_up(&self) {
        self.in_vain.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until more was granted than when `seen` was read, but no longer than `at_most`.
    pub(crate) fn wait(&self, seen: u32, at_most: Duration) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        wait_for(&self.granted, seen, at_most);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }

    /// Counts a wait that began then.
    pub(crate) fn count(&self, began: u64) {
        let ns = monotonic_ns().saturating_sub(began);
        self.waits.fetch_add(1, Ordering::Relaxed);
        self.waited_ns.fetch_add(ns, Ordering::Relaxed);
        self.longest_ns.fetch_max(ns, Ordering::Relaxed);
    }

    /// Whether somebody waits.
    #[inline]
    pub(crate) fn are_there(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) != 0
    }

    /// More was granted.
    pub(crate) fn grant(&self) {
        self.granted.fetch_add(1, Ordering::Release);
        self.in_vain.store(0, Ordering::Relaxed);
        if self.are_there() {
            wake(&self.granted, i32::MAX);
        }
    }

    /// Lets every allocation beside a marking wait. For tests.
    pub(crate) fn set_always_behind(&self) {
        self.is_always_behind.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_always_behind(&self) -> bool {
        self.is_always_behind.load(Ordering::Relaxed)
    }

    /// In a forked child: nobody waits.
    pub(crate) fn forget(&self) {
        self.waiting.store(0, Ordering::Relaxed);
    }

    /// Adds the waits to the statistics.
    pub(crate) fn add_to_stats(&self, stats: &mut Stats) {
        stats.mark_waits = self.waits.load(Ordering::Relaxed);
        stats.mark_wait_ns = self.waited_ns.load(Ordering::Relaxed);
        stats.mark_wait_max_ns = self.longest_ns.load(Ordering::Relaxed);
    }
}
