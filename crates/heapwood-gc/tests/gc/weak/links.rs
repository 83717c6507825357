//! Links: words of the test's own memory, and of objects, which are cleared when their objects are dead, and not before.

use super::at;
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc::{Misuse, Mutator, Refusal};
use heapwood_gc_testing::*;
use heapwood_heap::ArenaKind;

/// Memory with links, at a place that stays.
pub(super) struct Words(Box<[core::cell::UnsafeCell<usize>]>);

impl Words {
    pub(super) fn new(n: usize) -> Self {
        Words((0..n).map(|_| core::cell::UnsafeCell::new(0)).collect())
    }

    pub(super) fn at(&self, i: usize) -> *mut usize {
        self.0[i].get()
    }

    pub(super) fn get(&self, i: usize) -> usize {
        // SAFETY: a word of the box.
        unsafe { self.at(i).read_volatile() }
    }

    pub(super) fn set(&self, i: usize, word: usize) {
        // SAFETY: as above.
        unsafe { self.at(i).write_volatile(word) };
    }
}

pub(super) fn add(mutator: &Mutator, slot: *mut usize, object: usize, is_long: bool) {
    // SAFETY: the tests keep slots until they have removed their links, and roots keep the object.
    unsafe { mutator.add_link(slot, at(object), is_long) }.unwrap();
}

pub(super) fn read(mutator: &Mutator, slot: *mut usize) -> usize {
    mutator.read_link(slot).unwrap().map_or(0, |object| object.as_ptr() as usize)
}

#[test]
fn what_cannot_be_linked_is_refused_and_changes_nothing() {
    let heap = heap(FULL.concurrent(Concurrent::Off));
    let mutator = attach(&heap);
    let (words, mut roots) = (Words::new(2), Slots::new(&heap, 1));
    roots.set(0, new(&mutator, node_type(&heap)));
    let arena = Arena::open(&mutator, ArenaKind::Escaping);
    let inside = arena.data(&mutator, 64, 8).unwrap();
    // SAFETY: they are refused.
    let try_add =
        |slot: usize, object: usize| unsafe { mutator.add_link(slot as *mut usize, at(object), false) };
    let slot = words.at(0) as usize;
    assert_eq!(
        try_add(slot, roots.get(0) + 8),
        Err(Refusal::CannotReferWeakly { address: roots.get(0) + 8 })
    );
    assert_eq!(try_add(slot + 4, roots.get(0)), Err(Refusal::NoSlot { slot: slot + 4 }));
    assert_eq!(try_add(0, roots.get(0)), Err(Refusal::NoSlot { slot: 0 }));
    for (slot, object) in [(slot, inside), (inside, roots.get(0))] {
        assert!(
            matches!(try_add(slot, object), Err(Refusal::CannotReferWeaklyInArena { address, .. }) if address == inside)
        );
    }
    arena.close(&mutator);
    // In the heap: in a weak reference, and in an object that was freed.
    let weak = super::ephemeron(&mutator, roots.get(0), 0);
    let spare = new(&mutator, node_type(&heap));
    free(&mutator, spare);
    for slot in [weak, weak + 8, spare + 8] {
        assert_eq!(try_add(slot, roots.get(0)), Err(Refusal::NoSlot { slot }));
    }
    // SAFETY: it is refused.
    let moved = unsafe { mutator.move_link(words.at(0), words.at(1)) };
    assert_eq!(moved, Err(Refusal::NoLink { slot }));
    let misuse = Misuse::InNative;
    assert_eq!(mutator.blocking(|| mutator.read_link(slot as *mut usize)).unwrap(), Err(misuse));
    assert!(!heap.remove_link(words.at(0)) && heap.links() == 0);
    assert_eq!(mutator.read_link(words.at(1)), Ok(None));
}
