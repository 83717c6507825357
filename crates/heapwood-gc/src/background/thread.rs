//! The heap's own thread for slow work, and the thread that marks beside the program. Invariant: each ends before its heap does.

use super::background_loop::BackgroundLoop;
use super::figures::Figures;
use super::heap_thread::{HeapJob, HeapThread};
use crate::collect::Collector;
use crate::state::State;
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, Ordering};
use heapwood_pages::Clock;

/// The thread for slow work, which runs from the beginning.
pub(crate) type Background = HeapThread<SlowWork>;

/// The marker thread, which is started at the first concurrent marking.
pub(crate) type MarkerThread = HeapThread<ConcurrentMarking>;

/// Sweeping, flushing, collecting an idle heap, giving memory back.
#[derive(Default)]
pub(crate) struct SlowWork {
    figures: Figures,
    collects: AtomicBool,
}

impl SlowWork {
    /// What the thread has done.
    pub(crate) fn figures(&self) -> &Figures {
        &self.figures
    }

    /// Whether it collects the heap when that is idle.
    pub(crate) fn set_collects(&self, collects: bool) {
        self.collects.store(collects, Ordering::Relaxed);
    }
}

impl HeapJob for SlowWork {
    const NAME: &'static CStr = c"heapwood-backgr";

    fn run(&self, state: &State, collector: &Collector) {
        let wakeup = state.wakeup();
        let collects = self.collects.load(Ordering::Relaxed);
        let mut worker = BackgroundLoop::new(wakeup.now(), state, collector, &self.figures, collects);
        while let Some(seen) = wakeup.look() {
            let at_most = worker.step(wakeup);
            // An event that came meanwhile ends the wait at once.
            wakeup.wait(seen, at_most);
        }
    }

    fn stop(state: &State) {
        state.wakeup().stop();
    }
}

/// Full markings beside the program (`collect/concurrent.rs`).
pub(crate) struct ConcurrentMarking;

impl HeapJob for ConcurrentMarking {
    const NAME: &'static CStr = c"heapwood-cmark";

    fn run(&self, state: &State, collector: &Collector) {
        let requests = state.marking_requests();
        while let Some(mut is_wanted) = requests.next() {
            // A marking that was active when the program asked is not what it waits for.
            while is_wanted || state.full_collections().is_owed() && !requests.stops() {
                collector.mark_concurrently(state);
                is_wanted = false;
            }
        }
    }

    fn stop(state: &State) {
        state.marking_requests().stop();
        state.full_collections().wake_all();
    }
}
