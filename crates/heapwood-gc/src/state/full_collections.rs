//! Full collections that the program asks for without waiting, and waits for later. They are counted; a request gets the number
//! of the first one that begins after it: while a marking goes on beside the program, that is the one after it, because the
//! marking keeps what was dropped since it began. Any full collection serves whoever has asked for its number.
//!
//! The marker thread makes them where there is one. Where there is none the next allocation that takes the slow path
//! collects ([`FullCollections::is_due`]), or whoever waits.
//!
//! Invariant: no number was given out that is larger than `asked`, and at most two collections are missing to that.

use crate::state::Cycles;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use heapwood_os::threads::futex::{wait, wake};

/// The full collections of one heap, as those see them who have asked for one.
#[derive(Default)]
pub(crate) struct FullCollections {
    /// How many have ended, and are in the statistics.
    ended: AtomicU64,
    /// The largest number that was given out, and that of those which are left to allocation.
    asked: AtomicU64,
    due: AtomicU64,
    /// Changes when one has ended, or nobody is to sleep any more.
    word: AtomicU32,
}

impl FullCollections {
    /// The number of the first that begins after this was called; a marking goes on if it `is_marking`. The caller's mutator runs,
    /// so none begins or ends meanwhile; if a signal stops the thread for one, that has begun after the call, too.
    pub(crate) fn next(cycles: &Cycles, is_marking: bool) -> u64 {
        cycles.full_collections() + 1 + u64::from(is_marking)
    }

    /// The same, which the caller will wait for.
    pub(crate) fn ask(&self, cycles: &Cycles, is_marking: bool) -> u64 {
        let number = Self::next(cycles, is_marking);
        self.asked.fetch_max(number, Ordering::Relaxed);
        number
    }

    /// Leaves the collection of this number to allocation.
    pub(crate) fn leave_to_allocation(&self, number: u64) {
        self.due.fetch_max(number, Ordering::Relaxed);
    }

    /// Whether such a number may have been given out.
    pub(crate) fn knows(&self, number: u64) -> bool {
        number <= self.asked.load(Ordering::Relaxed)
    }

    /// Whether the collection of this number has ended.
    pub(crate) fn has_ended(&self, number: u64) -> bool {
        self.ended.load(Ordering::Acquire) >= number
    }

    /// Whether somebody has asked for one that has not ended.
    pub(crate) fn is_owed(&self) -> bool {
        !self.has_ended(self.asked.load(Ordering::Relaxed))
    }

    /// Whether one was left to allocation and has not ended.
    pub(crate) fn is_due(&self) -> bool {
        !self.has_ended(self.due.load(Ordering::Relaxed))
    }

    /// One has ended, and its figures can be read.
    pub(crate) fn tell_ended(&self, cycles: &Cycles) {
        self.ended.store(cycles.full_collections(), Ordering::Release);
        self.wake_all();
    }

    /// Wakes all who sleep: they look again.
    pub(crate) fn wake_all(&self) {
        self.word.fetch_add(1, Ordering::Release);
        wake(&self.word, i32::MAX);
    }

    /// Sleeps until the collection of this number has ended, or `gives_up`.
    pub(crate) fn sleep_until_ended(&self, number: u64, gives_up: impl Fn() -> bool) {
        loop {
            // Whoever ends one or gives up tells first and changes the word then.
            let seen = self.word.load(Ordering::Acquire);
            if self.has_ended(number) || gives_up() {
                return;
            }
            wait(&self.word, seen);
        }
    }

    /// In a forked child: the thread that was to tell that one has ended may be the parent's.
    pub(crate) fn resume_in_child(&self, cycles: &Cycles) {
        self.ended.store(cycles.full_collections(), Ordering::Relaxed);
    }
}
