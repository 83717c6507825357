//! Threads that the program starts by libgc's functions (gc.h renames its calls): they are registered before the program's
//! function is called, and what they return is kept until another thread has joined them. Invariant: the argument is on the stack
//! of the starting thread until the new one has it.

use crate::exports::types::{Const, Ptr, SignalSet, StartRoutine, Thread};
use crate::process::{heap, mutator};
use crate::threads;
use crate::threads::lock::Locked;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};
use heapwood_os::memory::region::Zeroed;
use heapwood_os::threads::futex;
use heapwood_os::{MappedArray, SYSTEM};

unsafe extern "C-unwind" {
    // The libc crate's may not unwind, and these end a thread by unwinding its stack.
    fn pthread_exit(result: Ptr) -> !;
    fn pthread_join(thread: Thread, result: *mut Ptr) -> c_int;
}

/// What a new thread is to do.
struct Start {
    function: StartRoutine,
    argument: Ptr,
    is_detached: bool,
    has_begun: AtomicU32,
}

/// A thread that may be joined, and what it has returned.
#[derive(Clone, Copy)]
#[repr(C)]
struct Result {
    thread: usize,
    value: usize,
    /// 1 while it is suspended, also if it has ended.
    suspended: usize,
}

// SAFETY: plain numbers.
unsafe impl Zeroed for Result {}

/// Results that are kept; one of more threads at once is kept by its joiner alone.
const RESULTS: usize = 1 << 12;

static TABLE: Locked<Option<MappedArray<Result>>> = Locked::new(None);

/// Runs `f` with the results, if there is memory for them.
fn with_results<R>(f: impl FnOnce(&mut [Result]) -> R) -> Option<R> {
    let root = TABLE.with(|table| {
        if table.is_none() {
            let results = MappedArray::<Result>::new(&SYSTEM, RESULTS).ok()?;
            results.commit(0..RESULTS).ok()?;
            let start = results.as_ptr() as usize;
            *table = Some(results);
            return Some(start);
        }
        None
    });
    if let Some(start) = root {
        // SAFETY: the table stays for good.
        let _ = unsafe { heap().roots().add_range(start, start + RESULTS * size_of::<Result>()) };
    }
    TABLE.with(|table| {
        // SAFETY: all are committed, and the lock is this thread's.
        table.as_ref().map(|table| f(unsafe { core::slice::from_raw_parts_mut(table.as_ptr(), RESULTS) }))
    })
}

/// Keeps what the calling thread returns.
fn keep(value: Ptr) {
    // SAFETY: it has no arguments.
    let me = unsafe { libc::pthread_self() } as usize;
    with_results(|results| {
        if let Some(result) = results.iter_mut().find(|result| result.thread == me) {
            result.value = value as usize;
        }
    });
}

/// Notes of a thread that has not been joined whether it is suspended.
pub(crate) fn note_suspended(thread: Thread, suspended: bool) {
    with_results(|results| {
        if let Some(result) = results.iter_mut().find(|result| result.thread == thread as usize) {
            result.suspended = suspended.into();
        }
    });
}

/// Whether that was noted.
pub(crate) fn is_suspended(thread: Thread) -> bool {
    with_results(|results| results.iter().any(|r| r.thread == thread as usize && r.suspended != 0))
        == Some(true)
}

/// Forgets a thread.
fn forget(thread: Thread) {
    with_results(|results| {
        if let Some(result) = results.iter_mut().find(|result| result.thread == thread as usize) {
            *result = Result { thread: 0, value: 0, suspended: 0 };
        }
    });
}

unsafe extern "C-unwind" fn start(start: Ptr) -> Ptr {
    let (function, argument);
    {
        // SAFETY: it is on the stack of the starting thread, which waits.
        let start = unsafe { &*start.cast::<Start>() };
        (function, argument) = (start.function, start.argument);
        mutator();
        if !start.is_detached {
            // SAFETY: it has no arguments.
            let me = unsafe { libc::pthread_self() } as usize;
            with_results(|results| {
                // A thread that nobody has joined by these functions may have had the number.
                let place = results.iter().position(|result| result.thread == me);
                if let Some(at) = place.or_else(|| results.iter().position(|result| result.thread == 0)) {
                    results[at] = Result { thread: me, value: 0, suspended: 0 };
                }
            });
        }
        start.has_begun.store(1, Ordering::Release);
        futex::wake(&start.has_begun, i32::MAX);
    }
    // SAFETY: the program has given both.
    let result = unsafe { function(argument) };
    keep(result);
    result
}

/// `GC_pthread_create`.
///
/// # Safety
/// 1. As for pthread_create.
pub(crate) unsafe fn create(
    thread: *mut Thread,
    attributes: Const,
    function: StartRoutine,
    argument: Ptr,
) -> c_int {
    let mutator = mutator();
    threads::expect_threads();
    let mut detached = libc::PTHREAD_CREATE_JOINABLE;
    if !attributes.is_null() {
        // SAFETY: contract 1.
        unsafe { pthread_attr_getdetachstate(attributes, &mut detached) };
    }
    let is_detached = detached != libc::PTHREAD_CREATE_JOINABLE;
    let mut begin = Start { function, argument, is_detached, has_begun: AtomicU32::new(0) };
    let argument: Ptr = (&raw mut begin).cast();
    // SAFETY: contract 1; both have the same form, and this waits until the thread has read what it is to do.
    let error = unsafe {
        let start = core::mem::transmute::<StartRoutine, extern "C" fn(Ptr) -> Ptr>(start);
        libc::pthread_create(thread, attributes.cast(), start, argument)
    };
    if error == 0 {
        let wait = || {
            while begin.has_begun.load(Ordering::Acquire) == 0 {
                futex::wait(&begin.has_begun, 0);
            }
        };
        if mutator.blocking(wait).is_err() {
            wait();
        }
    }
    error
}

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attributes: Const, state: *mut c_int) -> c_int;
}

/// `GC_pthread_join`.
///
/// # Safety
/// 1. As for pthread_join.
pub(crate) unsafe fn join(thread: Thread, result: *mut Ptr) -> c_int {
    // SAFETY: contract 1.
    let error = unsafe { pthread_join(thread, result) };
    if error == 0 {
        forget(thread);
    }
    error
}

/// `GC_pthread_detach`.
///
/// # Safety
/// 1. As for pthread_detach.
pub(crate) unsafe fn detach(thread: Thread) -> c_int {
    // SAFETY: contract 1.
    let error = unsafe { libc::pthread_detach(thread) };
    if error == 0 {
        forget(thread);
    }
    error
}

/// `GC_pthread_cancel`.
///
/// # Safety
/// 1. As for pthread_cancel.
pub(crate) unsafe fn cancel(thread: Thread) -> c_int {
    // SAFETY: contract 1.
    unsafe { libc::pthread_cancel(thread) }
}

/// `GC_pthread_exit`.
///
/// # Safety
/// 1. As for pthread_exit.
pub(crate) unsafe fn exit(result: Ptr) -> ! {
    keep(result);
    // SAFETY: contract 1.
    unsafe { pthread_exit(result) }
}

/// `GC_pthread_sigmask`: the signal that stops threads is not blocked.
///
/// # Safety
/// 1. As for pthread_sigmask.
pub(crate) unsafe fn sigmask(how: c_int, set: *const SignalSet, old: *mut SignalSet) -> c_int {
    // SAFETY: contract 1.
    unsafe {
        if set.is_null() || how == libc::SIG_UNBLOCK {
            return libc::pthread_sigmask(how, set, old);
        }
        let mut without = set.read();
        libc::sigdelset(&mut without, threads::suspend_signal());
        libc::pthread_sigmask(how, &without, old)
    }
}
