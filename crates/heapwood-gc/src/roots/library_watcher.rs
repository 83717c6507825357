//! A thread that asks the dynamic loader for the loaded libraries, on behalf of a collector that must not ask: a
//! stopped thread may hold the loader's lock, so a wait for that lock may never end. The collector waits for this
//! thread instead, for a while; without an answer it resumes the stopped threads, so that the answer comes. Between
//! collections the thread sleeps.
//!
//! The collecting thread itself may have the loader's lock: it collects in a callback of dl_iterate_phdr. Then there is no answer,
//! whoever runs, and the collector withdraws the question.
//!
//! Invariants: the list belongs to this thread from a question to its answer, otherwise to the collector; a question is answered, or
//! withdrawn, with the loader's lock; the thread ends before the memory that they share goes; a forked child has no such thread, forgets open questions, and starts
//! its own.

use super::library_list::LibraryList;
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::ops::Range;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use heapwood_os::process::clock::monotonic_ns;
use heapwood_os::process::loaded::with_lock;
use heapwood_os::threads::futex::{wait, wait_for, wake};
use heapwood_os::{KernelRef, Mapped, MappedBox, OsError, Thread};

/// Bytes of the thread's stack.
const STACK: usize = 64 << 10;
/// Bit of `asked`: the thread is to end.
const STOP: u32 = 1;
/// Added to `asked` by each question.
const QUESTION: u32 = 2;

/// Shared by the collector and the thread.
struct WatcherShared {
    /// Changes with each question; the thread sleeps on it.
    asked: AtomicU32,
    /// The last question that was answered; the collector sleeps on it.
    answered: AtomicU32,
    list: UnsafeCell<LibraryList>,
}

/// The thread, and the list.
pub(super) struct LibraryWatcher {
    thread: Option<Thread>,
    shared: MappedBox<WatcherShared>,
}

impl LibraryWatcher {
    /// Starts the thread.
    ///
    /// # Errors
    /// The kernel refuses memory, or a thread.
    pub(super) fn start(kernel: KernelRef) -> Result<Self, OsError> {
        let (asked, answered) = (AtomicU32::new(0), AtomicU32::new(0));
        let list = UnsafeCell::new(LibraryList::new(kernel)?);
        let shared = MappedBox::new(kernel, WatcherShared { asked, answered, list })?;
        let mut library_watcher = LibraryWatcher { thread: None, shared };
        library_watcher.start_thread(kernel)?;
        Ok(library_watcher)
    }

    fn start_thread(&mut self, kernel: KernelRef) -> Result<(), OsError> {
        let argument = (&raw const *self.shared).cast_mut().cast();
        // SAFETY: the shared memory stays in place until the thread has been joined (`drop`). A panic that leaves the
        // thread ends the process.
        self.thread = Some(unsafe { kernel.start_thread(c"heapwood-loader", STACK, entry, argument) }?);
        Ok(())
    }

    /// The list, while no question is open.
    fn list(&mut self) -> *mut LibraryList {
        debug_assert!(self.has_answer());
        self.shared.list.get()
    }

    /// The list; nobody is changing it.
    pub(super) fn seen(&self) -> &LibraryList {
        debug_assert!(self.has_answer());
        // SAFETY: it is the collector's while no question is open, and shared borrows of this change nothing.
        unsafe { &*self.shared.list.get() }
    }

    /// Lets `f` change the list; nobody else is changing it.
    pub(super) fn with_list<R>(&mut self, f: impl FnOnce(&mut LibraryList) -> R) -> R {
        // SAFETY: as above, and the borrow is exclusive.
        f(unsafe { &mut *self.list() })
    }

    /// Updates the list, however long that takes. No thread has been stopped. With `at_most`, false if an open question was not
    /// answered by then.
    pub(super) fn look(&mut self, kernel: KernelRef, at_most: Option<Duration>) -> bool {
        if !self.thread.as_ref().is_some_and(Thread::is_here) {
            self.begin_anew(kernel);
        }
        if !self.await_answer(at_most) {
            return false;
        }
        self.with_list(LibraryList::look);
        true
    }

    /// Updates the list and withdraws an open question.
    ///
    /// # Safety
    /// 1. The caller has the loader's lock.
    pub(super) unsafe fn look_with_lock(&mut self) {
        self.shared.answered.store(self.shared.asked.load(Ordering::Relaxed), Ordering::Relaxed);
        self.with_list(LibraryList::look);
    }

    fn await_answer(&self, at_most: Option<Duration>) -> bool {
        let until = at_most.map(|at_most| monotonic_ns() + at_most.as_nanos() as u64);
        loop {
            let answered = self.shared.answered.load(Ordering::Relaxed);
            if self.has_answer() {
                return true;
            }
            match until.map(|until| until.saturating_sub(monotonic_ns())) {
                Some(0) => return false,
                Some(left) => wait_for(&self.shared.answered, answered, Duration::from_nanos(left)),
                None => wait(&self.shared.answered, answered),
            }
        }
    }

    /// The same while threads are stopped; false if there is no answer after `at_most`. Then the next call must be
    /// [`LibraryWatcher::look`], when the threads run again.
    pub(super) fn look_for(&mut self, at_most: Duration) -> bool {
        if self.thread.is_none() {
            // In a forked child that got no thread from the kernel. It hardly has other threads, which might hold the
            // loader's lock.
            self.with_list(LibraryList::look);
            return true;
        }
        self.shared.asked.fetch_add(QUESTION, Ordering::Release);
        wake(&self.shared.asked, 1);
        self.await_answer(Some(at_most))
    }

    /// Whether no question is open.
    pub(super) fn has_answer(&self) -> bool {
        self.shared.answered.load(Ordering::Acquire) == self.shared.asked.load(Ordering::Relaxed)
    }

    /// In a forked child: forgets the parent's thread, and starts one.
    fn begin_anew(&mut self, kernel: KernelRef) {
        self.thread = None;
        self.shared.answered.store(self.shared.asked.load(Ordering::Relaxed), Ordering::Relaxed);
        self.with_list(LibraryList::forget);
        _ = self.start_thread(kernel);
    }
}

impl Drop for LibraryWatcher {
    fn drop(&mut self) {
        self.shared.asked.fetch_or(STOP, Ordering::Release);
        wake(&self.shared.asked, 1);
        if let Some(thread) = self.thread.take() {
            thread.join();
        }
    }
}

unsafe extern "C" fn entry(shared: *mut c_void) -> *mut c_void {
    // SAFETY: the argument of `start_thread` outlives the thread.
    let shared = unsafe { &*shared.cast::<WatcherShared>() };
    loop {
        let asked = shared.asked.load(Ordering::Acquire);
        if asked & STOP != 0 {
            return null_mut();
        }
        if asked == shared.answered.load(Ordering::Relaxed) {
            wait(&shared.asked, asked);
            continue;
        }
        with_lock(|| {
            // While this waited for the lock, the question may have been withdrawn, and another asked.
            let asked = shared.asked.load(Ordering::Acquire);
            if asked != shared.answered.load(Ordering::Relaxed) {
                // SAFETY: the list is this thread's until it has answered.
                unsafe { &mut *shared.list.get() }.look();
                shared.answered.store(asked, Ordering::Release);
            }
        });
        wake(&shared.answered, 1);
    }
}

impl Mapped for LibraryWatcher {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.shared.for_each_mapping(f);
        // SAFETY: the list lies in the shared memory.
        unsafe { LibraryList::memory(self.shared.list.get()) }.for_each_mapping(f);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use heapwood_os::SYSTEM;
    use heapwood_os::process::loaded::{HAS_LOCK, for_each_library};

    #[test]
    fn there_is_no_answer_while_another_has_the_loaders_lock() {
        let mut library_watcher = LibraryWatcher::start(&SYSTEM).unwrap();
        assert!(library_watcher.look(&SYSTEM, None));
        assert!(library_watcher.look_for(Duration::from_secs(1000)), "nobody has the lock for long");
        let held = AtomicU32::new(0);
        let change = |to: u32| {
            held.store(to, Ordering::Release);
            wake(&held, i32::MAX);
        };
        let await_at_least = |least: u32| {
            while held.load(Ordering::Acquire) < least {
                wait(&held, least - 1);
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for_each_library(|_| {
                    change(1);
                    await_at_least(2);
                    false
                });
            });
            await_at_least(1);
            assert!(!library_watcher.look_for(Duration::from_millis(1)));
            assert!(!library_watcher.look(&SYSTEM, Some(Duration::from_millis(1))));
            // The answer to the open question comes when the lock is free.
            scope.spawn(|| change(2));
            assert!(library_watcher.look(&SYSTEM, None));
            assert_eq!(held.load(Ordering::Acquire), 2);
        });
        assert!(library_watcher.look_for(Duration::from_secs(1000)));
    }

    #[test]
    fn who_has_the_loaders_lock_withdraws_the_question() {
        if !HAS_LOCK {
            return;
        }
        let mut library_watcher = LibraryWatcher::start(&SYSTEM).unwrap();
        for _ in 0..100 {
            with_lock(|| {
                assert!(!library_watcher.look_for(Duration::from_micros(100)));
                assert!(!library_watcher.look(&SYSTEM, Some(Duration::from_micros(100))));
                // SAFETY: the lock is held.
                unsafe { library_watcher.look_with_lock() };
                assert!(library_watcher.has_answer() && library_watcher.seen().roots().next().is_none());
            });
            // The watcher may get the lock now, and finds a new question, or none.
            assert!(library_watcher.look_for(Duration::from_secs(1000)));
        }
    }
}
