//! Clears what is weak and whose object is dead: after the fixed point of ephemerons, before finalisers revive anything
//! (`after_closure`). What a marking has listed is looked at, and nothing else. Invariant: an ephemeron is cleared exactly if
//! the marking that ends has not reached its key.

use super::super::plan::PauseKind;
use crate::inject::Fault;
use crate::pause::Pause;
use heapwood_heap::ObjectRef;

/// Bytes of an ephemeron, by which what this phase looks at is counted.
const EPHEMERON: usize = 32;

/// Clears the ephemerons of dead keys.
pub(super) fn clear_ephemerons(pause: &Pause<'_>, kind: PauseKind) {
    let (ephemerons, world, faults) = (pause.state().ephemerons(), pause.world(), pause.state().faults());
    let is_dead = |is_marked: bool| match is_marked {
        true => faults.fails(Fault::EphemeronEarly),
        false => !faults.fails(Fault::EphemeronLate),
    };
    // A young marking marks on the side of the allocation bits.
    let by_allocation = !matches!(kind, PauseKind::Full);
    if ephemerons.wait(false) {
        let looked = ephemerons.clear(false, |key| match by_allocation {
            true => is_dead(world.is_allocated(ObjectRef::new(key))),
            false => is_dead(world.is_marked(ObjectRef::new(key))),
        });
        pause.add_scanned(looked * EPHEMERON);
    }
    if matches!(kind, PauseKind::FinalMark(_)) && ephemerons.wait(true) {
        let looked = ephemerons.clear(true, |key| is_dead(world.is_marked(ObjectRef::new(key))));
        pause.add_scanned(looked * EPHEMERON);
    }
}
