//! What a heap's own thread sleeps on: a word that collections change, and threads that leave the heap if they are asked to.
//! Invariants: a change that comes while the thread works ends its next wait at once; of a mutator that has left its heap
//! after the thread asked, the thread is told, or sees that it has left if it looks after it asked.

use core::sync::atomic::{AtomicU32, Ordering, fence};
use core::time::Duration;
use heapwood_os::clock::{monotonic_ns, thread_cpu_ns};
use heapwood_os::futex::{wait, wait_for, wake};
use heapwood_pages::Clock;

/// The thread is to end.
const STOP: u32 = 1;
/// What an event adds.
const EVENT: u32 = 2;

/// Out of a sleep as short as this no collection wakes the thread: it would find nothing to do yet.
const NAP: Duration = Duration::from_millis(5);

/// Which mutators tell that they leave their heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum WakeOn {
    /// None.
    Nobody = 0,
    /// Those that have set something aside.
    Holders = 1,
    /// All.
    Everybody = 2,
}

/// The word.
#[derive(Default)]
pub(crate) struct Wakeup {
    word: AtomicU32,
    /// A [`WakeOn`]. The first that tells makes it nobody.
    tells: AtomicU32,
    /// Not 0 while the thread sleeps for no longer than a [`NAP`].
    naps: AtomicU32,
    /// Not 0 while the thread looks now and then after what arenas do not need.
    looks_after_arenas: AtomicU32,
}

impl Wakeup {
    /// A collection has ended.
    pub(crate) fn collected(&self) {
        self.word.fetch_add(EVENT, Ordering::Release);
        // The thread says whether it naps before it looks at the word.
        fence(Ordering::SeqCst);
        if self.naps.load(Ordering::Relaxed) == 0 {
            wake(&self.word, 1);
        }
    }

    /// Something has happened.
    fn notify(&self) {
        self.word.fetch_add(EVENT, Ordering::Release);
        wake(&self.word, 1);
    }

    /// A mutator has left its heap, and passed a sequentially consistent fence since. Whether it `holds` something is asked
    /// if it matters.
    #[inline]
    pub(crate) fn tell(&self, holds: impl FnOnce() -> bool) {
        let tells = self.tells.load(Ordering::Relaxed);
        if tells == WakeOn::Nobody as u32 || tells == WakeOn::Holders as u32 && !holds() {
            return;
        }
        if self.tells.swap(WakeOn::Nobody as u32, Ordering::Relaxed) != WakeOn::Nobody as u32 {
            self.notify();
        }
    }

    /// An arena has given memory up, for the next or for the kernel: the thread is told once.
    #[inline]
    pub(crate) fn arena_closed(&self) {
        if self.looks_after_arenas.load(Ordering::Relaxed) == 0
            && self.looks_after_arenas.swap(1, Ordering::Relaxed) == 0
        {
            self.notify();
        }
    }

    /// The thread looks no more, as nothing was left a moment ago; the thread that closes an arena tells it again.
    pub(crate) fn forget_arenas(&self) {
        self.looks_after_arenas.store(0, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// From now on so many tell, until one does.
    pub(crate) fn ask(&self, tells: WakeOn) {
        self.tells.store(tells as u32, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// The thread is to end.
    pub(crate) fn stop(&self) {
        self.word.fetch_or(STOP, Ordering::Release);
        wake(&self.word, 1);
    }

    /// The word as it is now, to wait for its change; nothing if the thread is to end.
    pub(crate) fn look(&self) -> Option<u32> {
        Some(self.word.load(Ordering::Acquire)).filter(|word| word & STOP == 0)
    }

    /// Waits until the word is no longer as it was seen, if that is given for at most so long.
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

/// The clocks of the thread, and sleep that a change cuts short.
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
