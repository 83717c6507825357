//! The heap's own thread: how it is started and ended, and what it tells. A forked child starts its own. Invariant: it ends before
//! its heap does.

use super::background_loop::BackgroundLoop;
use super::figures::Figures;
use crate::collect::Collector;
use crate::lock_order::BACKGROUND;
use crate::state::State;
use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use heapwood_os::{ForkLock, KernelRef, Lock, Thread};
use heapwood_pages::Clock;

/// Bytes of its stack. Trace functions may run on it.
const STACK: usize = 256 << 10;

/// What the thread shares with its heap, in which it lies.
#[derive(Default)]
pub(crate) struct Background {
    figures: Figures,
    /// What the thread works on, once it has been started.
    state: AtomicPtr<State>,
    collector: AtomicPtr<Collector>,
    collects: AtomicBool,
    thread: Lock<Option<Thread>, BACKGROUND>,
    /// The process was forked, and the thread is the parent's.
    is_missing: AtomicBool,
}

impl Background {
    /// What the thread has done.
    pub(crate) fn figures(&self) -> &Figures {
        &self.figures
    }

    /// Starts the thread, for the heap with this state and this collector; it collects when that is idle if it `collects`. Without
    /// it a heap goes on, and gives memory back when it is asked to.
    ///
    /// # Safety
    /// 1. What is passed, and this, stays where it is until [`Background::end`] has returned.
    pub(crate) unsafe fn start(
        &self,
        kernel: KernelRef,
        state: &State,
        collector: &Collector,
        collects: bool,
    ) {
        self.state.store(core::ptr::from_ref(state).cast_mut(), Ordering::Relaxed);
        self.collector.store(core::ptr::from_ref(collector).cast_mut(), Ordering::Relaxed);
        self.collects.store(collects, Ordering::Relaxed);
        // SAFETY: contract 1.
        unsafe { self.start_thread(kernel) };
    }

    /// # Safety
    /// 1. As [`Background::start`]'s, with which this was started before.
    unsafe fn start_thread(&self, kernel: KernelRef) {
        let argument = core::ptr::from_ref(self).cast_mut().cast();
        // SAFETY: contract 1; the thread is joined before the heap goes. What unwinds out of it ends the process.
        let thread = unsafe { kernel.start_thread(c"heapwood-backgr", STACK, entry, argument) };
        *self.thread.lock() = thread.ok();
    }

    /// In a forked child: the thread is not here. It is started when it is next of use.
    pub(crate) fn forget_thread(&self) {
        // SAFETY: the process has one thread, which has no guard of the lock; the handle is whole whoever held it.
        unsafe { self.thread.free_in_child() };
        let had_one = self.thread.lock().take().is_some();
        self.is_missing.fetch_or(had_one, Ordering::Relaxed);
    }

    /// A collection has ended: the thread is of use.
    pub(crate) fn is_wanted(&self, kernel: KernelRef) {
        if self.is_missing.load(Ordering::Relaxed) && self.is_missing.swap(false, Ordering::Relaxed) {
            // SAFETY: it was missing, so it had been started before; the heap is being used, and has not ended.
            unsafe { self.start_thread(kernel) };
        }
    }

    /// Ends the thread, if there is one.
    pub(crate) fn end(&self, state: &State) {
        state.wakeup().stop();
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            thread.join();
        }
    }
}

unsafe extern "C" fn entry(background: *mut c_void) -> *mut c_void {
    // SAFETY: `start` passes what outlives the thread, and has stored what leads to the heap's state and collector.
    let (background, state, collector) = unsafe {
        let background = &*background.cast::<Background>();
        let (state, collector) = (&background.state, &background.collector);
        (background, &*state.load(Ordering::Relaxed), &*collector.load(Ordering::Relaxed))
    };
    let wakeup = state.wakeup();
    let collects = background.collects.load(Ordering::Relaxed);
    let mut worker = BackgroundLoop::new(wakeup.now(), state, collector, background.figures(), collects);
    while let Some(seen) = wakeup.look() {
        let at_most = worker.step(wakeup);
        // An event that came meanwhile ends the wait at once.
        wakeup.wait(seen, at_most);
    }
    null_mut()
}
