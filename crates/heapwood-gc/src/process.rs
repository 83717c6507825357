//! What there is once a process, since the operating system has it so: a thread's record and what happens as a thread ends, and the
//! handlers of signals. The one file of this crate with anything of the process's own; all else hangs off a heap.
//!
//! A thread's record is a thread-local variable. Its address is the thread's value of a key, which the C library calls a
//! function for as a thread that has one exits, and which a handler may read: the variable of a library that was loaded late may have to be
//! allocated. A handler, once installed, stays: a signal may wait in a thread that blocks it, longer than any heap. What the
//! program had wanted of the signal before is kept, and done when one comes that is not ours.
//!
//! Invariant: a thread with mutators has a value of the key; a handler that is installed finds what it replaced.

use crate::error::HeapError;
use crate::mutator::Mutator;
use crate::mutator::interrupt::mark;
use crate::mutator::thread_record::ThreadRecord;
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use heapwood_os::ThreadValue;
use heapwood_os::signal::{self, Action, Interrupted};
use std::sync::{Mutex, PoisonError};

// SAFETY: what is stored are records of the storing thread, which is what `thread_ends` takes.
static ENDS: ThreadValue = unsafe { ThreadValue::new(thread_ends) };

/// What is called for a thread that ends attached.
static AT_END: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Not 0 while the process forks.
static FORKING: AtomicU32 = AtomicU32::new(0);

thread_local! {
    // It has no destructor, so it can be used until the thread is no more.
    static RECORD: ThreadRecord<Mutator> = const { ThreadRecord::new(&FORKING) };
}

/// The calling thread's record, which lives as long as the thread.
pub(crate) fn record<'t>() -> &'t ThreadRecord<Mutator> {
    // SAFETY: the variable has no destructor, and references to it do not leave the thread (it is not Sync).
    RECORD.with(|record| unsafe { &*core::ptr::from_ref(record) })
}

/// From now on the calling thread's end is noticed, by a call of `at_end`, and a handler finds its record.
pub(crate) fn notice_end(at_end: fn()) -> Result<(), HeapError> {
    AT_END.store(at_end as *mut (), Ordering::Relaxed);
    let value = core::ptr::from_ref(record()).cast_mut();
    ENDS.set(value.cast()).map_err(|_| HeapError::ThreadKeys)
}

/// It need not be noticed any more.
pub(crate) fn forget_end() {
    // A value that has a place needs no memory.
    let _ = ENDS.set(core::ptr::null_mut());
}

unsafe extern "C" fn thread_ends(_: *mut c_void) {
    let at_end = AT_END.load(Ordering::Relaxed);
    // SAFETY: a thread that has a value has stored the function before; no other pointer is stored there.
    let at_end = unsafe { core::mem::transmute::<*mut (), fn()>(at_end) };
    at_end();
}

/// What a signal was for before it was ours.
struct Handled {
    is_ours: AtomicBool,
    before: UnsafeCell<MaybeUninit<Action>>,
}

// SAFETY: what was before is written once, before `is_ours` says so.
unsafe impl Sync for Handled {}

static HANDLED: [Handled; signal::LAST as usize + 1] =
    [const { Handled { is_ours: AtomicBool::new(false), before: UnsafeCell::new(MaybeUninit::uninit()) } };
        signal::LAST as usize + 1];
// The standard library's, since loom's locks cannot be made at compile time; it allocates nothing either.
static INSTALLING: Mutex<()> = Mutex::new(());

/// Threads can be stopped by this signal from now on.
///
/// # Errors
/// There is no such signal.
pub(crate) fn handle(signal: c_int) -> Result<(), HeapError> {
    let _one = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    let handled = &HANDLED[signal as usize];
    if handled.is_ours.load(Ordering::Relaxed) {
        return Ok(());
    }
    let before = signal::current(signal)?;
    // SAFETY: the lock is held, and nobody reads it before it is said to be ours.
    unsafe { (*handled.before.get()).write(before) };
    handled.is_ours.store(true, Ordering::Release);
    // SAFETY: `on_signal` may be called at any time: it uses what a handler may, and what it needs is there.
    unsafe { signal::install(signal, on_signal) }?;
    Ok(())
}

/// Whether a signal that stops threads has another handler now: then they do not stop.
pub(crate) fn is_replaced(signal: c_int) -> bool {
    signal::current(signal).is_ok_and(|now| !signal::calls(&now, on_signal))
}

extern "C" fn on_signal(signal: c_int, info: *mut signal::Info, context: *mut c_void) {
    let lowest = 0usize;
    let handler = &raw const lowest as usize;
    signal::with_errno_kept(|| {
        let record: *const ThreadRecord<Mutator> = ENDS.get().cast();
        // SAFETY: the value is this thread's record, and the context what the kernel gave.
        unsafe {
            if let Some(record) = record.as_ref() {
                record.interrupted(&Interrupted::from(context), handler);
            }
            if !signal::is_sent_with(info, mark()) {
                let handled = &HANDLED[signal as usize];
                if handled.is_ours.load(Ordering::Acquire) {
                    signal::pass_on((*handled.before.get()).assume_init_ref(), signal, info, context);
                }
            }
        }
    });
}
