//! The world stops for a collection: the order of its locks, and what has to be known before marking begins.
//!
//! The order, which a fork follows, too: the collector's work, the background sweeper's lock, the dynamic loader's (where data of
//! libraries are roots; no fork comes while a collector has it), the registry's, the roots'
//! (libraries, table, handles, stacks). A thread holds these, and waits for them, outside of no-preempt regions. So where signals
//! stop threads the collector takes them before it sends any, or a stopped thread might hold one; and where threads poll it takes
//! the roots' afterwards, for a thread that waits for them does not poll. All other locks that it needs are held in no-preempt
//! regions only, in which no thread stops.
//!
//! Invariant: whenever a fork may come (`state/fork_gate.rs`) the collection holds what the gate says.

use super::super::collector::Collector;
use super::hook::ClientPart;
use crate::mutator::registry::StopTimeout;
use crate::observe::{Moment, Times};
use crate::pause::Pause;
use crate::state::State;
use crate::state::fork_gate::{REGISTRY, ROOTS};
use core::time::Duration;
use heapwood_os::process::loaded::with_lock;
use heapwood_os::threads::cancellation::sleep;

/// How long threads that poll may keep a collector waiting that has the dynamic loader's lock, at first: one of them may wait for it.
const LOADER_PATIENCE: Duration = Duration::from_millis(2);

impl Collector {
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
            let stopped = with_lock(|| {
                // A child that is forked now would find the lock taken, for good.
                let _no_fork = state.fork_gate().no_fork();
                self.roots().look_at_libraries(state.faults());
                self.stop_once(state, times, client, limit, true)
            });
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
}
