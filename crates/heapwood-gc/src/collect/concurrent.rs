//! A concurrent marking, driven in steps: by tests of the write barrier today, by a thread of the heap's own when marking goes on
//! beside the program. Two young pauses bracket it: the first takes the snapshot, the last marks what is left and swaps the
//! sides (`phases/mark`). Invariant: as long as it is active no full collection begins before it has ended.

use super::cause::Cause;
use super::collector::{Collector, Work};
use super::session::Session;
use crate::error::MisuseError;
use crate::mutator::{Mutator, ThreadState};
use crate::state::State;

impl Collector {
    /// Starts a concurrent marking; false if one is active, the kernel gives no memory for it, or threads are stopped by
    /// signals: between a barrier's test and its store the marking would lose what is overwritten.
    ///
    /// # Errors
    /// The mutator cannot be used now, or its thread's stack cannot be scanned.
    pub(crate) fn start_marking(&self, state: &State, me: &Mutator) -> Result<bool, MisuseError> {
        self.with_work(me, |work| {
            if work.session.is_active() || self.stops_by_signals() {
                return false;
            }
            let Ok(session) = work.marking.new_session(state) else { return false };
            work.session = Session::Starting(session);
            let Ok(()) = self.run_stopped(state, Cause::StartMarking, work);
            true
        })
    }

    /// Marks on, by at most N edges or slices of objects, in a stop; whether something may be left.
    ///
    /// # Errors
    /// As [`Collector::start_marking`].
    pub(crate) fn step_marking(
        &self,
        state: &State,
        me: &Mutator,
        edges: usize,
    ) -> Result<bool, MisuseError> {
        self.with_work(me, |work| {
            let Some(session) = work.session.active() else { return false };
            let _sweeping = self.sweeping.lock();
            let members = self.registry().lock();
            self.stop(&members);
            // SAFETY: all have stopped, and none attaches while the registry's lock is held; one thread collects.
            let world = unsafe { state.space().stopped() };
            let left = state.while_marking(|| session.step(state, &world, edges));
            drop(world);
            members.resume();
            left
        })
    }

    /// Ends the concurrent marking; false if none is active.
    ///
    /// # Errors
    /// As [`Collector::start_marking`].
    pub(crate) fn finish_marking(&self, state: &State, me: &Mutator) -> Result<bool, MisuseError> {
        self.with_work(me, |work| {
            let is_active = work.session.is_active();
            if is_active {
                let Ok(()) = self.run_stopped(state, Cause::FinishMarking, work);
            }
            is_active
        })
    }

    /// Calls `f` with the collector's lock held, and the thread stopped in all its heaps.
    fn with_work<R>(&self, me: &Mutator, f: impl FnOnce(&mut Work) -> R) -> Result<R, MisuseError> {
        me.check()?;
        me.away(ThreadState::AtSafepoint, || f(&mut self.work.lock()))
    }
}
