//! A thread that asks the dynamic loader what is loaded, for a collector that must not: while threads are stopped one of them
//! may hold the loader's lock, and the thread that waits for that waits for good. The collector waits for this thread instead, for a
//! while; if there is no answer it lets the others go, so that it comes. Between collections it sleeps.
//!
//! Invariants: the list is this thread's from a question to its answer, and the collector's else; the thread ends before what
//! they share goes; a forked child has none, forgets what it was asked, and starts its own.

use super::library_list::LibraryList;
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use heapwood_os::clock::monotonic_ns;
use heapwood_os::futex::{wait, wait_for, wake};
use heapwood_os::{KernelRef, MappedBox, OsError, Thread};

/// Bytes of the thread's stack.
const STACK: usize = 64 << 10;
/// The thread is to end.
const STOP: u32 = 1;
/// What a question adds.
const QUESTION: u32 = 2;

/// What the collector and the thread share.
struct WatcherShared {
    /// Changes with each question; the thread sleeps on it.
    asked: AtomicU32,
    /// The question that was answered last; the collector sleeps on it.
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
        // SAFETY: what is shared stays where it is until the thread has been joined (`drop`). What unwinds out of it ends the
        // process.
        self.thread = Some(unsafe { kernel.start_thread(c"heapwood-loader", STACK, entry, argument) }?);
        Ok(())
    }

    /// The list, when no answer is owed.
    fn list(&mut self) -> *mut LibraryList {
        debug_assert!(self.has_answer());
        self.shared.list.get()
    }

    /// Reads the list, which nobody is changing.
    pub(super) fn seen(&self) -> &LibraryList {
        debug_assert!(self.has_answer());
        // SAFETY: it is the collector's while no answer is owed, and shared borrows of this change nothing.
        unsafe { &*self.shared.list.get() }
    }

    /// Lets `f` change the list, which nobody else is changing.
    pub(super) fn with_list<R>(&mut self, f: impl FnOnce(&mut LibraryList) -> R) -> R {
        // SAFETY: as above, and the borrow is exclusive.
        f(unsafe { &mut *self.list() })
    }

    /// Makes the list that of now, however long that takes. No thread has been stopped.
    pub(super) fn look(&mut self, kernel: KernelRef) {
        if !self.thread.as_ref().is_some_and(Thread::is_here) {
            self.begin_anew(kernel);
        }
        loop {
            let answered = self.shared.answered.load(Ordering::Relaxed);
            if self.has_answer() {
                break;
            }
            wait(&self.shared.answered, answered);
        }
        self.with_list(LibraryList::look);
    }

    /// The same while threads are stopped; false if there is no answer yet after so long. Then the next must be
    /// [`LibraryWatcher::look`], when they run again.
    pub(super) fn look_for(&mut self, at_most: Duration) -> bool {
        if self.thread.is_none() {
            // In a forked child that was refused a thread. So it hardly has others, who might hold the loader's lock.
            self.with_list(LibraryList::look);
            return true;
        }
        self.shared.asked.fetch_add(QUESTION, Ordering::Release);
        wake(&self.shared.asked, 1);
        let until = monotonic_ns() + at_most.as_nanos() as u64;
        loop {
            let answered = self.shared.answered.load(Ordering::Relaxed);
            let left = until.saturating_sub(monotonic_ns());
            if self.has_answer() || left == 0 {
                return self.has_answer();
            }
            wait_for(&self.shared.answered, answered, Duration::from_nanos(left));
        }
    }

    fn has_answer(&self) -> bool {
        self.shared.answered.load(Ordering::Acquire) == self.shared.asked.load(Ordering::Relaxed)
    }

    /// This process is a fork of that in which the thread was: what that was doing is nobody's now.
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
    // SAFETY: `start_thread` passes what outlives the thread.
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
        // SAFETY: the list is this thread's until it has answered.
        unsafe { &mut *shared.list.get() }.look();
        shared.answered.store(asked, Ordering::Release);
        wake(&shared.answered, 1);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use heapwood_os::SYSTEM;
    use heapwood_os::loaded::for_each_library;

    #[test]
    fn there_is_no_answer_while_another_has_the_loaders_lock() {
        let mut library_watcher = LibraryWatcher::start(&SYSTEM).unwrap();
        library_watcher.look(&SYSTEM);
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
            // The answer that is owed comes when the lock is free.
            scope.spawn(|| change(2));
            library_watcher.look(&SYSTEM);
            assert_eq!(held.load(Ordering::Acquire), 2);
        });
        assert!(library_watcher.look_for(Duration::from_secs(1000)));
    }
}
