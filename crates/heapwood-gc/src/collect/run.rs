//! One collection, as the list of its phases (`phases`). Sweeping is left to allocation. Whippet's `collect` is such a list.
//!
//! The registry's lock is held while the world is stopped, so threads that want to attach wait. Invariant: from the first
//! request to the last resume no ordinary allocator is called, for a stopped thread may be inside one.

use super::cause::Cause;
use super::client::ClientPart;
use super::collector::{Collector, Work};
use super::hook::CollectionMoment;
use crate::state::State;
use heapwood_os::threads::cancellation::Uncancelled;

impl Collector {
    /// One collection. A thread is cancelled after it only, also where the program's functions that it calls have cancellation
    /// points.
    pub(super) fn run_stopped(&self, state: &State, cause: Cause, work: &mut Work) {
        let _uncancelled = Uncancelled::begin();
        let client = ClientPart::of(state, work.client());
        let cycle = &mut self.prepare(state, cause, work);
        client.before();
        let mut pause = self.stop_world(state, &mut cycle.times, client);
        self.publish(&pause, cycle);
        self.verify_before_marking(&pause, cycle);
        self.count_roots(&pause, cycle);
        self.plan_pause(&pause, cycle);
        self.call_hook(&pause, cycle, CollectionMoment::Start);
        state.marking_threads().while_marking(|| {
            self.mark(&mut pause, cycle);
            self.after_closure(&pause, cycle);
            self.take_snapshot(&pause, cycle);
            self.verify_concurrent(&pause, cycle);
            self.end_marking(&pause, cycle);
            self.keep_dead(&pause, cycle);
        });
        self.account(&pause, cycle);
        self.set_goal(&pause, cycle);
        self.begin_cycle(&pause, cycle);
        self.verify_after_marking(&pause, cycle);
        self.call_hook(&pause, cycle, CollectionMoment::End);
        self.resume(pause, cycle);
        client.unlock();
        state.finalizers().tell();
        self.report(state, cycle);
        self.trim(state, cycle);
        client.after();
    }
}
