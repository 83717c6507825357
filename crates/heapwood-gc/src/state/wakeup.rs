//! The word on which a heap's own thread sleeps. Collections change it, and so do threads that leave the heap with cached memory,
//! if they are asked to. Invariants: a change that comes while the thread works ends its next wait at once. If such a mutator leaves
//! its heap after the thread asked, it wakes the thread, or the thread sees that the mutator has left if it looks after
//! it asked.

use core::sync::atomic::{AtomicU32, Ordering, fence};
use core::time::Duration;
use heapwood_os::process::clock::{monotonic_ns, thread_cpu_ns};
use heapwood_os::threads::futex::{wait, wait_for, wake};
use heapwood_pages::Clock;

/// Bit of the word: the thread is to end.
const STOP: u32 = 1;
/// Added to the word by an event.
const EVENT: u32 = 2;

/// No collection ends a sleep as short as this: the thread would find nothing to do yet.
const NAP: Duration = Duration::from_millis(5);

/// The wakeup word of a heap.
#[derive(Default)]
pub(crate) struct Wakeup {
    word: AtomicU32,
    /// Not 0 while mutators with cached memory wake the thread when they leave their heap. The first that does resets it.
    wakes: AtomicU32,
    /// Not 0 while the thread sleeps for no longer than a [`NAP`].
    naps: AtomicU32,
    /// Not 0 while the thread returns free memory of arenas now and then.
    looks_after_arenas: AtomicU32,
}

impl Wakeup {
    /// Wakes the thread, unless it naps: a collection has ended.
    pub(crate) fn collected(&self) {
        self.word.fetch_add(EVENT, Ordering::Release);
        // The thread stores whether it naps before it reads the word.
        fence(Ordering::SeqCst);
        if self.naps.load(Ordering::Relaxed) == 0 {
            wake(&self.word, 1);
        }
    }

    /// Wakes the thread.
    fn notify(&self) {
        self.word.fetch_add(EVENT, Ordering::Release);
        wake(&self.word, 1);
    }

    /// Wakes the thread if it waits for a mutator that leaves its heap. The mutator has left, and has passed a
    /// sequentially consistent fence since. `holds` tells whether it has cached memory; it is called only if that
    /// matters.
    #[inline]
    pub(crate) fn mutator_left(&self, holds: impl FnOnce() -> bool) {
        if self.wakes.load(Ordering::Relaxed) != 0 && holds() && self.wakes.swap(0, Ordering::Relaxed) != 0 {
            self.notify();
        }
    }

    /// Wakes the thread if it does not look after arenas yet: an arena has released memory.
    #[inline]
    pub(crate) fn arena_closed(&self) {
        if self.looks_after_arenas.load(Ordering::Relaxed) == 0
            && self.looks_after_arenas.swap(1, Ordering::Relaxed) == 0
        {
            self.notify();
        }
    }

    /// The thread looks after arenas no longer, because none had free memory a moment ago; the next arena to close
    /// wakes it.
    pub(crate) fn forget_arenas(&self) {
        self.looks_after_arenas.store(0, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Sets whether a mutator with cached memory wakes the thread when it leaves its heap.
    pub(crate) fn set_wakes(&self, wakes: bool) {
        self.wakes.store(wakes as u32, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        self.word.fetch_or(STOP, Ordering::Release);
        wake(&self.word, 1);
    }

    /// The word as it is now, to wait for its change; `None` if the thread is to end.
    pub(crate) fn look(&self) -> Option<u32> {
        Some(self.word.load(Ordering::Acquire)).filter(|word| word & STOP == 0)
    }

    /// Waits until the word differs from `seen`, but no longer than `at_most`.
    pub(crate) fn wait(&self, seen: u32, at_most: Option<Duration>) {
        let naps = at_most.is_some_and(|at_most| at_most <= NAP);
        self.naps.store(naps as u32, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        match at_most {
            Some(at_most) => wait_for(&self.word, seen, at_most),
            None => wait(&self.word, seen),
        }
    }
}

/// The thread's clocks, and a sleep that a change of the word ends.
impl Clock for Wakeup {
    fn cpu(&self) -> Duration {
        Duration::from_nanos(thread_cpu_ns())
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(monotonic_ns())
    }

    fn sleep(&self, at_most: Duration) {
        wait_for(&self.word, self.word.load(Ordering::Acquire), at_most);
    }
}
