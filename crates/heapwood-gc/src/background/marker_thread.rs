//! The thread that marks beside the program (`collect/concurrent.rs`). It is started at the first marking, by whoever wants one: a
//! thread that collects, one that asks for a collection, or the heap's thread for slow work. Invariant: it ends before its heap does.

use super::heap_thread::{HeapJob, HeapThread};
use crate::collect::Collector;
use crate::state::{MarkingRequest, State};
use core::ffi::CStr;

/// The marker thread, which is started at the first concurrent marking.
pub(crate) type MarkerThread = HeapThread<ConcurrentMarking>;

/// Full markings beside the program.
pub(crate) struct ConcurrentMarking;

impl MarkerThread {
    /// Whether it takes the requests of this heap. It is started if it was not yet wanted.
    pub(crate) fn takes_requests(&self, state: &State, collector: &Collector) -> bool {
        if !collector.has_marker() || state.marking_requests().stops() {
            return false;
        }
        self.is_wanted();
        self.is_started()
    }
}

impl HeapJob for ConcurrentMarking {
    const NAME: &'static CStr = c"heapwood-cmark";

    fn run(&self, state: &State, collector: &Collector) {
        let requests = state.marking_requests();
        requests.serve();
        while let Some(request) = requests.next() {
            match request {
                MarkingRequest::Begin => collector.mark_concurrently(state, true),
                MarkingRequest::GoOn => collector.mark_concurrently(state, false),
                MarkingRequest::IfAsked => {}
            }
            // A marking that was active when the program asked is not what it waits for.
            while state.full_collections().is_owed()
                && state.space().collections_off() == 0
                && !requests.stops()
            {
                collector.mark_concurrently(state, true);
            }
        }
    }

    fn stop(state: &State) {
        state.marking_requests().stop();
        state.posted().cancel();
        state.full_collections().wake_all();
    }
}
