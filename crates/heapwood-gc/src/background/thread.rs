//! The heap's own thread: how it is started and ended, and what it tells. Invariant: it ends before its heap does.

use super::figures::Figures;
use super::worker::Worker;
use crate::collect::Collector;
use crate::state::State;
use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use heapwood_os::{KernelRef, OsError, Thread};
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
}

impl Background {
    /// What the thread has done.
    pub(crate) fn figures(&self) -> &Figures {
        &self.figures
    }
}

/// The thread, which ends when this is dropped.
pub(crate) struct BackgroundThread {
    state: *const State,
    thread: Option<Thread>,
}

// SAFETY: the pointer is used to reach the wakeup only, which is atomics.
unsafe impl Send for BackgroundThread {}
// SAFETY: as above; the handle is used by `drop` only.
unsafe impl Sync for BackgroundThread {}

impl BackgroundThread {
    /// Starts the thread, for the heap with this state and this collector; it collects when that is idle if it `collects`.
    ///
    /// # Errors
    /// The system starts no thread.
    ///
    /// # Safety
    /// 1. What is passed stays where it is until this has been dropped.
    pub(crate) unsafe fn start(
        kernel: KernelRef,
        background: &Background,
        state: &State,
        collector: &Collector,
        collects: bool,
    ) -> Result<BackgroundThread, OsError> {
        background.state.store(core::ptr::from_ref(state).cast_mut(), Ordering::Relaxed);
        background.collector.store(core::ptr::from_ref(collector).cast_mut(), Ordering::Relaxed);
        background.collects.store(collects, Ordering::Relaxed);
        let argument = core::ptr::from_ref(background).cast_mut().cast();
        // SAFETY: contract 1; the thread is joined before the heap goes. What unwinds out of it ends the process.
        let thread = unsafe { kernel.start_thread(c"heapwood-backgr", STACK, entry, argument) }?;
        Ok(BackgroundThread { state, thread: Some(thread) })
    }
}

impl Drop for BackgroundThread {
    fn drop(&mut self) {
        // SAFETY: contract 1 of `start`.
        unsafe { &*self.state }.wakeup().stop();
        if let Some(thread) = self.thread.take() {
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
    let mut worker = Worker::new(wakeup.now(), state, collector, background.figures(), collects);
    while let Some(seen) = wakeup.look() {
        let at_most = worker.step(wakeup);
        // An event that came meanwhile ends the wait at once.
        wakeup.wait(seen, at_most);
    }
    null_mut()
}
