//! Objects that take plain stores (`Mutator::begin_plain`): a fiber's stack.

use super::{KINDS, Kind, STACK, at, is_there, numbered, quiet, stack};
use core::sync::atomic::Ordering;
use heapwood_gc::settings::options::Generational;
use heapwood_gc::{Config, FreeError, Mutator, PlainError};
use heapwood_gc_testing::*;

const ALL: usize = usize::MAX;

fn begin(mutator: &Mutator, object: usize, top: usize) {
    mutator.begin_plain(at(object), top).unwrap();
}

fn end(mutator: &Mutator, object: usize) {
    mutator.end_plain(at(object)).unwrap();
}

/// What has the memory of a dead stack keeps its words.
pub(crate) fn reused(config: Config, fault: impl Fn(&Mutator)) -> Result<(), String> {
    let heap = heap(config);
    let mutator = attach(&heap);
    fault(&mutator);
    let mut roots = Slots::new(&heap, 100);
    for _ in 0..100 {
        begin(&mutator, stack(&mutator, Kind::Slice), 0);
    }
    mutator.collect().unwrap();
    for i in 0..100 {
        roots.set(i, stack(&mutator, Kind::Slice));
        link(&mutator, roots.get(i), 4, numbered(&mutator, i));
    }
    mutator.collect().unwrap();
    match (0..100).all(|i| get(roots.get(i), 4) != 0 && is_there(&mutator, get(roots.get(i), 4), i)) {
        true => Ok(()),
        false => Err("words are gone".into()),
    }
}

#[test]
fn what_has_the_memory_of_a_dead_stack_keeps_its_words() {
    for verify in [false, true] {
        reused(quiet(Generational::Always).verify(verify), |_| ()).unwrap();
    }
}

/// Young nodes that were stored plainly survive young collections, before the end and after it.
pub(crate) fn young(config: Config, kind: Kind, fault: impl Fn(&Mutator)) -> Result<(), String> {
    let heap = heap(config);
    let mutator = attach(&heap);
    let mut roots = Slots::new(&heap, 1);
    roots.set(0, stack(&mutator, kind));
    mutator.collect().unwrap();
    fault(&mutator);
    let object = roots.get(0);
    begin(&mutator, object, 0);
    for number in 0..STACK / 2 {
        put(object, 2 * number, numbered(&mutator, number));
        mutator.set_plain_top(at(object), 2 * number + 1).unwrap();
        match number % 3 {
            0 => mutator.collect_young().unwrap(),
            1 => {
                end(&mutator, object);
                mutator.collect_young().unwrap();
                begin(&mutator, object, 2 * number + 1);
            }
            _ => {}
        }
        for below in 0..=number {
            let node = get(object, 2 * below);
            if !is_there(&mutator, node, below) {
                return Err(format!("{kind:?}: node {below} of {number} is gone"));
            }
        }
    }
    assert_eq!(heap.inspect().stats().barrier_violations, 0);
    assert_valid(&heap);
    Ok(())
}

/// When an object begins to take plain stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begins {
    Before,
    After,
}

/// What is popped while a marking goes on, and only a root holds since, survives it.
pub(crate) fn marking(
    config: Config,
    begins: Begins,
    kind: Kind,
    fault: impl Fn(&Mutator),
) -> Result<(), String> {
    let heap = heap(config);
    let mutator = attach(&heap);
    let mut roots = Slots::new(&heap, 4);
    roots.set(0, stack(&mutator, kind));
    let object = roots.get(0);
    for number in 0..3 {
        link(&mutator, object, 2 * number, numbered(&mutator, number));
    }
    mutator.collect().unwrap();
    fault(&mutator);
    if begins == Begins::Before {
        begin(&mutator, object, 6);
    }
    assert!(mutator.incremental_marking().begin().unwrap());
    if begins == Begins::After {
        // Only one counts from now on, but the others may be read before.
        roots.set(3, get(object, 4));
        begin(&mutator, object, 3);
    }
    let (first, second) = (get(object, 0), get(object, 2));
    put(object, 0, 0);
    put(object, 2, 0);
    mutator.set_plain_top(at(object), 0).unwrap();
    roots.set(1, first);
    roots.set(2, second);
    if config.generational == Generational::Always {
        mutator.collect_young().unwrap();
    }
    assert!(mutator.incremental_marking().finish().unwrap());
    let last = roots.get(3);
    let kept = [(first, 0), (second, 1), (last, 2)];
    for (node, number) in kept.into_iter().filter(|&(node, _)| node != 0) {
        if !is_there(&mutator, node, number) {
            return Err(format!("{begins:?}, {kind:?}: node {number} is gone"));
        }
    }
    assert_eq!(heap.inspect().stats().barrier_violations, 0);
    Ok(())
}

#[test]
fn what_is_pushed_survives_young_collections() {
    for kind in KINDS {
        for verify in [false, true] {
            young(quiet(Generational::Always).verify(verify), kind, |_| ()).unwrap();
            young(quiet(Generational::Off).verify(verify), kind, |_| ()).unwrap();
        }
    }
}

#[test]
fn what_is_popped_survives_a_marking_beside_the_program() {
    for begins in [Begins::Before, Begins::After] {
        for kind in KINDS {
            for verify in [false, true] {
                for generational in [Generational::Always, Generational::Off] {
                    marking(quiet(generational).verify(verify), begins, kind, |_| ()).unwrap();
                }
            }
        }
    }
}

#[test]
fn what_lies_above_the_top_does_not_count() {
    for verify in [false, true] {
        let heap = heap(YOUNG.verify(verify));
        let mutator = attach(&heap);
        let mut roots = Slots::new(&heap, 1);
        roots.set(0, stack(&mutator, Kind::Slice));
        let object = roots.get(0);
        mutator.collect().unwrap();
        let top = mutator.begin_plain(at(object), 0).unwrap();
        // SAFETY: it is there until the end.
        let top = unsafe { top.as_ref() };
        for number in 0..4 {
            put(object, number, numbered(&mutator, number));
            top.store(number + 1, Ordering::Relaxed);
        }
        let nodes: Vec<usize> = (0..4).map(|i| get(object, i)).collect();
        top.store(2, Ordering::Relaxed);
        mutator.collect().unwrap();
        let found: Vec<bool> = nodes.iter().map(|&node| mutator.find(node).is_some()).collect();
        assert_eq!(found, [true, true, false, false]);
        assert_eq!((get(object, 2), get(object, 3)), (0, 0), "a collection clears them");
        // A number beyond the object means all of it.
        put(object, STACK - 1, numbered(&mutator, 9));
        top.store(STACK + 1, Ordering::Relaxed);
        mutator.collect_young().unwrap();
        assert!(is_there(&mutator, get(object, STACK - 1), 9));
        top.store(1, Ordering::Relaxed);
        end(&mutator, object);
        assert!(
            (1..STACK).all(|i| get(object, i) == 0) && is_there(&mutator, nodes[0], 0),
            "the end does, too"
        );
        mutator.collect().unwrap();
        assert_eq!(heap.inspect().stats().live_objects, 2);
        assert_eq!(heap.inspect().stats().barrier_violations, 0);
    }
}

/// A fiber whose stack leads to it and to another fiber: dead, it goes, whatever collections there are; begin keeps nothing alive.
#[test]
fn a_stack_dies_with_its_fiber() {
    for kind in KINDS {
        for beside in [false, true] {
            let heap = heap(quiet(Generational::Always));
            let mutator = attach(&heap);
            let mut roots = Slots::new(&heap, 2);
            // More than there can be at once.
            for round in 0..100 {
                for _ in 0..50 {
                    roots.set(0, numbered(&mutator, 1));
                    roots.set(1, stack(&mutator, kind));
                    link(&mutator, roots.get(0), 0, roots.get(1));
                    begin(&mutator, roots.get(1), ALL);
                    put(roots.get(1), 0, roots.get(0));
                }
                // The last of them lives, and so does the one that it leads to.
                let (fiber, object) = (roots.get(0), roots.get(1));
                if round % 10 == 0 {
                    mutator.collect_young().unwrap();
                }
                roots.set(1, 0);
                match beside {
                    true => {
                        assert!(mutator.incremental_marking().begin().unwrap());
                        while mutator.incremental_marking().step(7).unwrap() {}
                        assert!(mutator.incremental_marking().finish().unwrap());
                    }
                    false => mutator.collect().unwrap(),
                }
                assert!(is_there(&mutator, fiber, 1) && get(object, 0) == fiber);
                let stats = heap.inspect().stats();
                assert_eq!(stats.live_objects, 2, "{kind:?} {beside} {round}");
                roots.set(0, 0);
                match beside {
                    true => {
                        assert!(mutator.incremental_marking().begin().unwrap());
                        assert!(mutator.incremental_marking().finish().unwrap());
                    }
                    false => mutator.collect().unwrap(),
                }
                assert_eq!(heap.inspect().stats().live_objects, 0, "{kind:?} {beside} {round}");
                assert!(matches!(mutator.end_plain(at(object)), Err(PlainError::NotBegun { .. })));
            }
            assert_valid(&heap);
        }
    }
}

/// Each fiber's stack leads to the next, and their chain is found by rounds; young fibers among them, and one that an ephemeron holds.
#[test]
fn fibers_that_lead_to_each_other_are_found_in_a_marking() {
    for verify in [false, true] {
        let heap = heap(quiet(Generational::Always).verify(verify));
        let mutator = attach(&heap);
        let mut roots = Slots::new(&heap, 4);
        let node = node_type(&heap);
        const FIBERS: usize = 30;
        for number in 0..FIBERS {
            roots.set(1, stack(&mutator, KINDS[number % KINDS.len()]));
            begin(&mutator, roots.get(1), ALL);
            // The next one, by an ephemeron now and then, whose key is one's own list.
            put(roots.get(1), 2, roots.get(0));
            roots.set(2, 0);
            roots.extend_list(2, &mutator, node, 10, number);
            put(roots.get(1), 4, roots.get(2));
            roots.set(0, roots.get(1));
            if number % 7 == 0 {
                mutator.collect_young().unwrap();
            }
            if number % 5 == 4 {
                // SAFETY: both are reachable.
                let ephemeron = unsafe { mutator.ephemeron(at(roots.get(2)), roots.get(0)) }.unwrap();
                roots.set(3, numbered(&mutator, 0));
                put(roots.get(3), 0, ephemeron.as_ptr() as usize);
                put(roots.get(3), 1, roots.get(2));
                roots.set(0, roots.get(3));
            }
        }
        (1..4).for_each(|i| roots.set(i, 0));
        assert!(mutator.incremental_marking().begin().unwrap());
        // What the stacks hold moves to a list of the program's own.
        let mut taken = Vec::new();
        let mut at_fiber = roots.get(0);
        for number in (0..FIBERS).rev() {
            if number % 5 == 4 {
                let ephemeron = get(at_fiber, 0);
                at_fiber = mutator.ephemeron_value(at(ephemeron)).unwrap().unwrap().as_ptr() as usize;
            }
            taken.push((get(at_fiber, 4), number));
            put(at_fiber, 4, 0);
            at_fiber = get(at_fiber, 2);
        }
        let mut held: Vec<usize> = taken.iter().map(|&(list, _)| list).collect();
        // SAFETY: the slots stay where they are.
        let token = unsafe { heap.roots().add_slots(held.as_mut_ptr(), held.len()) }.unwrap();
        while mutator.incremental_marking().step(3).unwrap() {}
        assert!(mutator.incremental_marking().finish().unwrap());
        for (list, number) in taken {
            check_list(list, 10, number);
            assert!(is_there(&mutator, list, number + 9));
        }
        assert!(heap.roots().remove(token));
    }
}

#[test]
fn misuse_is_refused() {
    let heap = heap(YOUNG);
    let mutator = attach(&heap);
    let mut roots = Slots::new(&heap, 2);
    roots.set(0, stack(&mutator, Kind::Slice));
    let object = roots.get(0);
    let free = new(&mutator, pointer_free(&heap, 64));
    assert_eq!(mutator.begin_plain(at(free), 0), Err(PlainError::NoSlots { address: free }));
    assert_eq!(mutator.begin_plain(at(object + 8), 0), Err(PlainError::NoObject { address: object + 8 }));
    let words = mutator.find(object).unwrap().bytes / WORD;
    let beyond = PlainError::Top { top: words + 1, words };
    assert_eq!(mutator.begin_plain(at(object), words + 1), Err(beyond));
    assert_eq!(mutator.end_plain(at(object)), Err(PlainError::NotBegun { address: object }));
    begin(&mutator, object, words);
    assert_eq!(mutator.begin_plain(at(object), 0), Err(PlainError::Begun { address: object }));
    assert_eq!(mutator.set_plain_top(at(object), words + 1), Err(beyond));
    assert_eq!(mutator.set_plain_top(at(object + 16), 0), Err(PlainError::NotBegun { address: object + 16 }));
    // SAFETY: it is refused.
    let refused = unsafe { mutator.free(at(object)) };
    assert!(matches!(refused, Err(FreeError::Plain { .. })), "{refused:?}");
    end(&mutator, object);
    assert_eq!(mutator.end_plain(at(object)), Err(PlainError::NotBegun { address: object }));
    // SAFETY: the object is reachable.
    let weak = unsafe { mutator.ephemeron(at(object), 0) }.unwrap();
    assert!(matches!(mutator.begin_plain(weak, ALL), Err(PlainError::NoSlots { .. })));
}

#[test]
fn as_many_as_there_can_be() {
    let heap = heap(FULL);
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 1);
    for number in 0..4096 {
        let object = new(&mutator, node);
        put(object, 0, roots.get(0));
        put(object, 2, number);
        roots.set(0, object);
        begin(&mutator, object, 3);
    }
    let one_more = new(&mutator, node);
    assert_eq!(mutator.begin_plain(at(one_more), 0), Err(PlainError::Full { most: 4096 }));
    assert!(PlainError::Full { most: 4096 }.to_string().contains("4096 objects"));
    mutator.collect().unwrap();
    let mut object = roots.get(0);
    for number in (0..4096).rev() {
        assert!(is_there(&mutator, object, number));
        object = get(object, 0);
    }
    end(&mutator, roots.get(0));
    begin(&mutator, roots.get(0), ALL);
    roots.set(0, 0);
    mutator.collect().unwrap();
    assert_eq!(heap.inspect().stats().live_objects, 0);
}
