//! Which threads are registered, and by which signal they stop. Invariant: a registered thread is attached to the heap until it
//! ends or unregisters itself; a process whose program has one thread has no other.

use crate::process::{self, attached_mutator, made};
use crate::symbols::GC_parallel;
use crate::types::StackBase;
use crate::{report, stacks};
use core::ffi::{c_int, c_uint};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering::Relaxed};
use heapwood_gc::{Attached, Heap, Mutator, StackGiven};
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

const SUCCESS: c_int = 0;
const DUPLICATE: c_int = 1;

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

/// `GC_allow_register_threads`.
pub(crate) fn allow() {
    process::mutator();
    expect_threads();
}

/// `GC_start_mark_threads`.
pub(crate) fn start_markers() {
    allow();
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

/// `GC_register_my_thread`: 1 if it is registered.
///
/// # Safety
/// 1. The words of the stack from here to the base, if that is another stack than the thread's own, stay readable.
pub(crate) unsafe fn register(base: *const StackBase) -> c_int {
    if attached_mutator().is_some() {
        return DUPLICATE;
    }
    expect_threads();
    let here = 0u8;
    let here = &raw const here as usize;
    let own = heapwood_os::threads::stack::StackBounds::current();
    let stack = match own {
        Some(own) if (own.low..own.high).contains(&here) => StackGiven::Own,
        // SAFETY: contract 1.
        _ if !base.is_null() => StackGiven::Bounds(here & !4095, unsafe { base.read() }.base as usize),
        _ => StackGiven::Own,
    };
    process::attach(stack);
    SUCCESS
}

/// `GC_unregister_my_thread`.
pub(crate) fn unregister() -> c_int {
    if let Some(mutator) = attached_mutator() {
        // SAFETY: it is the thread's, which uses it no more.
        drop(unsafe { Attached::from_raw(NonNull::from(mutator)) });
    }
    SUCCESS
}

/// `GC_thread_is_registered`.
pub(crate) fn is_registered() -> c_int {
    attached_mutator().is_some().into()
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
