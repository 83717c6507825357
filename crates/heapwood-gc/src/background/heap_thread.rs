//! A thread of a heap's own: how it is started and ended. A forked child starts its own when it is next of use. Invariant: the
//! thread ends before its heap does.

use crate::collect::Collector;
use crate::lock_order::BACKGROUND;
use crate::state::State;
use core::ffi::{CStr, c_void};
use core::ptr::{from_ref, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use heapwood_os::{ForkLock, KernelRef, Lock, Thread};

/// Bytes of its stack. Trace functions may run on it.
const STACK: usize = 256 << 10;

/// What a thread of a heap's own does.
pub(crate) trait HeapJob: Sync {
    const NAME: &'static CStr;

    /// Works until it is told to end.
    fn run(&self, state: &State, collector: &Collector);

    /// Tells it to end.
    fn stop(state: &State);
}

/// A thread and its job, in a heap.
pub(crate) struct HeapThread<J> {
    job: J,
    kernel: KernelRef,
    /// What the thread works on, once it may be started.
    state: AtomicPtr<State>,
    collector: AtomicPtr<Collector>,
    thread: Lock<Option<Thread>, BACKGROUND>,
    /// It may be started, and is not here: it was not wanted yet, or the process was forked and it is the parent's.
    is_missing: AtomicBool,
    /// It is here: a copy of what the lock says, for those who hold other locks.
    is_here: AtomicBool,
}

impl<J: HeapJob> HeapThread<J> {
    pub(crate) fn new(job: J, kernel: KernelRef) -> Self {
        HeapThread {
            job,
            kernel,
            state: AtomicPtr::new(null_mut()),
            collector: AtomicPtr::new(null_mut()),
            thread: Lock::new(None),
            is_missing: AtomicBool::new(false),
            is_here: AtomicBool::new(false),
        }
    }

    pub(crate) fn job(&self) -> &J {
        &self.job
    }

    /// Lets the thread be started for the heap with this state and this collector, when it is wanted.
    ///
    /// # Safety
    /// 1. What is passed, and this, stays where it is until [`HeapThread::end`] has returned.
    pub(crate) unsafe fn prepare(&self, state: &State, collector: &Collector) {
        self.state.store(from_ref(state).cast_mut(), Ordering::Relaxed);
        self.collector.store(from_ref(collector).cast_mut(), Ordering::Relaxed);
        self.is_missing.store(true, Ordering::Relaxed);
    }

    /// Starts the thread if it is missing. Where the kernel refuses it, the heap goes on without.
    #[inline]
    pub(crate) fn is_wanted(&self) {
        if self.is_missing.load(Ordering::Relaxed) {
            self.start();
        }
    }

    /// Whether the thread is here: it was started, and the kernel did not refuse it.
    pub(crate) fn is_here(&self) -> bool {
        self.is_here.load(Ordering::Relaxed)
    }

    /// The same, after whoever starts it now.
    pub(crate) fn is_started(&self) -> bool {
        self.thread.lock().is_some()
    }

    #[cold]
    fn start(&self) {
        // Whoever finds it not missing any more finds it here.
        let mut started = self.thread.lock();
        if !self.is_missing.swap(false, Ordering::Relaxed) {
            return;
        }
        let argument = from_ref(self).cast_mut().cast();
        // SAFETY: it was prepared with what stays in place; the thread is joined before the heap goes. What unwinds out of it
        // ends the process.
        let thread = unsafe { self.kernel.start_thread(J::NAME, STACK, entry::<J>, argument) };
        *started = thread.ok();
        self.is_here.store(started.is_some(), Ordering::Relaxed);
    }

    /// In a forked child: the thread is not here. It is started when it is next of use.
    pub(crate) fn forget_thread(&self) {
        // SAFETY: the process has one thread, which has no guard of the lock; the handle is whole whoever held it.
        unsafe { self.thread.free_in_child() };
        self.thread.lock().take();
        self.is_here.store(false, Ordering::Relaxed);
        let is_prepared = !self.state.load(Ordering::Relaxed).is_null();
        self.is_missing.store(is_prepared, Ordering::Relaxed);
    }

    /// Ends the thread, if there is one.
    pub(crate) fn end(&self) {
        let state: *const State = self.state.load(Ordering::Relaxed);
        if state.is_null() {
            return;
        }
        // SAFETY: the heap is here still (`prepare`).
        J::stop(unsafe { &*state });
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            thread.join();
        }
    }
}

unsafe extern "C" fn entry<J: HeapJob>(thread: *mut c_void) -> *mut c_void {
    // SAFETY: `start` passes what outlives the thread, and `prepare` has stored what leads to the heap's state and collector.
    unsafe {
        let thread = &*thread.cast::<HeapThread<J>>();
        let (state, collector) =
            (thread.state.load(Ordering::Relaxed), thread.collector.load(Ordering::Relaxed));
        thread.job.run(&*state, &*collector);
    }
    null_mut()
}
