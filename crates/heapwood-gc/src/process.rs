//! What there is once a process, since the operating system has it so: a thread's record and what happens as a thread ends, and the
//! handlers of signals. The one file of this crate with anything of the process's own; all else hangs off a heap.
//!
//! A thread's record is a thread-local variable. Its address is the thread's value of a key, which the C library calls a
//! function for as a thread that has one exits, and which a handler may read: the variable of a library that was loaded late may have to be
//! allocated. A handler, once installed, stays: a signal may wait in a thread that blocks it, longer than any heap. What the
//! program had wanted of the signal before is kept, and done when one comes that is not ours.
//!
//! A process that forks has one triple of handlers for all heaps, which are in a list. Between them no thread is in a section.
//!
//! Invariant: a thread with mutators has a value of the key; a handler that is installed finds what it replaced.

use crate::error::HeapError;
use crate::mutator::Mutator;
use crate::mutator::interrupt::mark;
use crate::mutator::thread_record::ThreadRecord;
use core::cell::{Cell, UnsafeCell};
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use heapwood_os::fork::at_fork;
use heapwood_os::signal::{self, Action, Interrupted};
use heapwood_os::{ForkLock, Lock, ThreadValue, futex, membarrier};

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

/// What a heap does when the process forks.
pub(crate) trait Forks {
    /// It waits until it is whole, and holds its locks. No section and no piece of work begins.
    fn before_fork(&self);
    /// It goes on.
    fn after_fork_in_parent(&self);
    /// It goes on in a copy of the process with one thread.
    fn after_fork_in_child(&self);
}

/// A heap in the list of those that there are. It stays where it is while it is there.
pub(crate) struct Forker {
    next: Cell<*const Forker>,
    heap: Cell<Option<NonNull<dyn Forks>>>,
}

// SAFETY: both cells are used by whoever holds the list's lock.
unsafe impl Send for Forker {}
// SAFETY: as above.
unsafe impl Sync for Forker {}

/// The heaps that there are.
struct Heaps(*const Forker);

// SAFETY: what it leads to is used by whoever holds the list's lock.
unsafe impl Send for Heaps {}

#[cfg(not(loom))]
static HEAPS: Lock<Heaps> = Lock::new(Heaps(core::ptr::null()));
// Loom's parts are made as the program runs. Its models use neither of the two locks.
#[cfg(loom)]
static HEAPS: std::sync::LazyLock<Lock<Heaps>> =
    std::sync::LazyLock::new(|| Lock::new(Heaps(core::ptr::null())));
static WATCHES_FORKS: AtomicBool = AtomicBool::new(false);

/// The word that is not 0 while the process forks.
pub(crate) fn forking() -> &'static AtomicU32 {
    &FORKING
}

impl Forker {
    pub(crate) const fn new() -> Self {
        Forker { next: Cell::new(core::ptr::null()), heap: Cell::new(None) }
    }

    /// From now on the heap, of which this is part, is told when the process forks.
    ///
    /// # Safety
    /// 1. Both stay where they are until [`end`](Self::end) has returned.
    pub(crate) unsafe fn begin(&self, heap: NonNull<dyn Forks>) {
        let mut heaps = HEAPS.lock();
        if !WATCHES_FORKS.swap(true, Ordering::Relaxed) {
            membarrier::register();
            // SAFETY: the handlers may be called as long as the process lives. If there is no memory for them a fork is as it was.
            unsafe { at_fork(before_fork, after_fork_in_parent, after_fork_in_child) };
        }
        self.heap.set(Some(heap));
        self.next.set(heaps.0);
        heaps.0 = self;
    }

    /// It is not told any more.
    pub(crate) fn end(&self) {
        let mut heaps = HEAPS.lock();
        let mut link = &raw mut heaps.0;
        // SAFETY: the list holds heaps that are there, and its lock is held.
        unsafe {
            while !(*link).is_null() && !core::ptr::eq(*link, self) {
                link = (**link).next.as_ptr();
            }
            if !(*link).is_null() {
                *link = self.next.get();
            }
        }
    }
}

impl Heaps {
    /// Calls `f` with each heap.
    fn for_each(&self, f: impl Fn(&dyn Forks)) {
        let mut at = self.0;
        // SAFETY: the list holds heaps that are there, and its lock is held.
        while let Some(forker) = unsafe { at.as_ref() } {
            if let Some(heap) = forker.heap.get() {
                // SAFETY: as above.
                f(unsafe { heap.as_ref() });
            }
            at = forker.next.get();
        }
    }
}

/// Nobody begins a section or a piece of work any more, and the heaps wait until they are whole.
unsafe extern "C" fn before_fork() {
    HEAPS.hold();
    // No signal stops this thread until it has forked: all would wait for it.
    core::mem::forget(record().defer());
    FORKING.store(1, Ordering::SeqCst);
    if !membarrier::barrier() {
        // Without one, what a processor has stored and others do not see yet is seen after far less than this.
        std::thread::sleep(core::time::Duration::from_millis(1));
    }
    // SAFETY: the lock is held.
    unsafe { HEAPS.held() }.for_each(|heap| heap.before_fork());
}

fn go_on() {
    FORKING.store(0, Ordering::SeqCst);
    futex::wake(&FORKING, i32::MAX);
    // SAFETY: this thread holds it since before it forked; in the child no other waits.
    unsafe { HEAPS.let_go() };
    record().end_deferred();
}

unsafe extern "C" fn after_fork_in_parent() {
    // SAFETY: the lock is held.
    unsafe { HEAPS.held() }.for_each(|heap| heap.after_fork_in_parent());
    go_on();
}

unsafe extern "C" fn after_fork_in_child() {
    // SAFETY: the lock is held; nobody installs a handler in this process.
    unsafe {
        HEAPS.held().for_each(|heap| heap.after_fork_in_child());
        INSTALLING.free_in_child();
    }
    go_on();
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
#[cfg(not(loom))]
static INSTALLING: Lock<()> = Lock::new(());
#[cfg(loom)]
static INSTALLING: std::sync::LazyLock<Lock<()>> = std::sync::LazyLock::new(|| Lock::new(()));

/// Threads can be stopped by this signal from now on.
///
/// # Errors
/// There is no such signal.
pub(crate) fn handle(signal: c_int) -> Result<(), HeapError> {
    let _one = INSTALLING.lock();
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
