//! The background scavenger: a thread of each heap's own that gives memory back while the program runs. It keeps what
//! the heap will need until its next collection and a tenth more, as Go's does, and releases what lies above, a
//! millisecond at a time, resting so that it takes no more than a hundredth of one CPU. It wakes after collections.
//!
//! Invariants: it never works on a thread that allocates; it ends before its heap does; it collects and sweeps nothing
//! itself, so what it finds is what a sweep has freed.

use crate::heap::Heap;
use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use heapwood_os::clock::{monotonic_ns, thread_cpu_ns};
use heapwood_os::lock::{wait, wait_for, wake};
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
    loop {
        let seen = heap.bell.0.load(Ordering::Acquire);
        if seen & STOP != 0 {
            return;
        }
        let more = background.bout(&heap.bell, || release_some(heap));
        background.rest(&heap.bell, || heap.bell.is_stopped());
        if !more {
            // News that came meanwhile ends the wait at once.
            wait(&heap.bell.0, seen);
        }
    }
}

/// Releases a run if there is more than what is kept; whether it has.
fn release_some(heap: &Heap) -> bool {
    let goal = heap.goal.load(Ordering::Relaxed);
    if heap.space.backed_bytes() <= goal.saturating_add(goal / 10) {
        return false;
    }
    let Some((bytes, true)) = heap.space.release_some(Effort::Gentle) else { return false };
    heap.released.fetch_add(bytes as u64, Ordering::Relaxed);
    true
}
