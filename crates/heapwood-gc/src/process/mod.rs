//! The state that a process has once, because the operating system has it once: thread records and the ends of threads,
//! signal handlers, fork handlers, and the number of protected arena chunks; and the list of heaps in verify mode (`checked`). All
//! other state belongs to a heap, except reports that are made once a process (`settings/environment.rs`).
//!
//! A thread's record is a thread-local variable. The thread's value of a key is the record's address: the C library
//! calls a function for each exiting thread that has a value, and a signal handler may read it. The handler cannot use
//! the variable itself, which may have to be allocated in a library that was loaded late. A handler stays installed: a
//! signal may wait in a thread that blocks it, longer than any heap lives. The program's earlier action for the signal
//! is kept, and runs for signals that are not ours.
//!
//! A process has one triple of fork handlers for all heaps, which are in a list. During a fork no thread is in a
//! no-preempt region. The forking thread never waits without bound: a thread that a signal of one heap has stopped may
//! hold a lock of another, and the collection that stopped it may wait for the fork. So a fork is attempted for a
//! while. If some heap is not whole by then, the thread releases everything, all threads go on, and the next attempt
//! comes soon and has more time.
//!
//! Invariant: a thread with mutators has a value of the key; an installed handler finds the action that it replaced.

pub(crate) mod checked;
mod faults;
pub(crate) mod fork;

use crate::error::{HeapError, Refusal};
use crate::lock_order;
use crate::mutator::Mutator;
use crate::mutator::interrupt::mark;
use crate::mutator::thread_record::ThreadRecord;
use checked::{CheckedHeaps, StalePointer};
use core::cell::{Cell, UnsafeCell};
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use core::time::Duration;
use faults::Faults;
use heapwood_heap::{Address, ProtectedChunks};
use heapwood_os::diagnose::message::report;
use heapwood_os::process::clock::monotonic_ns;
use heapwood_os::process::fork::at_fork;
use heapwood_os::threads::cancellation::sleep;
use heapwood_os::threads::signal::{self, Action, Interrupted};
use heapwood_os::threads::thread::know_thread_locals;
use heapwood_os::{ForkLock, Lock, Reservation, ThreadValue, threads::futex, threads::membarrier};
use std::thread::yield_now;

// SAFETY: the stored values are records of the storing thread, as `thread_ends` requires.
static ENDS: ThreadValue = unsafe { ThreadValue::new(thread_ends) };

/// Called for a thread that ends attached.
static AT_END: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// The heaps in verify mode.
static CHECKED: CheckedHeaps = CheckedHeaps::none();

/// Not 0 while the process forks.
static FORKING: AtomicU32 = AtomicU32::new(0);

thread_local! {
    // It has no destructor, so it can be used until the thread has ended.
    static RECORD: ThreadRecord<Mutator> = const { ThreadRecord::new(&FORKING) };
}

/// The heaps in verify mode.
pub(crate) fn checked_heaps() -> &'static CheckedHeaps {
    &CHECKED
}

/// Whether a heap of the process is in verify mode: then [`stale_pointer`] may find something.
#[inline(always)]
pub fn may_find_stale_pointers() -> bool {
    CHECKED.are_there()
}

/// Whether an address lies in a heap of the process that is in verify mode.
pub fn is_in_verified_heap(address: Address) -> bool {
    CHECKED.have(address.get())
}

/// What is wrong with the address of an object, of any heap in verify mode, if that was freed and its memory is not in use again. It
/// takes no lock.
pub fn stale_pointer(object: NonNull<u8>) -> Option<StalePointer> {
    CHECKED.stale_pointer(Address::from(object.as_ptr()))
}

/// The calling thread's record, which lives as long as the thread.
pub(crate) fn record<'t>() -> &'t ThreadRecord<Mutator> {
    // SAFETY: the variable has no destructor, and references to it do not leave the thread (it is not Sync).
    RECORD.with(|record| unsafe { &*core::ptr::from_ref(record) })
}

/// Makes the calling thread's end call `at_end`, and its record known to signal handlers.
pub(crate) fn notice_end(at_end: fn()) -> Result<(), HeapError> {
    AT_END.store(at_end as *mut (), Ordering::Relaxed);
    let value = core::ptr::from_ref(record()).cast_mut();
    ENDS.set(value.cast()).map_err(|_| HeapError::ThreadKeys)
}

/// Ends that.
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

/// The part of a heap in a fork.
pub(crate) trait Forks {
    /// Waits until the heap is whole and holds its locks; false if that exceeds the patience, and then it holds none.
    /// Meanwhile no no-preempt region and no slice of work begins.
    fn before_fork(&self, patience: &Patience) -> bool;
    /// If a forbidden address is one of the heap's, explains the fault on standard error.
    fn explain_fault(&self, address: usize) -> bool;
    /// If an arena's handle leads into the heap, the error of a thread that is not attached to the heap and uses that
    /// arena.
    fn arena_handle_error(&self, handle: usize) -> Option<Refusal>;
    /// Goes on in the parent.
    fn after_fork_in_parent(&self);
    /// Goes on in the child, a copy of the process with one thread.
    fn after_fork_in_child(&self);
}

/// The patience of the first attempt to fork, and of the last. Each attempt waits a quarter longer than the one before,
/// because some work takes long; not more, because other threads that begin a no-preempt region wait meanwhile.
const PATIENCE: Duration = Duration::from_millis(2);
const MOST_PATIENCE: Duration = Duration::from_secs(1);
/// The waiting thread yields this many times; afterwards it sleeps between its looks.
const YIELDS: u32 = 100;
const BETWEEN_LOOKS: Duration = Duration::from_micros(50);

/// The deadline of an attempt to fork.
pub(crate) struct Patience {
    end: u64,
}

impl Patience {
    fn of(time: Duration) -> Self {
        Patience { end: monotonic_ns() + time.as_nanos() as u64 }
    }

    /// Waits until it is `done`; false if the deadline comes first.
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

/// A heap's entry in the list of heaps. It stays in place while it is in the list.
pub(crate) struct Forker {
    next: Cell<*const Forker>,
    heap: Cell<Option<NonNull<dyn Forks>>>,
}

// SAFETY: only the thread that holds the list's lock uses the cells.
unsafe impl Send for Forker {}
// SAFETY: as above.
unsafe impl Sync for Forker {}

/// The number of ended heaps whose addresses are kept.
const ENDED: usize = 4;

/// The list of heaps, and the addresses of the last ended ones that were in verify mode.
struct Heaps {
    first: *const Forker,
    ended: [Option<Reservation>; ENDED],
}

// SAFETY: only the thread that holds the list's lock follows its pointers.
unsafe impl Send for Heaps {}

#[cfg(not(loom))]
static HEAPS: Lock<Heaps, { lock_order::HEAPS }> = Lock::new(Heaps::new());
// Loom's types are made at run time. Its models use neither of the two locks.
#[cfg(loom)]
static HEAPS: std::sync::LazyLock<Lock<Heaps, { lock_order::HEAPS }>> =
    std::sync::LazyLock::new(|| Lock::new(Heaps::new()));
static WATCHES_FORKS: AtomicBool = AtomicBool::new(false);
/// Whether the process has registered for membarriers, in which a fork is seen by all threads.
static HAS_MEMBARRIER: AtomicBool = AtomicBool::new(false);

/// The chunks of arenas that all heaps have protected: the process has a bounded number of mappings.
static PROTECTED_CHUNKS: ProtectedChunks = ProtectedChunks::none();

/// The number of protected chunks.
pub(crate) fn protected_chunks() -> &'static ProtectedChunks {
    &PROTECTED_CHUNKS
}

/// Whether the process has membarriers, once there is a heap.
pub(crate) fn has_membarrier() -> bool {
    HAS_MEMBARRIER.load(Ordering::Relaxed)
}

/// The word that is not 0 during a fork.
pub(crate) fn forking() -> &'static AtomicU32 {
    &FORKING
}

impl Forker {
    pub(crate) const fn new() -> Self {
        Forker { next: Cell::new(core::ptr::null()), heap: Cell::new(None) }
    }

    /// Adds the heap, which contains this entry, to the list.
    ///
    /// # Safety
    /// 1. Both stay in place until [`end`](Self::end) has returned.
    pub(crate) unsafe fn begin(&self, heap: NonNull<dyn Forks>) {
        let mut heaps = HEAPS.lock();
        if !WATCHES_FORKS.swap(true, Ordering::Relaxed) {
            HAS_MEMBARRIER.store(membarrier::register(), Ordering::Relaxed);
            know_thread_locals();
            // SAFETY: the handlers may be called as long as the process lives. Without memory for them, forks go
            // unnoticed.
            unsafe { at_fork(before_fork, after_fork_in_parent, after_fork_in_child) };
        }
        self.heap.set(Some(heap));
        self.next.set(heaps.first);
        heaps.first = self;
    }

    /// Removes the heap from the list.
    pub(crate) fn end(&self) {
        let mut heaps = HEAPS.lock();
        let mut link = &raw mut heaps.first;
        // SAFETY: the list holds existing heaps, and its lock is held.
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

/// Keeps the addresses of an ended heap that used N bytes, without memory and without access: a later use faults, and
/// the fault is explained. The addresses of an earlier heap are released.
pub(crate) fn keep_addresses(of: Reservation, used: usize) {
    // SAFETY: only the ended heap used them; its committed bytes lie at the beginning.
    unsafe {
        let _ = of.decommit(0..used);
        let _ = of.protect(0..of.len());
    }
    let mut heaps = HEAPS.lock();
    heaps.ended.rotate_right(1);
    heaps.ended[0] = Some(of);
}

/// Releases the addresses of ended heaps, because addresses are scarce; returns whether there were any.
pub(crate) fn forget_ended() -> bool {
    let mut heaps = HEAPS.lock();
    let had = heaps.ended[0].is_some();
    heaps.ended = [const { None }; ENDED];
    had
}

/// The error of a calling thread that uses an arena of a heap to which it is not attached.
pub(crate) fn arena_handle_error(handle: usize) -> Refusal {
    // No thread waits for the list's lock in a no-preempt region: the lock's holder may be stopped, or about to fork.
    // While this thread holds the lock no fork begins, so the region begins at once.
    let heaps = HEAPS.lock();
    let _no_preempt = record().no_preempt();
    let refused = heaps.iter().find_map(|heap| heap.arena_handle_error(handle));
    refused.unwrap_or(Refusal::NoArena { address: handle })
}

impl Heaps {
    const fn new() -> Self {
        Heaps { first: core::ptr::null(), ended: [const { None }; ENDED] }
    }

    /// If an address is one of an ended heap, explains the fault on standard error.
    fn explain_fault(&self, address: usize) -> bool {
        let is_here = |of: &Reservation| (of.start()..of.start() + of.len()).contains(&address);
        let found = self.ended.iter().flatten().any(is_here);
        if found {
            report(format_args!(
                "heapwood: verify: {address:#x} is used, which lies in a heap that has ended: an arena or an object was kept \
                 longer than its heap; end a heap after the last use of its objects"
            ));
        }
        found
    }

    /// The heaps, in a fixed order while the lock is held.
    fn iter(&self) -> impl Iterator<Item = &dyn Forks> {
        let mut at = self.first;
        let forkers = core::iter::from_fn(move || {
            // SAFETY: the list holds existing heaps, and its lock is held.
            let forker = unsafe { at.as_ref() }?;
            at = forker.next.get();
            Some(forker)
        });
        // SAFETY: as above.
        forkers.filter_map(|forker| forker.heap.get()).map(|heap| unsafe { heap.as_ref() })
    }

    /// Waits until each heap is whole; returns whether all are. Otherwise none holds anything.
    fn before_fork(&self, patience: &Patience) -> bool {
        let Some(whole) = self.iter().position(|heap| !heap.before_fork(patience)) else { return true };
        self.iter().take(whole).for_each(Forks::after_fork_in_parent);
        false
    }
}

/// Stops new no-preempt regions and slices of work, and waits until the heaps are whole.
unsafe extern "C" fn before_fork() {
    let mut patience = PATIENCE;
    while !attempt(patience) {
        // The thread holds nothing and is in no region: a collection may stop it now, and end.
        sleep(patience / 2);
        patience = (patience * 5 / 4).min(MOST_PATIENCE);
    }
}

/// Returns whether all heaps are whole within the time, and keeps them so. Otherwise everything is as before.
fn attempt(patience: Duration) -> bool {
    core::mem::forget(HEAPS.lock());
    // No signal stops this thread until the fork is done or has failed: all other threads would wait for it.
    core::mem::forget(record().defer());
    FORKING.store(1, Ordering::SeqCst);
    if !membarrier::barrier() {
        // Without a membarrier: a store that other processors do not see yet becomes visible after far less time than
        // this.
        sleep(Duration::from_millis(1));
    }
    // SAFETY: the lock is held.
    let whole = unsafe { HEAPS.held() }.before_fork(&Patience::of(patience));
    if !whole {
        go_on();
    }
    whole
}

/// Ends the attempt or the fork: other threads go on, and this one may be stopped.
fn go_on() {
    FORKING.store(0, Ordering::SeqCst);
    futex::wake(&FORKING, i32::MAX);
    // SAFETY: this thread holds it since its attempt to fork began; in the child no other thread waits.
    unsafe { HEAPS.let_go() };
    record().end_deferred();
}

unsafe extern "C" fn after_fork_in_parent() {
    // SAFETY: the lock is held.
    unsafe { HEAPS.held() }.iter().for_each(Forks::after_fork_in_parent);
    go_on();
}

unsafe extern "C" fn after_fork_in_child() {
    // The locks of all heaps were held, and each heap frees its own.
    heapwood_os::threads::lock_order::forget_all();
    // SAFETY: the lock is held; no thread installs a handler in this process.
    unsafe {
        HEAPS.held().iter().for_each(Forks::after_fork_in_child);
        INSTALLING.free_in_child();
    }
    go_on();
}

/// A signal that stops threads, and the program's action before.
struct Handled {
    is_ours: AtomicBool,
    before: UnsafeCell<MaybeUninit<Action>>,
}

// SAFETY: `before` is written once, before `is_ours` is set.
unsafe impl Sync for Handled {}

static HANDLED: [Handled; signal::LAST as usize + 1] =
    [const { Handled { is_ours: AtomicBool::new(false), before: UnsafeCell::new(MaybeUninit::uninit()) } };
        signal::LAST as usize + 1];
#[cfg(not(loom))]
static INSTALLING: Lock<(), { lock_order::SIGNAL_HANDLERS }> = Lock::new(());
#[cfg(loom)]
static INSTALLING: std::sync::LazyLock<Lock<(), { lock_order::SIGNAL_HANDLERS }>> =
    std::sync::LazyLock::new(|| Lock::new(()));

/// Installs the handler of a signal that stops threads.
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
    // SAFETY: the lock is held, and no thread reads it before `is_ours` is set.
    unsafe { (*handled.before.get()).write(before) };
    handled.is_ours.store(true, Ordering::Release);
    // SAFETY: `on_signal` may be called at any time: it uses only what a handler may use, and that exists.
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
        // SAFETY: the value is this thread's record, and the context is the kernel's.
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

static FAULTS: Faults = Faults::new();

/// Installs a handler that explains faults in heaps on standard error, and then runs the earlier action.
///
/// # Errors
/// The kernel refuses.
pub(crate) fn explain_faults() -> Result<(), HeapError> {
    let _one = INSTALLING.lock();
    // SAFETY: the lock is held. The program itself raises the signals, in code that does not hold the lock of the list of heaps.
    unsafe { FAULTS.explain(on_fault) }
}

extern "C" fn on_fault(signal: c_int, info: *mut signal::Info, context: *mut c_void) {
    signal::with_errno_kept(|| {
        // SAFETY: the arguments are the kernel's, for the handler of this signal.
        let (address, registers) = unsafe { (signal::fault_address(info), signal::registers(context)) };
        // Does not wait for a thread that is making or ending a heap.
        if let Some(heaps) = HEAPS.try_lock() {
            let _ = heaps.explain_fault(address)
                || heaps.iter().any(|heap| heap.explain_fault(address))
                || CHECKED.explain_fault(address, registers);
        }
        FAULTS.go_on(signal);
    });
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::heap::Heap;
    use crate::settings::options::{Config, Stop};
    use heapwood_os::SYSTEM;

    /// A thread is stopped while it holds the list's lock; another that waits for the lock must stop, too.
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
                assert_eq!(arena_handle_error(8), Refusal::NoArena { address: 8 });
            });
            wait_for(&asks);
            sleep(Duration::from_millis(10));
            heap.collect().unwrap();
            has_collected.store(true, Ordering::SeqCst);
        });
    }
}
