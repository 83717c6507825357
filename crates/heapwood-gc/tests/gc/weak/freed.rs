//! What the program frees although something weak refers to it. Verify mode refuses, and nothing changes; without it that is a
//! promise of the program, and a broken one clears what is weak at the next collection, or shows the cell's next object, but harms
//! nothing else.

use super::links::{Words, add};
use super::{at, ephemeron, key_of};
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc::{Config, Mutator, Refusal};
use heapwood_gc_testing::*;

const KINDS: [Config; 3] = [FULL, YOUNG, YOUNG.stress(true)];

fn try_free(mutator: &Mutator, object: usize) -> Result<(), Refusal> {
    // SAFETY: it is refused, or the test does not use the object afterwards.
    unsafe { mutator.free(at(object)) }
}

#[test]
fn verify_mode_refuses_to_free_what_something_weak_refers_to() {
    for config in KINDS {
        let heap = heap(config.verify(true).concurrent(Concurrent::Off));
        let mutator = attach(&heap);
        let (node, large) = (node_type(&heap), pointer_free(&heap, 100_000));
        for ty in [node, large] {
            let mut roots = Slots::new(&heap, 4);
            roots.set(0, new(&mutator, ty));
            let key = roots.get(0);
            roots.set(1, ephemeron(&mutator, key, 0));
            roots.set(2, ephemeron(&mutator, key, key));
            let refused = Err(Refusal::HasWeak { address: key });
            for _ in 0..3 {
                assert_eq!(try_free(&mutator, key), refused);
                mutator.collect_young().unwrap();
                assert_eq!(try_free(&mutator, key), refused);
                mutator.collect().unwrap();
                assert_eq!([1, 2].map(|i| key_of(&mutator, roots.get(i))), [key; 2], "nothing has changed");
            }
            // One of the two is dead, and a collection has found it; then the other.
            roots.set(1, 0);
            mutator.collect().unwrap();
            assert_eq!(try_free(&mutator, key), refused);
            roots.set(2, 0);
            mutator.collect().unwrap();
            roots.set(0, 0);
            assert_eq!(try_free(&mutator, key), Ok(()));
            // Another that is not known to anything weak, or has what is weak for a value.
            roots.set(0, new(&mutator, ty));
            roots.set(1, new(&mutator, node));
            roots.set(2, ephemeron(&mutator, roots.get(1), roots.get(0)));
            assert!(super::set_value(&mutator, roots.get(2), 0));
            let value = roots.get(0);
            roots.set(0, 0);
            assert_eq!(try_free(&mutator, value), Ok(()));
        }
        assert_swept_and_valid(&heap);
    }
}

/// Where signals stop threads no store has a barrier, and yet frees are looked at. (Stacks keep what was dropped.)
#[test]
fn verify_mode_refuses_where_signals_stop_threads() {
    let heap = heap(BY_SIGNALS.verify(true));
    let mutator = attach(&heap);
    let mut roots = Slots::new(&heap, 2);
    roots.set(0, new(&mutator, node_type(&heap)));
    roots.set(1, ephemeron(&mutator, roots.get(0), 0));
    mutator.collect().unwrap();
    assert_eq!(try_free(&mutator, roots.get(0)), Err(Refusal::HasWeak { address: roots.get(0) }));
    assert_eq!(key_of(&mutator, roots.get(1)), roots.get(0));
}

#[test]
fn a_key_that_was_removed_from_its_tables_is_freed() {
    for config in KINDS {
        let heap = heap(config.verify(true).concurrent(Concurrent::Off));
        let mutator = attach(&heap);
        let node = node_type(&heap);
        let mut roots = Slots::new(&heap, 3);
        roots.set(0, mutator.weak_table().unwrap().as_ptr() as usize);
        roots.set(1, mutator.weak_table().unwrap().as_ptr() as usize);
        for i in 0..100 {
            roots.set(2, new(&mutator, node));
            let key = roots.get(2);
            for table in [0, 1] {
                // SAFETY: roots keep both.
                unsafe { mutator.weak_table_set(at(roots.get(table)), at(key), 0) }.unwrap();
            }
            if i % 10 == 0 {
                mutator.collect().unwrap();
            }
            assert!(mutator.weak_table_remove(at(roots.get(0)), at(key)).unwrap());
            assert_eq!(try_free(&mutator, key), Err(Refusal::HasWeak { address: key }));
            assert!(mutator.weak_table_remove(at(roots.get(1)), at(key)).unwrap());
            roots.set(2, 0);
            assert_eq!(try_free(&mutator, key), Ok(()));
        }
        assert_swept_and_valid(&heap);
    }
}

#[test]
fn verify_mode_refuses_to_free_what_has_a_link_or_is_the_place_of_one() {
    for config in KINDS {
        let heap = heap(config.verify(true).concurrent(Concurrent::Off));
        let mutator = attach(&heap);
        let (words, mut roots) = (Words::new(1), Slots::new(&heap, 2));
        roots.set(0, new(&mutator, node_type(&heap)));
        roots.set(1, new(&mutator, pointer_free(&heap, 64)));
        let [object, holder] = [roots.get(0), roots.get(1)];
        let (outside, inside) = (words.at(0), (holder + 24) as *mut usize);
        words.set(0, object);
        put(holder, 3, object);
        for (slot, is_long, refused) in [
            (outside, false, object),
            (outside, true, object),
            (inside, false, object),
            (inside, true, holder),
        ] {
            add(&mutator, slot, object, is_long);
            mutator.collect().unwrap();
            let why = Refusal::HasLink { address: refused, slot: slot as usize };
            assert_eq!(try_free(&mutator, refused), Err(why));
            assert_eq!(super::links::read(&mutator, slot), object, "nothing has changed");
            assert!(heap.remove_link(slot));
        }
        roots.set(0, 0);
        roots.set(1, 0);
        put(holder, 3, 0);
        assert_eq!([object, holder].map(|object| try_free(&mutator, object)), [Ok(()), Ok(())]);
        assert_swept_and_valid(&heap);
    }
}

/// A program that breaks the promise where nothing checks it.
#[test]
fn a_key_that_was_freed_is_cleared_by_the_next_collection_unless_its_cell_is_used() {
    for config in [FULL, YOUNG, FULL.mark_threads(3)] {
        let heap = heap(config.concurrent(Concurrent::Off));
        let mutator = attach(&heap);
        let (node, large) = (node_type(&heap), pointer_free(&heap, 100_000));
        for (ty, is_old, is_used) in [
            (node, false, false),
            (node, true, false),
            (node, true, true),
            (large, false, false),
            (large, true, true),
        ] {
            const KEYS: usize = 100;
            let mut roots = Slots::new(&heap, 2 * KEYS);
            for i in 0..KEYS {
                roots.set(i, new(&mutator, ty));
                roots.set(KEYS + i, ephemeron(&mutator, roots.get(i), 0));
            }
            if is_old {
                mutator.collect().unwrap();
            }
            let keys: Vec<usize> = (0..KEYS).map(|i| roots.get(i)).collect();
            for (i, &key) in keys.iter().enumerate() {
                roots.set(i, 0);
                try_free(&mutator, key).unwrap();
            }
            if is_used {
                (0..KEYS).for_each(|i| roots.set(i, new(&mutator, ty)));
            }
            mutator.collect().unwrap();
            for (i, &key) in keys.iter().enumerate() {
                let found = key_of(&mutator, roots.get(KEYS + i));
                assert!(found == 0 || is_used && found == key && is_alive(&heap, key), "{config:?} {i}");
            }
        }
        assert_swept_and_valid(&heap);
    }
}
