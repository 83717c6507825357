//! The heap's own thread for slow work. Invariant: it ends before its heap does.

use super::background_loop::BackgroundLoop;
use super::figures::Figures;
use super::heap_thread::{HeapJob, HeapThread};
use super::idle_collector::IdleCollector;
use super::marker_thread::{ConcurrentMarking, MarkerThread};
use crate::collect::Collector;
use crate::state::State;
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, Ordering};
use heapwood_os::KernelRef;
use heapwood_pages::Clock;

/// The thread for slow work, which runs from the beginning.
pub(crate) type Background = HeapThread<SlowWork>;

/// Sweeping, flushing, collecting an idle heap, giving memory back.
pub(crate) struct SlowWork {
    figures: Figures,
    collects: AtomicBool,
    /// Marks an idle heap.
    marker: MarkerThread,
}

impl SlowWork {
    pub(crate) fn new(kernel: KernelRef) -> Self {
        SlowWork {
            figures: Figures::default(),
            collects: AtomicBool::new(false),
            marker: MarkerThread::new(ConcurrentMarking, kernel),
        }
    }

    /// The thread that marks beside the program.
    pub(crate) fn marker(&self) -> &MarkerThread {
        &self.marker
    }

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
        let idle = collects.then(|| IdleCollector::new(wakeup.now(), &self.marker));
        let mut worker = BackgroundLoop::new(state, collector, &self.figures, idle);
        let starts = collector.helper_start();
        starts.begin_serving();
        while let Some(seen) = wakeup.look() {
            state.fork_gate().without_fork(|| starts.serve());
            let at_most = worker.step(wakeup);
            // An event that came meanwhile ends the wait at once.
            wakeup.wait(seen, at_most);
        }
        starts.end_serving();
    }

    fn stop(state: &State) {
        state.wakeup().stop();
    }

    fn is_expected(collector: &Collector) {
        collector.helper_start().expect_server();
    }

    fn is_refused(collector: &Collector) {
        collector.helper_start().end_serving();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::{Config, Heap};
    use heapwood_os::SYSTEM;

    /// A collection that comes before the thread has run leaves the start of helpers to it, too: it may have the loader's lock.
    #[test]
    fn the_thread_serves_from_before_it_runs() {
        let is_served = |background| {
            let heap = Heap::create(&SYSTEM, Config::default().background_release(background)).unwrap();
            heap.collector().helper_start().is_served_elsewhere()
        };
        for _ in 0..20 {
            assert!(is_served(true) && !is_served(false));
        }
    }
}
