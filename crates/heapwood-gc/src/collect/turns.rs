//! Whose turn it is with the collector's lock: a marker beside the program holds it for as long as nobody else wants it. Whoever
//! wants it counts itself before it waits; the marker looks at the count, gives the lock up, and takes it again after they have
//! had it. Invariant: the count is that of threads between asking for the lock and having it.

use core::sync::atomic::{AtomicU32, Ordering};
use heapwood_os::threads::futex::{wait, wake};

/// The threads that want the lock.
#[derive(Default)]
pub(super) struct Turns {
    waiting: AtomicU32,
    /// The marker sleeps until nobody waits.
    marker_sleeps: AtomicU32,
}

impl Turns {
    /// Takes the lock by `take`, before the marker.
    pub(super) fn take<L>(&self, take: impl FnOnce() -> L) -> L {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let lock = take();
        // The marker stores that it sleeps, and then reads the count.
        if self.waiting.fetch_sub(1, Ordering::SeqCst) == 1 && self.marker_sleeps.load(Ordering::SeqCst) != 0
        {
            wake(&self.waiting, 1);
        }
        lock
    }

    /// Whether somebody waits for the lock.
    #[inline]
    pub(super) fn is_awaited(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) != 0
    }

    /// The marker waits until nobody does.
    pub(super) fn wait_for_others(&self) {
        while self.is_awaited() {
            self.marker_sleeps.store(1, Ordering::SeqCst);
            let seen = self.waiting.load(Ordering::SeqCst);
            if seen != 0 {
                wait(&self.waiting, seen);
            }
            self.marker_sleeps.store(0, Ordering::Relaxed);
        }
    }

    /// In a forked child: nobody waits.
    pub(super) fn forget(&self) {
        self.waiting.store(0, Ordering::Relaxed);
        self.marker_sleeps.store(0, Ordering::Relaxed);
    }
}
