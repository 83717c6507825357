//! How a concurrent marking is asked for, and how a program waits for its end. The marker thread sleeps on one word, and
//! programs that wait sleep on another. Invariants: a request that comes while the marker works is seen before it sleeps
//! again. A waiter for the full collection with some number wakes once that many have ended.

use core::sync::atomic::{AtomicU32, Ordering, fence};
use heapwood_os::threads::futex::{wait, wake};

/// Bit of the word: a marking is wanted.
const WANTED: u32 = 1;
/// Bit of the word: the thread is to end.
const STOP: u32 = 2;

/// The requests for concurrent markings of one heap.
#[derive(Default)]
pub(crate) struct MarkingRequests {
    word: AtomicU32,
    /// Full collections that have ended, modulo its range.
    ended: AtomicU32,
    /// Threads that wait for one.
    waiters: AtomicU32,
}

impl MarkingRequests {
    /// Asks for a concurrent marking.
    pub(crate) fn start(&self) {
        if self.word.fetch_or(WANTED, Ordering::AcqRel) & WANTED == 0 {
            wake(&self.word, 1);
        }
    }

    /// Whether a marking is wanted that the marker has not begun.
    pub(crate) fn is_wanted(&self) -> bool {
        self.word.load(Ordering::Relaxed) & WANTED != 0
    }

    /// Takes back the request, if there is one.
    pub(crate) fn withdraw(&self) {
        self.word.fetch_and(!WANTED, Ordering::Relaxed);
    }

    /// Waits for a request, and takes it; false if the thread is to end.
    pub(crate) fn next(&self) -> bool {
        loop {
            let now = self.word.load(Ordering::Acquire);
            if now & STOP != 0 {
                return false;
            }
            if now & WANTED != 0 {
                self.word.fetch_and(!WANTED, Ordering::AcqRel);
                return true;
            }
            wait(&self.word, now);
        }
    }

    /// Ends the marker thread.
    pub(crate) fn stop(&self) {
        self.word.fetch_or(STOP, Ordering::AcqRel);
        wake(&self.word, 1);
    }

    /// Whether the marker thread is to end.
    #[inline]
    pub(crate) fn stops(&self) -> bool {
        self.word.load(Ordering::Relaxed) & STOP != 0
    }

    /// A full collection has ended.
    pub(crate) fn full_ended(&self) {
        self.ended.fetch_add(1, Ordering::Release);
        // Who waits counts itself before it reads the word.
        fence(Ordering::SeqCst);
        if self.waiters.load(Ordering::Relaxed) != 0 {
            wake(&self.ended, i32::MAX);
        }
    }

    /// Waits until it is `done`, which is asked again after each full collection.
    pub(crate) fn wait_until(&self, done: impl Fn() -> bool) {
        self.waiters.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        loop {
            let seen = self.ended.load(Ordering::Acquire);
            if done() {
                break;
            }
            wait(&self.ended, seen);
        }
        self.waiters.fetch_sub(1, Ordering::Relaxed);
    }

    /// In a forked child: nobody else waits.
    pub(crate) fn forget_waiters(&self) {
        self.waiters.store(0, Ordering::Relaxed);
    }
}
