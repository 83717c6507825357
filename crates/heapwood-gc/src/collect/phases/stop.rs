//! The world stops for a collection: the order of its locks, and what has to be known before marking begins.
//!
//! The order, which a fork follows, too: the collector's work, the background sweeper's lock, the registry's, the roots'
//! (libraries, table, handles, stacks). A thread holds these, and waits for them, outside of no-preempt regions. So where signals
//! stop threads the collector takes them before it sends any, or a stopped thread might hold one; and where threads poll it takes
//! the roots' afterwards, for a thread that waits for them does not poll. All other locks that it needs are held in no-preempt
//! regions only, in which no thread stops.
//!
//! Invariant: whenever a fork may come (`state/fork_gate.rs`) the collection holds what the gate says.

use super::super::collector::Collector;
use super::hook::ClientPart;
use crate::mutator::Mutator;
use crate::mutator::registry::Members;
use crate::observe::{AwaitedThread, Moment, Times};
use crate::pause::Pause;
use crate::roots::Loader;
use crate::state::State;
use crate::state::fork_gate::{REGISTRY, ROOTS};
use core::time::Duration;
use heapwood_os::process::loaded::{HAS_LOCK, with_lock};

/// How long stopped threads wait for the dynamic loader, at first and at most: one of them may have its lock.
const LOADER_PATIENCE: Duration = Duration::from_millis(2);
const MOST_PATIENCE: Duration = Duration::from_millis(32);
/// How long running threads wait for it before the collecting thread takes its lock.
const ANSWER_PATIENCE: Duration = Duration::from_millis(50);

impl Collector {
    /// Stops the mutators by `stop`, which returns the thread that it waited for last; again if a library was opened meanwhile of which nothing is
    /// known. A client's lock is taken before each stop.
    ///
    /// # Errors
    /// `stop` was refused; all go on.
    pub(in crate::collect) fn stop_world<'c, E>(
        &'c self,
        state: &'c State,
        times: &mut Times,
        client: ClientPart<'_>,
        mut stop: impl FnMut(&Members<'_, Mutator>) -> Result<Option<AwaitedThread>, E>,
    ) -> Result<Pause<'c>, E> {
        let mut at_most = LOADER_PATIENCE;
        // A thread that waits for the loader's lock stops by a signal, but does not poll.
        let may_hold = self.stops_by_signals() && HAS_LOCK;
        loop {
            let has_answer =
                self.roots().update_libraries(may_hold.then_some(ANSWER_PATIENCE), state.faults());
            let mut once = |loader| self.stop_once(state, times, client, &mut stop, loader);
            let stopped = match has_answer {
                true => once(Loader::MayBeHeld { at_most }),
                // Either this thread has the lock, in a callback of the loader's, or it will get it.
                false => with_lock(|| once(Loader::IsHeld)),
            };
            if let Some(pause) = stopped? {
                return Ok(pause);
            }
            at_most = (at_most * 2).min(MOST_PATIENCE);
        }
    }

    /// Stops the mutators; none if the loader has not answered.
    fn stop_once<'c, E>(
        &'c self,
        state: &'c State,
        times: &mut Times,
        client: ClientPart<'_>,
        stop: &mut impl FnMut(&Members<'_, Mutator>) -> Result<Option<AwaitedThread>, E>,
        loader: Loader,
    ) -> Result<Option<Pause<'c>>, E> {
        let gate = state.fork_gate();
        client.lock();
        let no_fork = gate.no_fork();
        times.requested = Moment::now();
        let members = self.registry().lock();
        let early = self.stops_by_signals().then(|| self.roots().lock());
        gate.set_held(REGISTRY | if early.is_some() { ROOTS } else { 0 });
        // This may take long, and the process may fork meanwhile: perhaps the very thread that is waited for.
        drop(no_fork);
        let stopped = stop(&members);
        let no_fork = gate.no_fork();
        times.awaited = match stopped {
            Ok(awaited) => awaited,
            Err(refused) => {
                gate.set_held(0);
                drop((early, members, no_fork));
                client.unlock();
                return Err(refused);
            }
        };
        let mut roots = early.unwrap_or_else(|| self.roots().lock());
        gate.set_held(REGISTRY | ROOTS);
        // A thread that stops may have opened a library since the look before, or be about to.
        let loader = match loader {
            Loader::MayBeHeld { .. } if members.iter().all(Mutator::is_mine) => Loader::IsFree,
            loader => loader,
        };
        if roots.know_libraries(loader, state.faults()) {
            times.stopped = Moment::now();
            // SAFETY: all have stopped, and the collector's lock lets one thread collect.
            let pause = unsafe { Pause::new(state, roots, members, no_fork, self.scans_stacks()) };
            return Ok(Some(pause.with_client(client.phases())));
        }
        drop(roots);
        members.resume();
        gate.set_held(0);
        drop(members);
        drop(no_fork);
        // Who opens the library may wait for it.
        client.unlock();
        Ok(None)
    }
}
