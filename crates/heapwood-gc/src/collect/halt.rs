//! The world stops for a collection: in which order its locks are taken, and what has to be known before marking begins.
//!
//! The order, which who forks takes, too: the collector's work, the background sweeper's, the registry's, the roots' (libraries,
//! table, handles, stacks). What threads hold of these they hold outside of sections, and wait for outside of sections. So where
//! signals stop threads the collector takes them before it sends any, or a thread that has stopped might have one; and where threads poll it
//! takes the roots' afterwards, for one that waits for them does not poll. All else that it needs is held in sections only, in which
//! no thread stops.
//!
//! Invariant: between two pieces (`state/fork_gate.rs`) what the collection holds is what the gate says.

use super::collector::Collector;
use crate::mutator::Mutator;
use crate::mutator::registry::Members;
use crate::observe::Moment;
use crate::roots::LockedRoots;
use crate::state::State;
use crate::state::fork_gate::{Piece, REGISTRY, ROOTS};
use core::time::Duration;

/// How long stopped threads wait for the dynamic loader, at first and at most: one of them may have its lock.
const LOADER_PATIENCE: Duration = Duration::from_millis(2);
const MOST_PATIENCE: Duration = Duration::from_millis(32);

/// A stopped heap.
pub(super) struct Halted<'c> {
    /// When its threads were asked to stop.
    pub(super) requested: Moment,
    pub(super) members: Members<'c, Mutator>,
    pub(super) roots: LockedRoots<'c>,
    pub(super) piece: Piece<'c>,
}

impl Collector {
    /// Stops the mutators by `stop`, again if a library was opened meanwhile of which nothing is known.
    ///
    /// # Errors
    /// `stop` was refused; all go on.
    pub(super) fn halt<'c, E>(
        &'c self,
        state: &'c State,
        mut stop: impl FnMut(&Members<'_, Mutator>) -> Result<(), E>,
    ) -> Result<Halted<'c>, E> {
        let (gate, mut patience) = (state.fork_gate(), LOADER_PATIENCE);
        loop {
            self.roots().update_libraries(state.faults());
            let piece = gate.piece();
            let requested = Moment::now();
            let members = self.registry().lock();
            let early = self.stops_by_signals().then(|| self.roots().lock());
            gate.set_held(REGISTRY | if early.is_some() { ROOTS } else { 0 });
            // This may take long, and the process may fork meanwhile: perhaps the very thread that is waited for.
            drop(piece);
            let stopped = stop(&members);
            let piece = gate.piece();
            if let Err(why) = stopped {
                gate.set_held(0);
                return Err(why);
            }
            let mut roots = early.unwrap_or_else(|| self.roots().lock());
            gate.set_held(REGISTRY | ROOTS);
            // A thread that stops may have opened a library since the look before, or be about to.
            if roots.know_libraries(patience, state.faults()) {
                return Ok(Halted { requested, members, roots, piece });
            }
            drop(roots);
            members.resume();
            gate.set_held(0);
            drop(members);
            drop(piece);
            patience = (patience * 2).min(MOST_PATIENCE);
        }
    }
}
