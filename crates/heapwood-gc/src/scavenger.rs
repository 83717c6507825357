//! The background scavenger: a thread of each heap's own that gives memory back while the program runs. It keeps what
//! the heap will need until its next collection and a tenth more, as Go's does, and releases what lies above, a
//! millisecond at a time, resting so that it takes no more than a hundredth of one CPU. It wakes after collections. Of a
//! heap that has become far larger than what it needs, as after a spike, it sweeps what the program leaves unswept, and
//! after a second it no longer spares what was in use a moment ago.
//!
//! Invariants: it never works on a thread that allocates; it ends before its heap does; it collects nothing itself.

use crate::heap::Heap;
use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use heapwood_os::clock::{monotonic_ns, thread_cpu_ns};
use heapwood_os::futex::{wait, wait_for, wake};
use heapwood_os::{OsError, Thread};
use heapwood_pages::{Background, Clock, Effort};

/// One CPU in so many.
const SHARE: u32 = 100;
/// Bytes of its stack.
const STACK: usize = 64 << 10;

/// The thread is to end.
const STOP: u32 = 1;
/// What a collection adds.
const NEWS: u32 = 2;

/// What the collector and the scavenger share.
#[derive(Default)]
pub(crate) struct Bell(AtomicU32);

impl Bell {
    /// A collection has ended.
    pub(crate) fn ring(&self) {
        self.0.fetch_add(NEWS, Ordering::Release);
        wake(&self.0, 1);
    }

    fn stop(&self) {
        self.0.fetch_or(STOP, Ordering::Release);
        wake(&self.0, 1);
    }

    fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Acquire) & STOP != 0
    }
}

/// The clocks of the thread, and sleep that the end of its heap cuts short.
impl Clock for Bell {
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

/// The thread, which ends when this is dropped.
pub(crate) struct Scavenger {
    heap: *const Heap,
    thread: Option<Thread>,
}

// SAFETY: the pointer is used to reach the bell only, which is an atomic.
unsafe impl Send for Scavenger {}
// SAFETY: as above; the handle is used by `drop` only.
unsafe impl Sync for Scavenger {}

impl Scavenger {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system starts no thread.
    ///
    /// # Safety
    /// 1. The heap stays where it is until this has been dropped.
    pub(crate) unsafe fn start(heap: &Heap) -> Result<Scavenger, OsError> {
        let argument = core::ptr::from_ref(heap).cast_mut().cast();
        // SAFETY: contract 1; the thread is joined before the heap goes. What unwinds out of it ends the process.
        let thread = unsafe { heap.kernel.start_thread(c"heapwood-scaven", STACK, entry, argument) }?;
        Ok(Scavenger { heap, thread: Some(thread) })
    }
}

impl Drop for Scavenger {
    fn drop(&mut self) {
        // SAFETY: contract 1 of `start`.
        unsafe { &*self.heap }.bell.stop();
        if let Some(thread) = self.thread.take() {
            thread.join();
        }
    }
}

unsafe extern "C" fn entry(heap: *mut c_void) -> *mut c_void {
    // SAFETY: `start` passes its heap, which outlives the thread.
    run(unsafe { &*heap.cast::<Heap>() });
    core::ptr::null_mut()
}

fn run(heap: &Heap) {
    let mut background = Background::new(SHARE);
    let mut far = FarAbove::default();
    loop {
        let seen = heap.bell.0.load(Ordering::Acquire);
        if seen & STOP != 0 {
            return;
        }
        let more = background.work_slice(&heap.bell, || release_some(heap, &mut far));
        background.rest(&heap.bell, || heap.bell.is_stopped());
        match far.look(heap) {
            _ if more => {}
            // News that came meanwhile ends the wait at once.
            Some(rests) if rests < LONG_ABOVE => wait_for(&heap.bell.0, seen, LONG_ABOVE - rests),
            _ => wait(&heap.bell.0, seen),
        }
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

/// What is kept behind the pages of a heap: what it needs until its next collection, and a tenth.
fn kept(heap: &Heap) -> usize {
    let goal = heap.goal.load(Ordering::Relaxed);
    goal.saturating_add(goal / 10)
}

impl FarAbove {
    /// How long it has been; `None` if it is not.
    fn look(&mut self, heap: &Heap) -> Option<Duration> {
        let (goal, backed) = (heap.goal.load(Ordering::Relaxed), heap.space.resident_bytes());
        if backed <= kept(heap) {
            self.since = None;
        } else if self.since.is_some() || backed > goal.saturating_add(goal / 2) {
            let now = Duration::from_nanos(monotonic_ns());
            return Some(now.saturating_sub(*self.since.get_or_insert(now)));
        }
        None
    }
}

/// Releases a run if there is more than what is kept, or sweeps some spans of a heap that is far above it; whether it has.
fn release_some(heap: &Heap, far: &mut FarAbove) -> bool {
    if heap.space.resident_bytes() <= kept(heap) {
        return false;
    }
    let effort = match far.look(heap) {
        None => Effort::Gentle,
        // What is dead frees nothing until it has been swept, and a program that needs little sweeps little.
        Some(_) if heap.space.sweep_some() => return true,
        Some(since) if since >= LONG_ABOVE => Effort::Full,
        Some(_) => Effort::Gentle,
    };
    let Some((bytes, true)) = heap.space.release_some(effort) else { return false };
    heap.released.fetch_add(bytes as u64, Ordering::Relaxed);
    true
}
