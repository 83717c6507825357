//! The world stops for a collection, and goes on: what comes before the stop, the order of its locks, what has to be known before
//! marking begins, and the end.
//!
//! The order, which a fork follows, too: the collector's work, the background sweeper's lock, the dynamic loader's (where data of
//! libraries are roots; no fork comes while a collector has it), the registry's, the roots'
//! (libraries, table, handles, stacks). A thread holds these, and waits for them, outside of no-preempt regions. So where signals
//! stop threads the collector takes them before it sends any, or a stopped thread might hold one; and where threads poll it takes
//! the roots' afterwards, for a thread that waits for them does not poll. All other locks that it needs are held in no-preempt
//! regions only, in which no thread stops.
//!
//! Invariant: whenever a fork may come (`state/fork_gate.rs`) the collection holds what the gate says.

use super::super::cause::Cause;
use super::super::client::ClientPart;
use super::super::collector::{Collector, Work};
use super::super::cycle::Cycle;
use super::super::plan::{Observed, plan};
use crate::mutator::registry::StopTimeout;
use crate::observe::{Moment, RootBytes, Times};
use crate::pause::Pause;
use crate::policy::start_limits::{MOST_NOTED, MOST_YOUNG};
use crate::roots::Source;
use crate::state::State;
use crate::state::barrier_bits::MARK;
use crate::state::fork_gate::{REGISTRY, ROOTS};
use core::time::Duration;
use heapwood_heap::{Collection, Sweeping};
use heapwood_os::process::loaded::with_lock;
use heapwood_os::threads::cancellation::sleep;

/// How long threads that poll may keep a collector waiting that has the dynamic loader's lock, at first: one of them may wait for it.
const LOADER_PATIENCE: Duration = Duration::from_millis(2);

impl Collector {
    /// Sweeps what is left of the last cycle and does all that can be done while nobody waits. When it ends nothing is unswept, and
    /// nothing is swept until the collection ends.
    pub(in crate::collect) fn prepare<'c>(
        &'c self,
        state: &State,
        cause: Cause,
        work: &'c mut Work,
    ) -> Cycle<'c> {
        let (space, gate) = (state.space(), state.fork_gate());
        let times = Times::begin(space, work.last_ended);
        let starts = matches!(cause, Cause::StartMarking { .. });
        // Between two batches the process may fork.
        while gate.without_fork(|| space.sweep_some(Sweeping::Collector)) {}
        let _no_fork = gate.no_fork();
        space.finish_sweep();
        // If the background sweeper has a batch in hand, that is waited for now; it takes no other.
        let sweeping = self.sweeping.lock();
        self.forget_given_up(state, work);
        let mut cycle = Cycle::new(state, cause, work, times, sweeping);
        cycle.checks = self.verify().is_some_and(|verify| verify.is_due(state, cause.is_program()));
        if cycle.expected == Collection::Full || starts {
            cycle.bounds = Some(self.bounds(space));
        }
        if cycle.expected == Collection::Full {
            let marking = &mut cycle.work.marking;
            match marking.prepare(space, state.mark_threads()) {
                Some(_) if self.stops_by_signals() => self.ask_for_helpers(),
                Some(helpers) => marking.set_workers(helpers.start()),
                None => {}
            }
        }
        cycle
    }

    /// Stops the mutators. A client's lock is taken before each try. Where data of libraries are roots, it has the loader's lock
    /// meanwhile: then it knows all libraries that a stopped thread has seen, and no stopped thread has the lock.
    pub(in crate::collect) fn stop_world<'c>(
        &'c self,
        state: &'c State,
        times: &mut Times,
        client: ClientPart<'_>,
    ) -> Pause<'c> {
        let mut patience = LOADER_PATIENCE;
        loop {
            if !self.roots().has_libraries() {
                match self.stop_once(state, times, client, None, false) {
                    Some(pause) => return pause,
                    None => continue,
                }
            }
            // A thread that waits for the loader's lock stops by a signal, but does not poll.
            let limit = (!self.stops_by_signals()).then_some(patience);
            // A child that is forked while it has the lock would find that taken, for good: so the slice comes first.
            let no_fork = state.fork_gate().no_fork();
            let stopped = with_lock(|| {
                self.roots().look_at_libraries();
                self.stop_once(state, times, client, limit, true)
            });
            drop(no_fork);
            if let Some(pause) = stopped {
                return pause;
            }
            // Whoever waits for the lock has it before the next try.
            sleep(patience);
            patience *= 2;
        }
    }

    /// Stops the mutators; none if one has not stopped `at_most` so long, or a library was named meanwhile, and the collector has not
    /// the loader's lock.
    fn stop_once<'c>(
        &'c self,
        state: &'c State,
        times: &mut Times,
        client: ClientPart<'_>,
        at_most: Option<Duration>,
        has_loader: bool,
    ) -> Option<Pause<'c>> {
        let gate = state.fork_gate();
        client.lock();
        let no_fork = gate.no_fork();
        times.requested = Moment::now();
        let members = self.registry().lock();
        let early = self.stops_by_signals().then(|| self.roots().lock());
        gate.set_held(REGISTRY | if early.is_some() { ROOTS } else { 0 });
        // This may take long, and the process may fork meanwhile: perhaps the very thread that is waited for.
        drop(no_fork);
        let stopped = self.stop(&members, at_most);
        let no_fork = gate.no_fork();
        match stopped {
            Ok(awaited) => {
                times.awaited = awaited;
                let mut roots = early.unwrap_or_else(|| self.roots().lock());
                gate.set_held(REGISTRY | ROOTS);
                if has_loader || !roots.has_libraries() {
                    roots.select_libraries();
                    times.stopped = Moment::now();
                    // SAFETY: all have stopped, and the collector's lock lets one thread collect.
                    let pause = unsafe { Pause::new(state, roots, members, no_fork, self.scans_stacks()) };
                    return Some(pause.with_client(client.phases()));
                }
                drop(roots);
                members.resume();
            }
            Err(StopTimeout) => drop(early),
        }
        gate.set_held(0);
        drop((members, no_fork));
        client.unlock();
        None
    }

    /// Each span that a mutator allocates from learns how far that has come; the stores that mutators have remembered and the objects
    /// that they have shaded are handed in. Of thousands of allocation buffers only the active ones are looked at.
    pub(in crate::collect) fn publish(&self, pause: &Pause<'_>, cycle: &mut Cycle<'_>) {
        cycle.stores = pause.members().iter().map(|m| m.barrier().close_stores()).sum();
        if pause.state().barrier() & MARK != 0 {
            pause.members().iter().for_each(|m| m.barrier().close_shaded());
        }
        cycle.overflowed = pause.state().remembered().has_overflowed();
        pause.owners().for_each(|owner| owner.publish());
    }

    /// Counts how many bytes of roots the collection looks at, if they are to be reported.
    pub(in crate::collect) fn count_roots(&self, pause: &Pause<'_>, cycle: &mut Cycle<'_>) {
        if self.tracing().is_on() {
            pause.for_each_root(cycle.expected, |source, words| {
                let RootBytes { stacks, others } = &mut cycle.roots;
                *(if source == Source::Stack { stacks } else { others }) += words.len();
            });
        }
    }

    /// Decides what the pause does, by what is known now. Marking begins.
    pub(in crate::collect) fn plan_pause(&self, pause: &Pause<'_>, cycle: &mut Cycle<'_>) {
        let (state, cause) = (pause.state(), cycle.cause);
        cycle.times.begin_marking(pause.space());
        let time = match state.cycles().young_time() {
            Some(set) => set,
            None if state.cycles().is_paced_by_bytes() => u64::MAX,
            None => cycle.work.nursery.most_time(cycle.times.since_last(), self.concurrent().max_pause()),
        };
        cycle.kind = plan(&Observed {
            cause,
            expected: cycle.expected,
            overflowed: state.remembered().has_overflowed(),
            remembers: cycle.work.nursery.remembers(),
            session: cycle.work.session.phase(),
            may_mark_beside: self.may_mark_beside(state),
            waits: cause.may_wait() && has_much_first(pause),
            deadline: cycle.times.marking.wall.saturating_add(time),
        });
    }

    /// The mutators go on; those whose threads have vanished are detached. The process may fork only when the heap is whole again.
    pub(in crate::collect) fn resume(&self, pause: Pause<'_>, cycle: &mut Cycle<'_>) {
        let space = pause.space();
        let no_fork = pause.resume(|members| {
            if self.stops_by_signals() {
                self.registry().remove_gone(members);
            }
        });
        if cycle.collection() == Collection::Full {
            space.arenas().trim(cycle.cause.wants_room());
        }
        drop(no_fork);
        cycle.times.ended = Moment::now();
    }
}

/// Whether a pause that may wait has much to do first: for young objects, or for what barriers have noted, of which each may
/// be the only path to others.
fn has_much_first(pause: &Pause<'_>) -> bool {
    let noted = pause.state().marking_log().waiting();
    noted > MOST_NOTED || pause.world().allocated(pause.owners()).bytes > MOST_YOUNG
}
