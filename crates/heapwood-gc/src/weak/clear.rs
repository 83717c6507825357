//! Clears what is weak and whose object is dead: after the fixed point of ephemerons, before finalisers revive anything
//! (`after_closure`); links to objects that they may revive are cleared when they have. Of ephemerons what a marking has listed is
//! looked at, of links all entries. Invariant: an ephemeron is cleared exactly if the marking that ends has not reached its
//! key, a link if it has not reached the object.

use crate::collect::PauseKind;
use crate::inject::Fault;
use crate::pause::Pause;
use crate::weak::links::{Fate, LinkKind, Lists};
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_heap::{Address, ObjectRef};

/// Bytes of an ephemeron, and of the entry of a link, by which what this phase looks at is counted.
const ENTRY: usize = 32;

/// Clears the ephemerons of dead keys.
pub(crate) fn clear_ephemerons(pause: &Pause<'_>, kind: PauseKind) {
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

fn is_full(kind: PauseKind) -> bool {
    matches!(kind, PauseKind::Full | PauseKind::FinalMark(_))
}

/// Whether a marking has left an object dead.
fn is_dead(pause: &Pause<'_>, kind: PauseKind, object: usize) -> bool {
    match is_full(kind) {
        true => !pause.world().is_marked(ObjectRef::new(object)),
        false => !pause.world().is_allocated(ObjectRef::new(object)),
    }
}

/// Whether a slot lies in an object that is dead.
fn is_slot_dead(pause: &Pause<'_>, kind: PauseKind, slot: usize) -> bool {
    let (space, at) = (pause.space(), Address::new(slot));
    space.contains(at) && {
        let holder = space.find_span(at).and_then(|span| span.cell_in(at));
        holder.is_none_or(|holder| is_dead(pause, kind, holder.get()))
    }
}

/// Clears the links of dead objects. Those whose slots lie in dead ones wait for [`drop_links`], if their objects are alive:
/// finalisers may revive the others.
pub(crate) fn clear_links(pause: &Pause<'_>, kind: PauseKind, links: LinkKind) {
    let faults = pause.state().faults();
    let lists = if is_full(kind) { Lists::All } else { Lists::Young };
    let (looked, _) = pause.state().links().settle(links, lists, |link| {
        if !is_dead(pause, kind, link.object) && !faults.fails(Fault::LinkEarly) {
            return match (is_slot_dead(pause, kind, link.slot), links) {
                (false, _) => Fate::Stays,
                (true, LinkKind::Short) => Fate::Waits,
                (true, LinkKind::Long) => Fate::Dropped,
            };
        }
        // SAFETY: an aligned word that may be written as long as it has a link; threads that are not attached may read it.
        unsafe { AtomicUsize::from_ptr(link.slot as *mut usize) }.store(0, Ordering::Relaxed);
        Fate::Cleared
    });
    pause.add_scanned(looked * ENTRY);
}

/// Drops the short links whose slots lie in objects that are dead still.
pub(crate) fn drop_links(pause: &Pause<'_>, kind: PauseKind) {
    let looked = pause.state().links().settle_waiting(|link| match is_slot_dead(pause, kind, link.slot) {
        true => Fate::Dropped,
        false => Fate::Stays,
    });
    pause.add_scanned(looked * ENTRY);
}
