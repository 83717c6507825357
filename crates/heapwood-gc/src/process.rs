//! What there is once a process, since the operating system has it so: threads' records and what happens as a thread ends, handlers
//! of signals, and those of forks. All else hangs off a heap (but for what is told once a process: `environment.rs`,
//! `observe/at_exit.rs`).
//!
//! A thread's record is a thread-local variable. Its address is the thread's value of a key, which the C library calls a
//! function for as a thread that has one exits, and which a handler may read: the variable itself, of a library that was loaded
//! late, may have to be allocated. A handler, once installed, stays: a signal may wait in a thread that blocks it, longer than any heap. What the
//! program had wanted of the signal before is kept, and done when one comes that is not ours.
//!
//! A process that forks has one triple of handlers for all heaps, which are in a list. Between them no thread is in a section. Who
//! forks never waits without bound: a thread that a signal of one heap has stopped may hold a lock of another, and the collection
//! that has stopped it may wait until the process has forked. So a fork is attempted, for a while; if some heap is not whole by then
//! all is let go, all may go on, and the next attempt comes soon and has more time.
//!
//! Invariant: a thread with mutators has a value of the key; a handler that is installed finds what it replaced.

use crate::error::{ArenaError, HeapError};
use crate::mutator::Mutator;
use crate::mutator::interrupt::mark;
use crate::mutator::thread_record::ThreadRecord;
use core::cell::{Cell, UnsafeCell};
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use core::time::Duration;
use heapwood_os::clock::monotonic_ns;
use heapwood_os::fork::at_fork;
use heapwood_os::message::write_line;
use heapwood_os::signal::{self, Action, Interrupted};
use heapwood_os::thread::know_thread_locals;
use heapwood_os::{ForkLock, Lock, Reservation, ThreadValue, futex, membarrier};
use std::thread::{sleep, yield_now};

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
    /// It waits until it is whole and holds its locks; whether it does before the patience is at its end. Otherwise it holds none.
    /// No section and no piece of work begins.
    fn before_fork(&self, patience: &Patience) -> bool;
    /// If an address that may not be used is one of the heap's, says on standard error why.
    fn explain_fault(&self, address: usize) -> bool;
    /// If a handle of an arena leads into the heap, why a thread that is not attached to it cannot use that arena.
    fn refuse_arena(&self, handle: usize) -> Option<ArenaError>;
    /// It goes on.
    fn after_fork_in_parent(&self);
    /// It goes on in a copy of the process with one thread.
    fn after_fork_in_child(&self);
}

/// How long the first attempt to fork waits, and the last at most. Each waits a quarter longer than the one before, since some work
/// takes long; no more, since whoever would begin a section waits meanwhile.
const PATIENCE: Duration = Duration::from_millis(2);
const MOST_PATIENCE: Duration = Duration::from_secs(1);
/// So often the thread that waits only lets others run; afterwards it sleeps between its looks.
const YIELDS: u32 = 100;
const BETWEEN_LOOKS: Duration = Duration::from_micros(50);

/// Until when an attempt to fork waits.
pub(crate) struct Patience {
    end: u64,
}

impl Patience {
    fn of(time: Duration) -> Self {
        Patience { end: monotonic_ns() + time.as_nanos() as u64 }
    }

    /// Waits until it is `done`; whether it is before the patience is at its end.
    pub(crate) fn waits_until(&self, done: impl Fn() -> bool) -> bool {
        let mut looks = 0;
        while !done() {
            if monotonic_ns() >= self.end {
                return false;
            }
            looks += 1;
            if looks < YIELDS { yield_now() } else { sleep(BETWEEN_LOOKS) }
        }
        true
    }
}

/// A heap in the list of those that there are. It stays where it is while it is there.
pub(crate) struct Forker {
    next: Cell<*const Forker>,
    heap: Cell<Option<NonNull<dyn Forks>>>,
}

// SAFETY: both cells are used by the thread that holds the list's lock.
unsafe impl Send for Forker {}
// SAFETY: as above.
unsafe impl Sync for Forker {}

/// The addresses of how many heaps that have ended are kept.
const ENDED: usize = 4;

/// The heaps that there are, in a list; and the addresses of the last that have ended and were to be told of.
struct Heaps {
    first: *const Forker,
    ended: [Option<Reservation>; ENDED],
}

// SAFETY: what it leads to is used by the thread that holds the list's lock.
unsafe impl Send for Heaps {}

#[cfg(not(loom))]
static HEAPS: Lock<Heaps> = Lock::new(Heaps::new());
// Loom's parts are made as the program runs. Its models use neither of the two locks.
#[cfg(loom)]
static HEAPS: std::sync::LazyLock<Lock<Heaps>> = std::sync::LazyLock::new(|| Lock::new(Heaps::new()));
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
            know_thread_locals();
            // SAFETY: the handlers may be called as long as the process lives. If there is no memory for them a fork is as it was.
            unsafe { at_fork(before_fork, after_fork_in_parent, after_fork_in_child) };
        }
        self.heap.set(Some(heap));
        self.next.set(heaps.first);
        heaps.first = self;
    }

    /// It is not told any more.
    pub(crate) fn end(&self) {
        let mut heaps = HEAPS.lock();
        let mut link = &raw mut heaps.first;
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

/// Keeps the addresses of a heap that has ended, of which N bytes were used: without memory and without access, so that who
/// uses them later faults, and is told why. Those of an earlier one go.
pub(crate) fn keep_addresses(of: Reservation, used: usize) {
    // SAFETY: the heap has ended, which alone used them; what it had committed lies at the beginning.
    unsafe {
        let _ = of.decommit(0..used);
        of.protect(0..of.len());
    }
    let mut heaps = HEAPS.lock();
    heaps.ended.rotate_right(1);
    heaps.ended[0] = Some(of);
}

/// Addresses are scarce: those of heaps that have ended go; whether there were any.
pub(crate) fn forget_ended() -> bool {
    let mut heaps = HEAPS.lock();
    let had = heaps.ended[0].is_some();
    heaps.ended = [const { None }; ENDED];
    had
}

/// Why the calling thread, which is attached to no heap that the handle leads into, cannot use that arena.
pub(crate) fn refuse_arena(handle: usize) -> ArenaError {
    // Nobody waits for the list's lock in a section: who holds it may have been stopped, or be about to fork. And as long as it is held
    // no process forks, so a section begins at once.
    let heaps = HEAPS.lock();
    let _no_preempt = record().no_preempt();
    let refused = heaps.iter().find_map(|heap| heap.refuse_arena(handle));
    refused.unwrap_or(ArenaError::NoArena { address: handle })
}

impl Heaps {
    const fn new() -> Self {
        Heaps { first: core::ptr::null(), ended: [const { None }; ENDED] }
    }

    /// If an address is one of a heap that has ended, says so on standard error.
    fn explain_fault(&self, address: usize) -> bool {
        let is_here = |of: &Reservation| (of.start()..of.start() + of.len()).contains(&address);
        let found = self.ended.iter().flatten().any(is_here);
        if found {
            write_line(format_args!(
                "heapwood: verify: {address:#x} is used, which lies in a heap that has ended: an arena or an object was kept \
                 longer than its heap; end a heap after the last use of what is in it"
            ));
        }
        found
    }

    /// The heaps, in one order as long as the lock is held.
    fn iter(&self) -> impl Iterator<Item = &dyn Forks> {
        let mut at = self.first;
        let forkers = core::iter::from_fn(move || {
            // SAFETY: the list holds heaps that are there, and its lock is held.
            let forker = unsafe { at.as_ref() }?;
            at = forker.next.get();
            Some(forker)
        });
        // SAFETY: as above.
        forkers.filter_map(|forker| forker.heap.get()).map(|heap| unsafe { heap.as_ref() })
    }

    /// Has each wait until it is whole; whether all are. Otherwise none holds anything.
    fn before_fork(&self, patience: &Patience) -> bool {
        let Some(whole) = self.iter().position(|heap| !heap.before_fork(patience)) else { return true };
        self.iter().take(whole).for_each(Forks::after_fork_in_parent);
        false
    }
}

/// Nobody begins a section or a piece of work any more, and the heaps have waited until they are whole.
unsafe extern "C" fn before_fork() {
    let mut patience = PATIENCE;
    while !attempt(patience) {
        // Holding nothing, and in no section: a collection may stop this thread now, and end.
        sleep(patience / 2);
        patience = (patience * 5 / 4).min(MOST_PATIENCE);
    }
}

/// Whether all heaps are whole, and stay so, before the time has passed. If not all is as it was.
fn attempt(patience: Duration) -> bool {
    core::mem::forget(HEAPS.lock());
    // No signal stops this thread until it has forked, or has failed to: all would wait for it.
    core::mem::forget(record().defer());
    FORKING.store(1, Ordering::SeqCst);
    if !membarrier::barrier() {
        // Without one, what a processor has stored and others do not see yet is seen after far less than this.
        sleep(Duration::from_millis(1));
    }
    // SAFETY: the lock is held.
    let whole = unsafe { HEAPS.held() }.before_fork(&Patience::of(patience));
    if !whole {
        go_on();
    }
    whole
}

/// Others go on, and this thread may be stopped.
fn go_on() {
    FORKING.store(0, Ordering::SeqCst);
    futex::wake(&FORKING, i32::MAX);
    // SAFETY: this thread holds it since its attempt to fork began; in the child no other waits.
    unsafe { HEAPS.let_go() };
    record().end_deferred();
}

unsafe extern "C" fn after_fork_in_parent() {
    // SAFETY: the lock is held.
    unsafe { HEAPS.held() }.iter().for_each(Forks::after_fork_in_parent);
    go_on();
}

unsafe extern "C" fn after_fork_in_child() {
    // SAFETY: the lock is held; nobody installs a handler in this process.
    unsafe {
        HEAPS.held().iter().for_each(Forks::after_fork_in_child);
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

/// What was done with a fault before faults were explained.
struct Faults {
    before: UnsafeCell<MaybeUninit<Action>>,
    are_explained: AtomicBool,
}

// SAFETY: what was before is written once, under the lock, before the handler is installed that reads it.
unsafe impl Sync for Faults {}

static FAULTS: Faults =
    Faults { before: UnsafeCell::new(MaybeUninit::uninit()), are_explained: AtomicBool::new(false) };

/// From now on a fault in a heap that can say why is explained on standard error, before what was done with it is done.
///
/// # Errors
/// The kernel refuses.
pub(crate) fn explain_faults() -> Result<(), HeapError> {
    let _one = INSTALLING.lock();
    if FAULTS.are_explained.load(Ordering::Relaxed) {
        return Ok(());
    }
    // SAFETY: the lock is held, and the handler is not installed. It uses what a handler of such a signal may, which the program
    // itself has raised: in code that holds no lock of a heap's list.
    unsafe {
        (*FAULTS.before.get()).write(signal::current(signal::FAULT)?);
        signal::install(signal::FAULT, on_fault)?;
    }
    FAULTS.are_explained.store(true, Ordering::Relaxed);
    Ok(())
}

extern "C" fn on_fault(signal: c_int, info: *mut signal::Info, _: *mut c_void) {
    signal::with_errno_kept(|| {
        // SAFETY: what the kernel gave the handler of this signal.
        let address = unsafe { signal::fault_address(info) };
        // The thread that makes or ends a heap just now is not waited for.
        if let Some(heaps) = HEAPS.try_lock() {
            let _ = heaps.explain_fault(address) || heaps.iter().any(|heap| heap.explain_fault(address));
        }
        // The access is made again, and what was done before happens.
        // SAFETY: written before this handler was installed.
        signal::restore(signal, unsafe { (*FAULTS.before.get()).assume_init_ref() });
    });
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::heap::Heap;
    use crate::options::{Config, Stop};
    use heapwood_os::SYSTEM;

    /// A thread is stopped as it holds the list's lock, and another waits for that: it stops, too.
    #[test]
    fn who_waits_for_the_list_of_heaps_can_be_stopped() {
        let config = Config::DEFAULT.huge_pages(false).address_space(64 << 20).stop(Stop::Signals);
        let heap = Heap::create(&SYSTEM, config).unwrap();
        let [is_held, asks, has_collected] = [const { AtomicBool::new(false) }; 3];
        let wait_for = |flag: &AtomicBool| {
            while !flag.load(Ordering::SeqCst) {
                yield_now();
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _attached = Mutator::attach(&heap, None).unwrap();
                let _lock = HEAPS.lock();
                is_held.store(true, Ordering::SeqCst);
                wait_for(&has_collected);
            });
            scope.spawn(|| {
                let _attached = Mutator::attach(&heap, None).unwrap();
                wait_for(&is_held);
                asks.store(true, Ordering::SeqCst);
                assert_eq!(refuse_arena(8), ArenaError::NoArena { address: 8 });
            });
            wait_for(&asks);
            sleep(Duration::from_millis(10));
            heap.collect().unwrap();
            has_collected.store(true, Ordering::SeqCst);
        });
    }
}
