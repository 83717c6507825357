//! Which threads are registered, and by which signal they stop. Invariant: a registered thread is attached to the heap until it
//! ends or unregisters itself; a process whose program has one thread has no other.

pub(crate) mod blocking;
pub(crate) mod lock;
pub(crate) mod pthreads;
pub(crate) mod stacks;
pub(crate) mod suspend;

use crate::exports::variables::GC_parallel;
use crate::process::{self, made};
use crate::report;
use core::ffi::{c_int, c_uint};
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering::Relaxed};
use heapwood_gc::{Heap, Mutator};
use heapwood_os::process::cores;

/// The signal that stops threads: libgc's.
static SUSPEND: AtomicI32 = AtomicI32::new(libc::SIGPWR);
static RESTART: AtomicI32 = AtomicI32::new(libc::SIGXCPU);
/// Threads that mark; 0 if the heap decides.
static MARKERS: AtomicUsize = AtomicUsize::new(0);
/// The program has, or may soon have, other threads.
static HAS_THREADS: AtomicBool = AtomicBool::new(false);
/// A thread was attached.
static HAS_FIRST: AtomicBool = AtomicBool::new(false);

/// The heap was made: one thread marks, until the program says that it has others.
pub(crate) fn begin_heap(heap: &'static Heap) {
    if heap.config().mark_threads.is_none() {
        let _ = heap.set_mark_threads(Some(1));
    }
}

/// The calling thread was attached.
pub(crate) fn begin(mutator: &'static Mutator) {
    let is_first = !HAS_FIRST.swap(true, Relaxed);
    stacks::begin(mutator, is_first);
    if !is_first {
        expect_threads();
    }
}

/// The program has other threads: so may the heap.
pub(crate) fn expect_threads() {
    if HAS_THREADS.load(Relaxed) || HAS_THREADS.swap(true, Relaxed) {
        return;
    }
    let heap = process::heap();
    if heap.config().mark_threads.is_none() {
        // Procedures of a program without threads are called on its thread alone.
        let _ = heap.set_mark_threads(markers());
    }
    let markers = heap.mark_threads().unwrap_or_else(cores::available);
    GC_parallel.store(markers.saturating_sub(1) as c_int, Relaxed);
    heap.start_background();
}

/// `GC_set_markers_count`; 0: the heap decides.
pub(crate) fn set_markers(threads: c_uint) {
    if made().is_some() {
        return;
    }
    MARKERS.store((threads as usize).min(heapwood_gc::Config::MOST_MARK_THREADS as usize), Relaxed);
}

/// How many threads mark, if the program says.
pub(crate) fn markers() -> Option<usize> {
    Some(MARKERS.load(Relaxed)).filter(|&markers| markers != 0)
}

/// `GC_get_parallel`: helpers of the marking thread.
pub(crate) fn parallel() -> c_int {
    GC_parallel.load(Relaxed)
}

/// `GC_get_suspend_signal`.
pub(crate) fn suspend_signal() -> c_int {
    SUSPEND.load(Relaxed)
}

/// `GC_set_suspend_signal`.
pub(crate) fn set_suspend_signal(signal: c_int) {
    if made().is_some() && signal != suspend_signal() {
        report::warn(format_args!(
            "GC_set_suspend_signal: threads stop by signal {} already; call it before GC_init",
            suspend_signal()
        ));
        return;
    }
    SUSPEND.store(signal, Relaxed);
}

/// `GC_get_thr_restart_signal`.
pub(crate) fn restart_signal() -> c_int {
    RESTART.load(Relaxed)
}

/// `GC_set_thr_restart_signal`.
pub(crate) fn set_restart_signal(signal: c_int) {
    RESTART.store(signal, Relaxed);
}
