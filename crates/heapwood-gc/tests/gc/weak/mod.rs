//! Ephemerons, weak references, tables and links: what is refused, what is freed, and long chains. What is cleared when is in the oracles.

mod fixed_point;
mod freed;
mod links;
mod refused;
mod tables;

use core::ptr::NonNull;
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc::{AllocError, Misuse, Mutator, Refusal};
use heapwood_gc_testing::*;
use heapwood_heap::ArenaKind;

fn at(address: usize) -> NonNull<u8> {
    NonNull::new(address as *mut u8).unwrap()
}

/// An ephemeron of objects that roots keep.
pub(crate) fn ephemeron(mutator: &Mutator, key: usize, value: usize) -> usize {
    // SAFETY: roots of the test keep both.
    unsafe { mutator.ephemeron(at(key), value) }.unwrap().as_ptr() as usize
}

pub(crate) fn key_of(mutator: &Mutator, ephemeron: usize) -> usize {
    mutator.ephemeron_key(at(ephemeron)).unwrap().map_or(0, |key| key.as_ptr() as usize)
}

pub(crate) fn value_of(mutator: &Mutator, ephemeron: usize) -> usize {
    mutator.ephemeron_value(at(ephemeron)).unwrap().map_or(0, |value| value.as_ptr() as usize)
}

pub(crate) fn set_value(mutator: &Mutator, ephemeron: usize, value: usize) -> bool {
    // SAFETY: the tests give objects that exist.
    unsafe { mutator.set_ephemeron_value(at(ephemeron), value) }.unwrap()
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let heap = heap(FULL.concurrent(Concurrent::Off));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 2);
    roots.set(0, new(&mutator, node));
    let outside = Box::new(7u64);
    for address in [roots.get(0) + 8, &raw const *outside as usize, 8] {
        // SAFETY: it is refused.
        let refused = unsafe { mutator.ephemeron(at(address), 0) };
        assert_eq!(refused, Err(Refusal::CannotReferWeakly { address }.into()));
        assert_eq!(mutator.ephemeron_key(at(address)), Err(Refusal::NoEphemeron { address }));
    }
    let arena = Arena::open(&mutator, ArenaKind::Escaping);
    let inside = arena.data(&mutator, 64, 8).unwrap();
    // SAFETY: it is refused.
    let refused = unsafe { mutator.ephemeron(at(inside), 0) }.unwrap_err();
    assert!(
        matches!(refused, AllocError::Refused(Refusal::CannotReferWeaklyInArena { address, .. }) if address == inside),
        "{refused}"
    );
    // A value may lie there.
    roots.set(1, ephemeron(&mutator, roots.get(0), inside));
    mutator.collect().unwrap();
    assert_eq!(value_of(&mutator, roots.get(1)), inside);
    assert!(set_value(&mutator, roots.get(1), 0));
    arena.close(&mutator);
    let weak = at(roots.get(1));
    let misuse = Refusal::from(Misuse::InNative);
    assert_eq!(mutator.blocking(|| mutator.ephemeron_key(weak)).unwrap(), Err(misuse));
    for address in [roots.get(0), roots.get(1) + 8, roots.get(1) + 32 * 1000] {
        assert_eq!(mutator.ephemeron_value(at(address)), Err(Refusal::NoEphemeron { address }));
    }
    // SAFETY: it is refused.
    let refused = unsafe { mutator.free(weak) }.unwrap_err();
    assert!(matches!(refused, Refusal::Heap(heapwood_heap::Refusal::Ephemeron { .. })), "{refused}");
    assert_eq!(key_of(&mutator, roots.get(1)), roots.get(0));
    assert_swept_and_valid(&heap);
}
