//! Clears what is weak and whose object is dead: after the fixed point of ephemerons, before finalisers revive anything
//! (`after_closure`); links to objects that they may revive are cleared when they have. Of ephemerons what a marking has listed is
//! looked at, of links all entries. Invariant: an ephemeron is cleared exactly if the marking that ends has not reached its
//! key, a link if it has not reached the object.

use super::super::plan::PauseKind;
use crate::inject::Fault;
use crate::pause::Pause;
use crate::state::{Fate, LinkKind, Lists};
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_heap::{Address, ObjectRef};

/// Bytes of an ephemeron, and of the entry of a link, by which what this phase looks at is counted.
const ENTRY: usize = 32;

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
        pause.add_scanned(looked * ENTRY);
    }
    if matches!(kind, PauseKind::FinalMark(_)) && ephemerons.wait(true) {
        let looked = ephemerons.clear(true, |key| is_dead(world.is_marked(ObjectRef::new(key))));
        pause.add_scanned(looked * ENTRY);
    }
}

/// Clears the links of dead objects, and drops those whose slots lie in dead ones.
pub(super) fn clear_links(pause: &Pause<'_>, kind: PauseKind, links: LinkKind) {
    let (space, world, faults) = (pause.space(), pause.world(), pause.state().faults());
    let is_full = matches!(kind, PauseKind::Full | PauseKind::FinalMark(_));
    let is_dead = |object: usize| match is_full {
        true => !world.is_marked(ObjectRef::new(object)),
        false => !world.is_allocated(ObjectRef::new(object)),
    };
    let lists = if is_full { Lists::All } else { Lists::Young };
    let (looked, _) = pause.state().links().settle(links, lists, |link| {
        let at = Address::new(link.slot);
        if space.contains(at) {
            let holder = space.find_span(at).and_then(|span| span.cell_in(at));
            if holder.is_none_or(|holder| is_dead(holder.get())) {
                return Fate::Dropped;
            }
        }
        let clears = match is_dead(link.object) {
            true => !faults.fails(Fault::LinkLate),
            false => faults.fails(Fault::LinkEarly),
        };
        if !clears {
            return Fate::Stays;
        }
        // SAFETY: an aligned word that may be written as long as it has a link; threads that are not attached may read it.
        unsafe { AtomicUsize::from_ptr(link.slot as *mut usize) }.store(0, Ordering::Relaxed);
        Fate::Cleared
    });
    pause.add_scanned(looked * ENTRY);
}
