//! Ephemerons in verify mode: each that is alive when a collection has ended has no key, or one that is alive; so has its value,
//! which is an edge then. Walks follow the value of one only when they have come to its key: by rounds, unlike the marker.
//! Invariant: nothing here is the marker's code, so that the two share no mistake.

use crate::pause::Pause;
use crate::weak::ephemerons::Ephemeron;
use heapwood_heap::{Address, ObjectRef, ScanKind, Space};
use heapwood_os::diagnose::message::corrupt;

/// The ephemeron at an address, if one is there.
pub(crate) fn ephemeron_at(space: &Space, object: usize) -> Option<Ephemeron> {
    let is_one = space.entry_at(Address::new(object)).is(ScanKind::Ephemeron);
    // SAFETY: a walk has come to the object, of a stopped heap, and its page says what it is.
    is_one.then(|| unsafe { Ephemeron::at(object) })
}

/// The value of an ephemeron, if its key is outside the heap, or a walk `has` come to it.
pub(crate) fn value_of(space: &Space, ephemeron: Ephemeron, has: impl Fn(usize) -> bool) -> Option<usize> {
    let key = ephemeron.key();
    (!space.contains(Address::new(key)) || has(key)).then(|| ephemeron.value())
}

/// Counts the keys of those that are alive when a collection has ended. The heap is stopped, and its marks are allocation bits.
pub(crate) fn count_keys(pause: &Pause<'_>) {
    let (space, world, ephemerons) = (pause.space(), pause.world(), pause.state().ephemerons());
    let Some(keys) = ephemerons.keys().filter(|_| ephemerons.are_some()) else { return };
    keys.clear();
    world.for_each_span(|_, span| {
        if space.layouts().shape(span.shape()).kind() != ScanKind::Ephemeron {
            return;
        }
        for object in span.iter().filter(|&object| world.is_allocated(object)).map(ObjectRef::get) {
            if let Some(ephemeron) = ephemeron_at(space, object).filter(|ephemeron| ephemeron.key() != 0) {
                keys.add(space, ephemeron.key());
            }
        }
    });
}

/// Ends the process if an ephemeron that is alive has a key or a value that is not. The heap is stopped, and its marks are
/// allocation bits; `is_missed` tells that an address leads to an object without one.
pub(crate) fn check_ephemerons(pause: &Pause<'_>, is_missed: impl Fn(usize) -> bool) {
    let (space, world) = (pause.space(), pause.world());
    world.for_each_span(|_, span| {
        if space.layouts().shape(span.shape()).kind() != ScanKind::Ephemeron {
            return;
        }
        for object in span.iter().filter(|&object| world.is_allocated(object)).map(ObjectRef::get) {
            let Some(ephemeron) = ephemeron_at(space, object) else { continue };
            let (key, value) = (ephemeron.key(), ephemeron.value());
            if is_missed(key) {
                corrupt(format_args!(
                    "the ephemeron at {object:#x} has the key {key:#x}, which is dead: it was not cleared"
                ));
            }
            if is_missed(value) {
                corrupt(format_args!(
                    "the ephemeron at {object:#x} has the value {value:#x}, which was not marked, though the key {key:#x} was"
                ));
            }
        }
    });
}
