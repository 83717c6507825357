//! What the collector and the scavenger share: a word that one sleeps on and the other changes. Invariant: a change that
//! comes while the thread works ends its next wait at once.

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use heapwood_os::clock::{monotonic_ns, thread_cpu_ns};
use heapwood_os::futex::{wait, wait_for, wake};
use heapwood_pages::Clock;

/// The thread is to end.
const STOP: u32 = 1;
/// What a collection adds.
const COLLECTION: u32 = 2;

/// The word.
#[derive(Default)]
pub(crate) struct Wakeup(AtomicU32);

impl Wakeup {
    /// A collection has ended.
    pub(crate) fn notify(&self) {
        self.0.fetch_add(COLLECTION, Ordering::Release);
        wake(&self.0, 1);
    }

    /// The thread is to end.
    pub(super) fn stop(&self) {
        self.0.fetch_or(STOP, Ordering::Release);
        wake(&self.0, 1);
    }

    /// The word as it is now, to wait for its change; nothing if the thread is to end.
    pub(super) fn look(&self) -> Option<u32> {
        Some(self.0.load(Ordering::Acquire)).filter(|word| word & STOP == 0)
    }

    /// Waits until the word is no longer as it was seen, if that is given for at most so long.
    pub(super) fn wait(&self, seen: u32, at_most: Option<Duration>) {
        match at_most {
            Some(at_most) => wait_for(&self.0, seen, at_most),
            None => wait(&self.0, seen),
        }
    }
}

/// The clocks of the thread, and sleep that a change cuts short.
impl Clock for Wakeup {
    fn cpu(&self) -> Duration {
        Duration::from_nanos(thread_cpu_ns())
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(monotonic_ns())
    }

    fn sleep(&self, at_most: Duration) {
        wait_for(&self.0, self.0.load(Ordering::Acquire), at_most);
    }
}
