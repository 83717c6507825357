//! How a program is told that a queue has something: a word to wait on, an eventfd, a function that is called where a thread
//! allocates. All are told after the pause, when the threads go on, and once for all that the pause has queued. Invariants: who looks at
//! a queue, finds it empty and then waits for its word to change misses nothing; a queue's function runs on one thread at a time,
//! and never inside itself.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering};
use heapwood_os::process::eventfd;
use heapwood_os::threads::futex;

/// A function of the program, called with its argument where a thread allocates after something was queued.
#[derive(Clone, Copy, Debug)]
pub struct FinalizerCall {
    /// It may use the heap as the thread that calls may: it allocates, collects, takes what is queued.
    pub function: unsafe extern "C" fn(*mut c_void),
    /// Its argument.
    pub argument: *mut c_void,
}

// SAFETY: who sets it promises that any thread may call the function with the argument.
unsafe impl Send for FinalizerCall {}

/// A queue's ways to tell. The table's lock is held by whoever uses it, but for the word.
#[derive(Default)]
#[repr(C)]
pub(super) struct Telling {
    /// Changes when something was queued, or the queue has ended.
    news: AtomicU32,
    /// An eventfd, and one; 0 if there is none.
    fd: Cell<c_int>,
    function: Cell<usize>,
    argument: Cell<usize>,
    /// Something was queued, and nobody told.
    is_due: Cell<bool>,
    /// The function is to be called.
    is_called: Cell<bool>,
    /// It is running.
    is_running: Cell<bool>,
}

impl Telling {
    /// The word that changes, and what it holds.
    pub(super) fn news(&self) -> (*const AtomicU32, u32) {
        (&raw const self.news, self.news.load(Ordering::Relaxed))
    }

    /// Something was queued: it is told after the pause.
    pub(super) fn note(&self) {
        self.is_due.set(true);
    }

    /// Tells, if that is due; whether a function is to be called.
    pub(super) fn tell(&self) -> bool {
        if self.is_due.replace(false) {
            self.wake();
            if self.fd.get() != 0 {
                eventfd::add(self.fd.get() - 1);
            }
            self.is_called.set(self.function.get() != 0);
        }
        self.is_called.get()
    }

    fn wake(&self) {
        self.news.fetch_add(1, Ordering::Relaxed);
        futex::wake(&self.news, i32::MAX);
    }

    /// Its eventfd, which is opened for the first who asks.
    pub(super) fn fd(&self) -> Result<c_int, c_int> {
        if self.fd.get() == 0 {
            self.fd.set(eventfd::open()? + 1);
        }
        Ok(self.fd.get() - 1)
    }

    /// Sets the function; false if the one before is running.
    pub(super) fn set_call(&self, call: Option<FinalizerCall>) -> bool {
        let is_free = !self.is_running.get();
        if is_free {
            self.function.set(call.map_or(0, |call| call.function as usize));
            self.argument.set(call.map_or(0, |call| call.argument as usize));
            self.is_called.set(false);
        }
        is_free
    }

    /// Takes the function, if it is to be called and does not run.
    pub(super) fn take_call(&self) -> Option<FinalizerCall> {
        let takes = self.is_called.get() && !self.is_running.get();
        takes.then(|| {
            self.is_called.set(false);
            self.is_running.set(true);
            // SAFETY: `set_call` stored such a function, and no call is due without one.
            let function = unsafe {
                core::mem::transmute::<usize, unsafe extern "C" fn(*mut c_void)>(self.function.get())
            };
            FinalizerCall { function, argument: self.argument.get() as *mut c_void }
        })
    }

    /// The function has returned; whether it is to be called again.
    pub(super) fn end_call(&self) -> bool {
        self.is_running.set(false);
        self.is_called.get()
    }

    /// The queue ends, or its heap: nobody waits for it any more.
    pub(super) fn end(&self) {
        if self.fd.get() != 0 {
            eventfd::close(self.fd.replace(0) - 1);
        }
        self.set_call(None);
        self.is_due.set(false);
        self.wake();
    }
}
