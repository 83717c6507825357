//! Collecting an idle heap, on its thread for slow work. It is a try: the stop begins only if no mutator runs, and is withdrawn
//! after a millisecond if one comes back that does not answer.
//!
//! Where full collections mark beside the program this stop only takes the snapshot of a marking. The marker marks and ends it like
//! any other: a program that wakes meanwhile goes on beside it. The end knows that the heap was idle, and gives as much back as a
//! collection in one stop. Invariant: no thread waits for a try that is withdrawn.

use super::cause::Cause;
use super::collector::{Collector, Work};
use super::session::Session;
use crate::policy::start_limits::MOST_TRIES;
use crate::state::State;
use core::time::Duration;
use heapwood_os::process::clock;

/// How long the stop of an idle heap waits for mutators that run.
const PATIENCE: Duration = Duration::from_millis(1);

/// The result of trying to collect an idle heap.
pub(crate) enum TryCollect {
    Collected,
    /// A marking has begun, which the marker ends.
    Begun,
    /// It is being collected, or was, or the program has a part in it, or collections are off.
    NotNeeded,
    /// The mutator of this thread runs, and did not stop.
    Withdrawn(u32),
}

impl Collector {
    /// Collects if it is still `wanted`, nobody else does, and all mutators are stopped already, or soon are. Called on a
    /// thread without a running mutator. `has_marker` tells whether there is a marker thread, and may start it.
    pub(crate) fn try_collect(
        &self,
        state: &State,
        wanted: impl Fn() -> bool,
        has_marker: impl FnOnce() -> bool,
    ) -> TryCollect {
        let is_beside = self.marks_concurrently(state) && has_marker();
        let Some(mut work) = self.try_lock_work() else { return TryCollect::NotNeeded };
        // The program is not called on this thread.
        if !wanted()
            || state.space().collections_off() != 0
            || work.session.is_active()
            || work.calls_program()
        {
            return TryCollect::NotNeeded;
        }
        let cpu = clock::thread_cpu_ns();
        let tried = match is_beside {
            true => self.try_begin(state, &mut work),
            false => self.try_in_a_stop(state, &mut work),
        };
        self.record().lock().add_cpu(clock::thread_cpu_ns() - cpu);
        tried.unwrap_or_else(TryCollect::Withdrawn)
    }

    /// Takes the snapshot of a marking, and leaves the rest to the marker. If much is young, a young collection comes before it.
    fn try_begin(&self, state: &State, work: &mut Work) -> Result<TryCollect, u32> {
        for tries in 0..=MOST_TRIES {
            let Ok(session) = work.marking.new_session(state) else {
                // There is no memory for its lists.
                return self.try_in_a_stop(state, work);
            };
            work.session = Session::Starting(session);
            let cause = Cause::StartMarking { at_once: tries == MOST_TRIES, idle: true };
            let tried = self.try_run(state, cause, work);
            if work.session.is_active() {
                work.concurrent.idle = true;
                state.marking_requests().go_on();
                return Ok(TryCollect::Begun);
            }
            work.end_session();
            tried?;
            if !self.may_mark_beside(state) {
                // A trace function has come meanwhile: the pause has marked everything.
                return Ok(TryCollect::Collected);
            }
        }
        Ok(TryCollect::NotNeeded)
    }

    fn try_in_a_stop(&self, state: &State, work: &mut Work) -> Result<TryCollect, u32> {
        self.try_run(state, Cause::Idle, work).map(|()| TryCollect::Collected)
    }

    /// One collection, if all mutators stop soon.
    ///
    /// # Errors
    /// The number of a thread that runs, and did not stop.
    fn try_run(&self, state: &State, cause: Cause, work: &mut Work) -> Result<(), u32> {
        self.run(state, cause, work, Some(PATIENCE))
    }
}
