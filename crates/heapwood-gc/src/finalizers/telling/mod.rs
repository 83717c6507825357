//! How a program is told that a queue has something: a word to wait on, an eventfd, a function that is called where a thread
//! allocates. All are told after the pause, when the threads go on, and once for all that the pause has queued. Invariants: who looks at
//! a queue, finds it empty and then waits for its word to change misses nothing; a queue's function that was left before it had
//! emptied the queue is called again.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use heapwood_os::Lock;
use heapwood_os::process::eventfd;
use heapwood_os::threads::lock_order::LockRank;
use heapwood_os::threads::sync::{AtomicU32, Futex, Ordering, wake};

/// The most calls inside each other on one thread.
pub(crate) const MOST_NESTED: usize = 10;

/// A function of the program, called with its argument where a thread allocates after something was queued.
#[derive(Clone, Copy, Debug)]
pub struct FinalizerCall {
    /// It may use the heap as the thread that calls may: it allocates, collects, takes what is queued.
    pub function: unsafe extern "C-unwind" fn(*mut c_void),
    /// Its argument.
    pub argument: *mut c_void,
    /// How many calls there may be inside each other on one thread: with 1 it is never called inside itself. At most 10.
    pub most_nested: u32,
}

// SAFETY: who sets it promises that any thread may call the function with the argument.
unsafe impl Send for FinalizerCall {}

/// What has queues that are told of. Whoever uses it holds the table's lock.
pub(super) trait Tells {
    /// Tells what was queued; whether functions are to be called.
    fn tell(&self) -> bool;
    /// Takes a function that is to be called inside so many calls, and the place of its queue.
    fn take_call(&self, depth: usize) -> Option<(usize, FinalizerCall)>;
    /// Whether a function is to be called.
    fn is_called(&self) -> bool;
    /// A call of the function of the queue at this place has returned, or was left.
    fn end_call(&self, at: usize, is_left: bool);
    /// All calls were left but those of the queues at these places.
    fn leave_others(&self, here: &mut dyn Iterator<Item = usize>);
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

    /// Takes a function that is to be called inside so many calls, with the place of its queue.
    pub(super) fn take_call<T: Tells, const RANK: LockRank>(
        &self,
        table: &Lock<Option<T>, RANK>,
        depth: usize,
    ) -> Option<(usize, FinalizerCall)> {
        let table = table.lock();
        let table = table.as_ref()?;
        let call = table.take_call(depth);
        self.set_calls(table.is_called());
        call
    }

    /// A call of the function of the queue at this place has returned, or was left.
    pub(super) fn end_call<T: Tells, const RANK: LockRank>(
        &self,
        table: &Lock<Option<T>, RANK>,
        at: usize,
        is_left: bool,
    ) {
        if let Some(table) = table.lock().as_ref() {
            table.end_call(at, is_left);
            self.set_calls(table.is_called());
        }
    }

    /// In a forked child: all calls were left but those of the queues at these places.
    pub(super) fn leave_others<T: Tells, const RANK: LockRank>(
        &self,
        table: &Lock<Option<T>, RANK>,
        here: &mut dyn Iterator<Item = usize>,
    ) {
        if let Some(table) = table.lock().as_ref() {
            table.leave_others(here);
            self.set_calls(table.is_called());
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
    most_nested: Cell<u32>,
    /// Calls that are under way.
    running: Cell<u32>,
    /// Something was queued, and nobody told.
    is_due: Cell<bool>,
    /// The function is to be called.
    is_called: Cell<bool>,
}

impl Default for Telling {
    fn default() -> Self {
        Telling {
            news: Futex::new(0),
            fd: Cell::new(0),
            function: Cell::new(0),
            argument: Cell::new(0),
            most_nested: Cell::new(0),
            running: Cell::new(0),
            is_due: Cell::new(false),
            is_called: Cell::new(false),
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
        let is_free = self.running.get() == 0;
        if is_free {
            self.function.set(call.map_or(0, |call| call.function as usize));
            self.argument.set(call.map_or(0, |call| call.argument as usize));
            self.most_nested.set(call.map_or(0, |call| call.most_nested));
            self.is_called.set(false);
        }
        is_free
    }

    /// Takes the function, if it is to be called, also inside so many calls.
    pub(super) fn take_call(&self, depth: usize) -> Option<FinalizerCall> {
        let most_nested = self.most_nested.get();
        let takes = self.is_called.get() && depth < MOST_NESTED.min(most_nested as usize);
        takes.then(|| {
            self.is_called.set(false);
            self.begin_call();
            // SAFETY: `set_call` stored such a function, and no call is due without one.
            let function = unsafe {
                core::mem::transmute::<usize, unsafe extern "C-unwind" fn(*mut c_void)>(self.function.get())
            };
            FinalizerCall { function, argument: self.argument.get() as *mut c_void, most_nested }
        })
    }

    /// Whether the function is to be called.
    pub(super) fn is_called(&self) -> bool {
        self.is_called.get()
    }

    /// A call begins.
    pub(super) fn begin_call(&self) {
        self.running.set(self.running.get() + 1);
    }

    /// A call has ended; it is to come `again` if it has left something.
    pub(super) fn end_call(&self, again: bool) {
        self.running.set(self.running.get() - 1);
        if again && self.function.get() != 0 {
            self.is_called.set(true);
        }
    }

    /// All calls have ended.
    pub(super) fn leave_all(&self, again: bool) {
        if self.running.get() != 0 {
            self.running.set(1);
            self.end_call(again);
        }
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
