//! How a program is told that a queue has something: a word to wait on, an eventfd, a function that is called where a thread
//! allocates. All are told after the pause, when the threads go on, and once for all that the pause has queued. Invariants: who looks at
//! a queue, finds it empty and then waits for its word to change misses nothing; a queue's function runs on one thread at a time,
//! and never inside itself.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use heapwood_os::Lock;
use heapwood_os::process::eventfd;
use heapwood_os::threads::lock_order::LockRank;
use heapwood_os::threads::sync::{AtomicU32, Futex, Ordering, wake};

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

/// What has queues that are told of. Whoever uses it holds the table's lock.
pub(super) trait Tells {
    /// Tells what was queued; whether functions are to be called.
    fn tell(&self) -> bool;
    /// Takes a function that is to be called, and the place of its queue.
    fn take_call(&self) -> Option<(usize, FinalizerCall)>;
    /// The function of the queue at this place has returned; whether it is to be called again.
    fn end_call(&self, at: usize) -> bool;
}

/// What a heap's threads look at without the lock: whether there is something to tell, and something to call.
#[derive(Default)]
pub(super) struct Untold {
    /// Something was queued, and nobody told.
    is_untold: AtomicU32,
    /// Functions of queues are to be called.
    calls: AtomicU32,
}

impl Untold {
    /// Something was queued, by who has the lock and tells when it has given it up.
    pub(super) fn note(&self) {
        // A read-modify-write, as those who tell make: loom orders only these among each other.
        self.is_untold.swap(1, Ordering::Relaxed);
    }

    /// Tells all that was queued and noted before. Who finds nothing to tell leaves that to another who has begun to.
    pub(super) fn tell<T: Tells, const RANK: LockRank>(&self, table: &Lock<Option<T>, RANK>) {
        if self.is_untold.load(Ordering::Relaxed) != 0
            && self.is_untold.swap(0, Ordering::Relaxed) != 0
            && let Some(table) = table.lock().as_ref()
        {
            self.set_calls(table.tell());
        }
    }

    /// Whether functions of queues are to be called.
    #[inline(always)]
    pub(super) fn calls(&self) -> bool {
        self.calls.load(Ordering::Relaxed) != 0
    }

    /// With the lock, as of now.
    fn set_calls(&self, calls: bool) {
        self.calls.store(calls.into(), Ordering::Relaxed);
    }

    /// Takes a function that is to be called, with the place of its queue.
    pub(super) fn take_call<T: Tells, const RANK: LockRank>(
        &self,
        table: &Lock<Option<T>, RANK>,
    ) -> Option<(usize, FinalizerCall)> {
        let table = table.lock();
        let call = table.as_ref().and_then(T::take_call);
        if call.is_none() {
            self.set_calls(false);
        }
        call
    }

    /// The function of the queue at this place has returned.
    pub(super) fn end_call<T: Tells, const RANK: LockRank>(&self, table: &Lock<Option<T>, RANK>, at: usize) {
        if let Some(table) = table.lock().as_ref()
            && table.end_call(at)
        {
            self.set_calls(true);
        }
    }
}

/// Waits until entries are queued: `look` says how many are, and which word changes when more are, with what it holds; `sleep` waits for
/// that, and says whether there is time left.
pub(crate) fn wait_until_queued<'w, E>(
    mut look: impl FnMut() -> Result<(usize, &'w Futex, u32), E>,
    mut sleep: impl FnMut(&'w Futex, u32) -> Result<bool, E>,
) -> Result<bool, E> {
    loop {
        let (queued, word, seen) = look()?;
        if queued != 0 {
            return Ok(true);
        }
        if !sleep(word, seen)? {
            return Ok(false);
        }
    }
}

/// A queue's ways to tell. The table's lock is held by whoever uses it, but for the word.
#[repr(C)]
pub(super) struct Telling {
    /// Changes when something was queued, or the queue has ended.
    news: Futex,
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

impl Default for Telling {
    fn default() -> Self {
        Telling {
            news: Futex::new(0),
            fd: Cell::new(0),
            function: Cell::new(0),
            argument: Cell::new(0),
            is_due: Cell::new(false),
            is_called: Cell::new(false),
            is_running: Cell::new(false),
        }
    }
}

impl Telling {
    /// The word that changes, and what it holds.
    pub(super) fn news(&self) -> (*const Futex, u32) {
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
        wake(&self.news, i32::MAX);
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

#[cfg(all(test, loom))]
mod model;
