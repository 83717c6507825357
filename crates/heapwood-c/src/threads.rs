//! Threads: attaching and detaching, polls and blocking regions. This crate keeps its data for a thread, the heap's
//! handle and the last error, in the client's room of the mutator. Invariant: the data is written before `hw_attach`
//! returns. It stays readable after the thread was detached, as long as its heap keeps the mutator.

use crate::error::Error;
use crate::error_report::ErrorReport;
use crate::handle::HeapHandle;
use crate::status::Status;
use core::ffi::c_void;
use core::ptr::{NonNull, null_mut};
use heapwood_gc::{Attached, Client, Misuse, Mutator, StackGiven, stale_pointer};
use std::sync::OnceLock;

/// This crate's data for an attached thread.
#[repr(C)]
struct ThreadRecord {
    heap: NonNull<HeapHandle>,
    /// Only the thread itself uses it.
    report: ErrorReport,
}

const _: () = assert!(
    size_of::<ThreadRecord>() <= size_of::<Client>() && align_of::<ThreadRecord>() <= align_of::<Client>()
);

fn record(m: &Mutator) -> *mut ThreadRecord {
    m.client().get().cast()
}

/// The heap that a mutator belongs to, with its types.
#[inline]
pub fn heap_of(m: &Mutator) -> &HeapHandle {
    // SAFETY: hw_attach set the word, and a heap is not destroyed while threads are attached.
    unsafe { (*record(m)).heap.as_ref() }
}

/// Stores an error for [`hw_last_error`]. Returns its status.
#[cold]
pub fn refuse(m: &Mutator, error: Error) -> Status {
    note(m, &error);
    let stale = error.object().and_then(|at| NonNull::new(at as *mut u8)).and_then(stale_pointer);
    if let Some(stale) = stale {
        m.heap().report(format_args!("a function was called with {stale}"));
    }
    error.status()
}

fn note(m: &Mutator, error: &Error) {
    // An error of another thread is not stored with this thread's errors.
    if !matches!(m.check(), Err(Misuse::OtherThread | Misuse::Detached)) {
        // SAFETY: only the mutator's own thread uses it, and no reference to it exists.
        unsafe { (*record(m)).report = ErrorReport::of(error) };
    }
}

/// Reports the result of a function that takes a heap and no mutator. Returns the status, writes the reason to `*why`
/// unless that is NULL, and stores it for [`hw_last_error`] if the thread is attached.
///
/// # Safety
/// 1. `heap` is NULL or exists; `why` is NULL or may be written.
pub unsafe fn tell(heap: Option<&HeapHandle>, result: Result<(), Error>, why: *mut ErrorReport) -> Status {
    if let (Err(error), Some(heap)) = (&result, heap)
        && let Some(m) = Mutator::here(&heap.heap)
    {
        // SAFETY: it is attached, and this thread's.
        note(unsafe { m.as_ref() }, error);
    }
    // SAFETY: contract 1.
    unsafe { ErrorReport::tell(result, why) }
}

/// The result of a function that returns an object. On error it is NULL, and the error is stored.
pub fn object_or_null(m: &Mutator, result: Result<NonNull<u8>, Error>) -> *mut u8 {
    match result {
        Ok(object) => object.as_ptr(),
        Err(error) => {
            refuse(m, error);
            null_mut()
        }
    }
}

/// Attaches the calling thread, whose stack is given, until it detaches or ends.
fn attach(heap: &HeapHandle, stack: StackGiven) -> Result<NonNull<Mutator>, Error> {
    let here = 0u8;
    let here = &raw const here as usize;
    match stack {
        StackGiven::End(end) if end <= here => return Err(Error::StackEnd(end)),
        StackGiven::Bounds(0, _) => return Err(Error::Null("stack_lo")),
        StackGiven::Bounds(low, high) if !(low..high).contains(&here) => {
            return Err(Error::StackBounds(low, high));
        }
        _ => {}
    }
    let mutator = Mutator::attach_on(&heap.heap, stack)?;
    // SAFETY: the thread was just attached, and its client's room is this crate's.
    unsafe {
        record(&mutator).write(ThreadRecord { heap: NonNull::from(heap), report: ErrorReport::NONE });
    }
    Ok(mutator.into_raw())
}

/// The mutator of the calling thread. Attaches the thread if it is not attached.
fn attach_if_needed(heap: &HeapHandle) -> Result<NonNull<Mutator>, Error> {
    match Mutator::here(&heap.heap) {
        None => attach(heap, StackGiven::Own),
        Some(mutator) => {
            // SAFETY: it is this thread's, and attached.
            unsafe { mutator.as_ref() }.check()?;
            Ok(mutator)
        }
    }
}

/// Reports a mutator to C. Returns the status.
///
/// # Safety
/// 1. `heap` is NULL or exists; `out` and `why` are NULL or may be written.
unsafe fn tell_mutator(
    heap: Option<&HeapHandle>,
    out: *mut *mut Mutator,
    why: *mut ErrorReport,
    mutator: impl FnOnce(&HeapHandle) -> Result<NonNull<Mutator>, Error>,
) -> Status {
    let result = match heap {
        None => Err(Error::Null("heap")),
        Some(_) if out.is_null() => Err(Error::Null("out")),
        Some(heap) => mutator(heap).map(|m| {
            // SAFETY: contract 1.
            unsafe { out.write(m.as_ptr()) }
        }),
    };
    // SAFETY: contract 1.
    unsafe { tell(heap, result, why) }
}

/// Attaches the calling thread.
///
/// # Safety
/// 1. `heap` is NULL or a heap that exists until the thread is detached; `out` and `why` are NULL or may be written.
/// 2. The words from the thread's stack pointer up to `stack_hi`, if that is not NULL, stay readable while it is
///    attached, and it uses the heap only on that stack.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_attach(
    heap: Option<&HeapHandle>,
    stack_hi: *mut c_void,
    out: *mut *mut Mutator,
    why: *mut ErrorReport,
) -> Status {
    let stack = match stack_hi as usize {
        0 => StackGiven::Own,
        end => StackGiven::End(end),
    };
    // SAFETY: contract 1.
    unsafe { tell_mutator(heap, out, why, |heap| attach(heap, stack)) }
}

/// Attaches the calling thread, which is on the stack from `stack_lo` to `stack_hi`.
///
/// # Safety
/// 1. `heap` is NULL or a heap that exists until the thread is detached; `out` and `why` are NULL or may be written.
/// 2. The words of the stack from the thread's stack pointer up stay readable while it is attached, and it uses the heap on that
///    stack, and on those that it announces.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_attach_bounds(
    heap: Option<&HeapHandle>,
    stack_lo: *mut c_void,
    stack_hi: *mut c_void,
    out: *mut *mut Mutator,
    why: *mut ErrorReport,
) -> Status {
    let stack = StackGiven::Bounds(stack_lo as usize, stack_hi as usize);
    // SAFETY: contract 1.
    unsafe { tell_mutator(heap, out, why, |heap| attach(heap, stack)) }
}

/// Attaches the calling thread, unless it is attached.
///
/// # Safety
/// 1. `heap` is NULL or a heap that exists until the thread is detached, or has ended; `out` and `why` are NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_attach_if_needed(
    heap: Option<&HeapHandle>,
    out: *mut *mut Mutator,
    why: *mut ErrorReport,
) -> Status {
    // SAFETY: contract 1.
    unsafe { tell_mutator(heap, out, why, attach_if_needed) }
}

/// The mutator of the calling thread, NULL if it is not attached.
///
/// # Safety
/// 1. `heap` is NULL or exists.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_self(heap: Option<&HeapHandle>) -> *mut Mutator {
    heap.and_then(|heap| Mutator::here(&heap.heap)).map_or(null_mut(), NonNull::as_ptr)
}

/// Detaches the calling thread.
///
/// # Safety
/// 1. `m` is NULL, or a mutator that is attached or was the last to be detached from its heap, which exists.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_detach(m: *mut Mutator) -> Status {
    let Some(m) = NonNull::new(m) else { return Status::EINVAL };
    // SAFETY: contract 1.
    let mutator = unsafe { m.as_ref() };
    match mutator.check() {
        Ok(()) => {
            // SAFETY: hw_attach returned it to this thread, and the heap exists (contract 1).
            drop(unsafe { Attached::from_raw(m) });
            Status::OK
        }
        Err(misuse) => refuse(mutator, misuse.into()),
    }
}

/// The heap a mutator belongs to.
///
/// # Safety
/// 1. `m` is attached.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_mutator_heap(m: &Mutator) -> *const HeapHandle {
    heap_of(m)
}

/// The last error of this mutator.
///
/// # Safety
/// 1. `m` is attached, and belongs to the calling thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_last_error(m: &Mutator) -> *const ErrorReport {
    static OTHER_THREAD: OnceLock<ErrorReport> = OnceLock::new();
    static DETACHED: OnceLock<ErrorReport> = OnceLock::new();
    let text = |misuse: Misuse| ErrorReport::of(&misuse.into());
    match m.check() {
        Err(misuse @ Misuse::OtherThread) => OTHER_THREAD.get_or_init(|| text(misuse)),
        Err(misuse @ Misuse::Detached) => DETACHED.get_or_init(|| text(misuse)),
        // SAFETY: only the mutator's own thread uses it, which is this one.
        _ => unsafe { &raw const (*record(m)).report },
    }
}

/// Stops here if a collection asks for it.
///
/// # Safety
/// 1. `m` is attached, and belongs to the calling thread.
/// 2. Every object that is used later is reachable from a root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_safepoint_slow(m: &Mutator) {
    m.safepoint_slow();
}

/// Calls `f(arg)` while other threads may collect without waiting for this one.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread; every object that is used later is reachable from a
///    root.
/// 2. `f` is NULL or may be called with `arg`, touches neither objects nor `m`, and does not unwind.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_call_blocking(
    m: Option<&Mutator>,
    f: Option<unsafe extern "C" fn(*mut c_void)>,
    arg: *mut c_void,
) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    let Some(f) = f else { return refuse(m, Error::Null("fn")) };
    // SAFETY: contract 2.
    match m.blocking(|| unsafe { f(arg) }) {
        Ok(()) => Status::OK,
        Err(misuse) => refuse(m, misuse.into()),
    }
}
