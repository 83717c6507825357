//! The background scavenger: a thread of each heap's own that gives memory back while the program runs. It keeps what
//! the heap will need until its next collection and a tenth more, as Go's does, and releases what lies above, a
//! millisecond at a time, resting so that it takes no more than a hundredth of one CPU. It wakes after collections. Of a
//! heap that has become far larger than what it needs, as after a spike, it sweeps what the program leaves unswept, and
//! after a second it no longer spares what was in use a moment ago.
//!
//! Invariants: it never works on a thread that allocates; it ends before its heap does; it collects nothing itself.

use super::wakeup::Wakeup;
use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;
use heapwood_heap::Space;
use heapwood_os::clock::monotonic_ns;
use heapwood_os::{KernelRef, OsError, Thread};
use heapwood_pages::{Background as Pacing, Effort};

/// One CPU in so many.
const SHARE: u32 = 100;
/// Bytes of its stack.
const STACK: usize = 64 << 10;

/// What the scavenger shares with its heap, in which it lies.
#[derive(Default)]
pub(crate) struct Background {
    wakeup: Wakeup,
    /// Bytes that were given back, by the thread or when asked to.
    released: AtomicU64,
    /// What the thread works on, once it has been started.
    space: AtomicPtr<Space>,
    goal: AtomicPtr<AtomicUsize>,
}

impl Background {
    /// A collection has ended.
    pub(crate) fn wake(&self) {
        self.wakeup.notify();
    }

    /// So many bytes were given back.
    pub(crate) fn count_released(&self, bytes: usize) {
        self.released.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// The bytes that were given back so far.
    pub(crate) fn released(&self) -> u64 {
        self.released.load(Ordering::Relaxed)
    }
}

/// The thread, which ends when this is dropped.
pub(crate) struct Scavenger {
    background: *const Background,
    thread: Option<Thread>,
}

// SAFETY: the pointer is used to reach the wakeup only, which is an atomic.
unsafe impl Send for Scavenger {}
// SAFETY: as above; the handle is used by `drop` only.
unsafe impl Sync for Scavenger {}

impl Scavenger {
    /// Starts the thread, for a heap with this space and this goal.
    ///
    /// # Errors
    /// The system starts no thread.
    ///
    /// # Safety
    /// 1. What is passed stays where it is until this has been dropped.
    pub(crate) unsafe fn start(
        kernel: KernelRef,
        background: &Background,
        space: &Space,
        goal: &AtomicUsize,
    ) -> Result<Scavenger, OsError> {
        background.space.store(core::ptr::from_ref(space).cast_mut(), Ordering::Relaxed);
        background.goal.store(core::ptr::from_ref(goal).cast_mut(), Ordering::Relaxed);
        let argument = core::ptr::from_ref(background).cast_mut().cast();
        // SAFETY: contract 1; the thread is joined before the heap goes. What unwinds out of it ends the process.
        let thread = unsafe { kernel.start_thread(c"heapwood-scaven", STACK, entry, argument) }?;
        Ok(Scavenger { background, thread: Some(thread) })
    }
}

impl Drop for Scavenger {
    fn drop(&mut self) {
        // SAFETY: contract 1 of `start`.
        unsafe { &*self.background }.wakeup.stop();
        if let Some(thread) = self.thread.take() {
            thread.join();
        }
    }
}

unsafe extern "C" fn entry(background: *mut c_void) -> *mut c_void {
    // SAFETY: `start` passes what outlives the thread, and has stored what leads to the heap's space and goal.
    let work = unsafe {
        let background = &*background.cast::<Background>();
        let (space, goal) = (&background.space, &background.goal);
        Work { space: &*space.load(Ordering::Relaxed), goal: &*goal.load(Ordering::Relaxed), background }
    };
    work.run();
    null_mut()
}

/// What the thread works on.
struct Work<'h> {
    space: &'h Space,
    goal: &'h AtomicUsize,
    background: &'h Background,
}

impl Work<'_> {
    fn run(&self) {
        let (mut pacing, mut far) = (Pacing::new(SHARE), FarAbove::default());
        let wakeup = &self.background.wakeup;
        while let Some(seen) = wakeup.look() {
            let more = pacing.work_slice(wakeup, || self.release_some(&mut far));
            pacing.rest(wakeup, || wakeup.look().is_none());
            match far.look(self) {
                _ if more => {}
                // A collection that ended meanwhile ends the wait at once.
                Some(since) if since < LONG_ABOVE => wakeup.wait(seen, Some(LONG_ABOVE - since)),
                _ => wakeup.wait(seen, None),
            }
        }
    }

    /// The size at which the next collection is due.
    fn goal(&self) -> usize {
        self.goal.load(Ordering::Relaxed)
    }

    /// What is kept behind the pages of a heap (what may stay resident): what it needs until its next collection, and a
    /// tenth.
    fn kept(&self) -> usize {
        self.goal().saturating_add(self.goal() / 10)
    }

    /// Releases a run if there is more than what is kept, or sweeps some spans of a heap that is far above it; whether it
    /// has.
    fn release_some(&self, far: &mut FarAbove) -> bool {
        if self.space.resident_bytes() <= self.kept() {
            return false;
        }
        let effort = match far.look(self) {
            None => Effort::Gentle,
            // What is dead frees nothing until it has been swept, and a program that needs little sweeps little.
            Some(_) if self.space.sweep_some() => return true,
            Some(since) if since >= LONG_ABOVE => Effort::Full,
            Some(_) => Effort::Gentle,
        };
        let Some((bytes, true)) = self.space.release_some(effort) else { return false };
        self.background.count_released(bytes);
        true
    }
}

/// How long the heap has been far larger than what it needs until its next collection: since it was half as large again,
/// until no more is left of that than a heap keeps.
#[derive(Default)]
struct FarAbove {
    since: Option<Duration>,
}

/// After so long, memory that was in use a moment ago goes, too.
const LONG_ABOVE: Duration = Duration::from_secs(1);

impl FarAbove {
    /// How long it has been; `None` if it is not.
    fn look(&mut self, work: &Work<'_>) -> Option<Duration> {
        let (goal, backed) = (work.goal(), work.space.resident_bytes());
        if backed <= work.kept() {
            self.since = None;
        } else if self.since.is_some() || backed > goal.saturating_add(goal / 2) {
            let now = Duration::from_nanos(monotonic_ns());
            return Some(now.saturating_sub(*self.since.get_or_insert(now)));
        }
        None
    }
}
