//! A concurrent marking, from its start to its end. Two young pauses bracket it: the first takes the snapshot, the last marks
//! what is left and swaps the sides (`phases/mark`). Between them the heap's marker thread marks in slices beside the program
//! ([`Collector::mark_concurrently`]). A slice holds the collector's lock, so no collection is under way during it; one that
//! waits for the lock counts itself first, and the marker, which looks every hundred edges, gives the lock up. So markers stop
//! for a collection as mutators do. Tests drive a marking in counted steps instead.
//!
//! If more than [`MOST_YOUNG`] bytes are young, an ordinary young collection comes before a bracketing pause, and the marker
//! sweeps what that leaves beside the program: so what the two look at depends on threads, roots and open spans alone.
//! Invariant: as long as a marking is active no full collection begins before it has ended.

use super::cause::Cause;
use super::collector::{Collector, Work};
use super::concurrent_rule::InStop;
use super::session::Session;
use crate::error::Misuse;
use crate::lock_order::COLLECTION;
use crate::mutator::{Mutator, ThreadState};
use crate::policy::pace_limits::LEAST_SLICE_NS;
use crate::policy::start_limits::{COUNTED_PART, MOST_TRIES};
use crate::state::{MarkerPause, State};
use heapwood_heap::{Address, Collection};
use heapwood_os::{LockGuard, process::clock};

impl Collector {
    /// Whether the next full collection marks beside the program.
    pub(crate) fn marks_concurrently(&self, state: &State) -> bool {
        let wants = self.concurrent().is_always() || state.cycles().would_stop_long();
        wants && self.may_mark_concurrently(state).is_ok()
    }

    /// Whether it may, or why not.
    pub(super) fn may_mark_concurrently(&self, state: &State) -> Result<(), InStop> {
        self.concurrent().may()?;
        let sizes = (state.cycles().live(), state.space().external().level());
        match () {
            () if !self.may_mark_beside(state) => Err(InStop::TraceFunctions),
            () if self.pacer().is_near_limit(sizes) => Err(InStop::Limit),
            () => Ok(()),
        }
    }

    /// Whether what marking calls may run beside the program.
    pub(super) fn may_mark_beside(&self, state: &State) -> bool {
        self.concurrent().allows_traces() || !state.space().layouts().has_trace_functions()
    }

    /// Whether the heap may have a marker thread.
    pub(crate) fn has_marker(&self) -> bool {
        self.concurrent().has_marker()
    }

    /// One full marking beside the program, on the marker thread: sweeps what is left of the last cycle, starts, marks, ends. It
    /// goes on with the one that is active; without that it `begins` one, or does nothing.
    /// Returns when it has ended, also in a stop of somebody else's, or the thread is to end.
    pub(crate) fn mark_concurrently(&self, state: &State, begins: bool) {
        let requests = state.marking_requests();
        if begins && !self.start_beside(state) {
            return;
        }
        let waiters = state.pace_waiters();
        let asked = || self.is_awaited() || requests.stops() || state.fork_gate().is_forking();
        let mut tries = 0;
        loop {
            let mut work = self.lock_work_after_others();
            if requests.stops() {
                return;
            }
            let Work { session, marking, .. } = &mut *work;
            let Some(session) = session.active() else { return };
            let least = clock::monotonic_ns() + LEAST_SLICE_NS;
            let asked = || asked() || waiters.are_there() && clock::monotonic_ns() >= least;
            let cpu = clock::thread_cpu_ns();
            let marked = state.fork_gate().without_fork(|| {
                state.marking_threads().while_marking_beside(|| {
                    // SAFETY: the session is active, and a pause needs the lock that is held.
                    unsafe { marking.mark_beside(session, state, &asked) }
                })
            });
            let marked_bytes = session.marked();
            work.concurrent.grant(state, Some(marked_bytes), work.size(state));
            let cpu = clock::thread_cpu_ns() - cpu + marked.helpers_cpu_ns;
            work.spent += cpu / COUNTED_PART;
            work.concurrent.beside += cpu;
            self.record().lock().add_cpu(cpu);
            if !marked.done || self.suspect_finalizers(state, asked) {
                continue;
            }
            let work =
                self.pause_for_marker(state, work, MarkerPause::Finish { at_once: tries == MOST_TRIES });
            if !work.session.is_active() {
                return;
            }
            // What was young is old now, and some of it shaded.
            tries += 1;
            drop(work);
            self.sweep_beside(state);
        }
    }

    /// Looks at finalisers of old objects, in a marking that has marked all it will, until it is `asked` to stop; whether it was. The end
    /// then looks at those alone whose objects have no mark.
    fn suspect_finalizers(&self, state: &State, asked: impl Fn() -> bool) -> bool {
        let is_unmarked = |object| state.space().is_unmarked(Address::new(object));
        let some = || state.fork_gate().without_fork(|| state.finalizers().suspect(is_unmarked));
        while some() {
            if asked() {
                return true;
            }
        }
        false
    }

    /// Takes the snapshot of a marking; whether one is active then.
    fn start_beside(&self, state: &State) -> bool {
        for tries in 0..=MOST_TRIES {
            self.sweep_beside(state);
            let work = self.lock_work();
            if work.session.is_active() || state.marking_requests().stops() {
                return work.session.is_active();
            }
            let full = state.cycles().full_collections();
            let work =
                self.pause_for_marker(state, work, MarkerPause::Start { at_once: tries == MOST_TRIES });
            if work.session.is_active() {
                return true;
            }
            if state.cycles().full_collections() != full {
                // It was a collection in a stop.
                return false;
            }
        }
        false
    }

    /// A pause that the marker wants. It makes it, unless that calls the program, which is not done on this thread: then it waits until
    /// a thread of the program has. When this returns the pause was made or is of no use, or it is to be tried again.
    fn pause_for_marker<'c>(
        &'c self,
        state: &State,
        mut work: LockGuard<'c, Work, COLLECTION>,
        pause: MarkerPause,
    ) -> LockGuard<'c, Work, COLLECTION> {
        if !work.calls_program() {
            self.make_for_marker(state, &mut work, pause);
            return work;
        }
        state.posted().post(pause);
        // Who waits for a full collection makes its pauses.
        state.full_collections().wake_all();
        drop(work);
        state.posted().sleep_until_taken(|| state.marking_requests().stops());
        self.lock_work()
    }

    /// Makes the pause that the marker has posted, if it is of use still; whether there was one. The calling thread has no running
    /// mutator.
    pub(crate) fn make_posted(&self, state: &State) -> bool {
        let mut work = self.lock_work();
        let posted = state.posted().take();
        if let Some(pause) = posted {
            self.make_for_marker(state, &mut work, pause);
        }
        posted.is_some()
    }

    pub(super) fn make_for_marker(&self, state: &State, work: &mut Work, pause: MarkerPause) {
        match pause {
            MarkerPause::Start { .. } if state.space().collections_off() != 0 => {}
            MarkerPause::Start { at_once } if work.session.is_none() => {
                let session = self.may_mark_beside(state).then(|| work.marking.new_session(state));
                let Some(Ok(session)) = session else {
                    // Without memory for its lists, and with trace functions, it is a collection in a stop.
                    return self.collect_beside(state, Cause::Program(Collection::Full), work);
                };
                work.session = Session::Starting(session);
                work.concurrent.is_paced = true;
                self.collect_beside(state, Cause::StartMarking { at_once }, work);
                if !work.session.is_active() {
                    // A young collection came first, or, since there is a trace function now, one of everything.
                    work.end_session();
                }
            }
            MarkerPause::Finish { at_once } if work.session.is_active() => {
                self.collect_beside(state, Cause::FinishMarking { at_once }, work);
            }
            // Somebody else has ended the marking, or begun one.
            MarkerPause::Start { .. } | MarkerPause::Finish { .. } => {}
        }
    }

    /// A pause for a thread of the heap's own.
    pub(super) fn collect_beside(&self, state: &State, cause: Cause, work: &mut Work) {
        let cpu = clock::thread_cpu_ns();
        self.run_stopped(state, cause, work);
        self.record().lock().add_cpu(clock::thread_cpu_ns() - cpu);
        state.wakeup().collected();
    }

    /// Sweeps what the last collection has left, while mutators and their collections go on.
    fn sweep_beside(&self, state: &State) {
        while !state.marking_requests().stops() && self.sweep_some_beside(state) {}
    }

    /// Starts a concurrent marking that tests drive; false if one is active, the kernel gives no memory for it, or threads are
    /// stopped by signals: between a barrier's test and its store the marking would lose what is overwritten.
    ///
    /// # Errors
    /// The mutator cannot be used now, or its thread's stack cannot be scanned.
    pub(crate) fn start_marking(&self, state: &State, me: &Mutator) -> Result<bool, Misuse> {
        self.with_work(me, |work| {
            if work.session.is_active() || self.stops_by_signals() {
                return false;
            }
            let Ok(session) = work.marking.new_session(state) else { return false };
            work.session = Session::Starting(session);
            work.concurrent.is_paced = false;
            self.run_stopped(state, Cause::StartMarking { at_once: true }, work);
            true
        })
    }

    /// Marks on, by at most N edges or slices of objects, in a stop; whether something may be left.
    ///
    /// # Errors
    /// As [`Collector::start_marking`].
    pub(crate) fn step_marking(&self, state: &State, me: &Mutator, edges: usize) -> Result<bool, Misuse> {
        self.with_work(me, |work| {
            let Some(session) = work.session.active() else { return false };
            let _sweeping = self.sweeping.lock();
            let members = self.registry().lock();
            let Ok(_) = self.stop(&members, None) else { return false };
            members.iter().for_each(|m| m.barrier().close_shaded());
            // SAFETY: all have stopped, and none attaches while the registry's lock is held; one thread collects.
            let world = unsafe { state.space().stopped() };
            let left = state.marking_threads().while_marking(|| session.step(state, &world, edges));
            drop(world);
            members.resume();
            left || self.suspect_finalizers(state, || true)
        })
    }

    /// Ends the concurrent marking in a stop; false if none is active.
    ///
    /// # Errors
    /// As [`Collector::start_marking`].
    pub(crate) fn finish_marking(&self, state: &State, me: &Mutator) -> Result<bool, Misuse> {
        self.with_work(me, |work| {
            let is_active = work.session.is_active();
            if is_active {
                self.run_stopped(state, Cause::FinishMarking { at_once: true }, work);
            }
            is_active
        })
    }

    /// Calls `f` with the collector's lock held, and the thread stopped in all its heaps.
    fn with_work<R>(&self, me: &Mutator, f: impl FnOnce(&mut Work) -> R) -> Result<R, Misuse> {
        me.check()?;
        me.away(ThreadState::AtSafepoint, || f(&mut self.lock_work()))
    }
}
