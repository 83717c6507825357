//! Plain stores of a moment (`Mutator::dirty`), and stores whose object is not named (`WriteBarrier::write_inside`).

use super::{KINDS, Kind, at, is_there, numbered, quiet, stack};
use heapwood_gc::settings::options::Generational;
use heapwood_gc::{Config, Mutator, PlainError};
use heapwood_gc_testing::*;
use heapwood_heap::Address;

/// How a store reaches an old object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Inside,
    Dirty,
}

fn store(mutator: &Mutator, how: Store, object: usize, word: usize, value: usize) {
    match how {
        Store::Inside => {
            // SAFETY: the word is a slot of the object, and the value is null or an object.
            unsafe { mutator.barrier().write_inside((object as *mut usize).add(word), Address::new(value)) };
        }
        Store::Dirty => {
            mutator.dirty(at(object)).unwrap();
            put(object, word, value);
        }
    }
}

/// A young object that only an old one leads to survives a young collection.
pub(crate) fn young(config: Config, how: Store, kind: Kind, fault: impl Fn(&Mutator)) -> Result<(), String> {
    let heap = heap(config);
    let mutator = attach(&heap);
    let mut roots = Slots::new(&heap, 1);
    roots.set(0, stack(&mutator, kind));
    mutator.collect().unwrap();
    fault(&mutator);
    for (number, word) in [(7, 0), (8, STACK_END), (9, 0)] {
        let node = numbered(&mutator, number);
        store(&mutator, how, roots.get(0), word, node);
        mutator.collect_young().unwrap();
        if !is_there(&mutator, node, number) {
            return Err(format!("{how:?} into {kind:?}: node {number} is gone"));
        }
    }
    assert_eq!(heap.inspect().stats().barrier_violations, 0);
    assert_valid(&heap);
    Ok(())
}

/// The last pointer.
const STACK_END: usize = super::STACK - 2;

/// What a store overwrites while a marking goes on, and only a root holds since, survives it.
pub(crate) fn marking(
    config: Config,
    how: Store,
    kind: Kind,
    fault: impl Fn(&Mutator),
) -> Result<(), String> {
    let heap = heap(config);
    let mutator = attach(&heap);
    let mut roots = Slots::new(&heap, 2);
    roots.set(0, stack(&mutator, kind));
    let node = numbered(&mutator, 7);
    link(&mutator, roots.get(0), 4, node);
    mutator.collect().unwrap();
    fault(&mutator);
    assert!(mutator.incremental_marking().begin().unwrap());
    store(&mutator, how, roots.get(0), 4, 0);
    roots.set(1, node);
    assert!(mutator.incremental_marking().finish().unwrap());
    match is_there(&mutator, node, 7) {
        true => Ok(()),
        false => Err(format!("{how:?} into {kind:?}: what was overwritten is gone")),
    }
}

#[test]
fn stores_without_an_owner_and_announced_ones_are_seen() {
    for how in [Store::Inside, Store::Dirty] {
        for kind in KINDS {
            for verify in [false, true] {
                young(quiet(Generational::Always).verify(verify), how, kind, |_| ()).unwrap();
                for generational in [Generational::Always, Generational::Off] {
                    marking(quiet(generational).verify(verify), how, kind, |_| ()).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_store_outside_the_heap_is_a_plain_one() {
    let heap = heap(YOUNG.verify(true));
    let mutator = attach(&heap);
    let mut word = 0usize;
    let node = numbered(&mutator, 5);
    // SAFETY: a word of the program's own.
    unsafe { mutator.barrier().write_inside(&raw mut word, Address::new(node)) };
    assert_eq!(word, node);
}

#[test]
fn objects_that_are_none_are_refused() {
    let heap = heap(YOUNG);
    let mutator = attach(&heap);
    let node = numbered(&mutator, 5);
    for wrong in [node + WORD, node + 1, 16, &raw const heap as usize] {
        assert_eq!(mutator.dirty(at(wrong)), Err(PlainError::NoObject { address: wrong }));
    }
    assert_eq!(mutator.dirty(at(node)), Ok(()));
    let refused = mutator.blocking(|| mutator.dirty(at(node)).unwrap_err()).unwrap();
    assert!(matches!(refused, PlainError::Misuse(_)), "{refused}");
}
