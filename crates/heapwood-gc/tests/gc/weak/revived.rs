//! What is weak beside finalisers that revive: weak references and short links are cleared before, long links after; what a revived
//! object leads to is whole, ephemerons and links among it.

use super::links::{Words, add, read};
use super::{at, ephemeron, key_of, value_of};
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc::{Config, FinalizeOrder, FinalizerQueue, Mutator};
use heapwood_gc_testing::*;

const OWN: FinalizerQueue = FinalizerQueue::from_bits(0);

fn register(mutator: &Mutator, object: usize, order: FinalizeOrder) {
    mutator.finalize(at(object), OWN, order, 0).unwrap();
}

fn taken(mutator: &Mutator) -> Option<usize> {
    mutator.next_finalized(OWN).unwrap().map(|taken| taken.object.unwrap().as_ptr() as usize)
}

/// How a collection finds out that what was dropped is dead.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Full,
    /// Everything is young.
    Young,
    /// A marking that begins after the drop, in steps.
    Steps,
    /// Everything is young when a marking begins.
    Start,
}

const ALL: [(Config, By); 9] = [
    (FULL, By::Full),
    (PRECISE.mark_threads(3), By::Full),
    (FULL.verify(true), By::Full),
    (FULL.mark_stack(1), By::Full),
    (YOUNG, By::Young),
    (YOUNG.verify(true), By::Young),
    (PRECISE, By::Steps),
    (PRECISE.verify(true), By::Steps),
    (PRECISE.verify(true), By::Start),
];

fn settle(mutator: &Mutator, by: By) {
    // Makes all that is reachable old; nothing that is to die is dropped yet.
    if by != By::Young && by != By::Start {
        mutator.collect().unwrap();
    }
}

fn collect(mutator: &Mutator, by: By) {
    match by {
        By::Full => mutator.collect().unwrap(),
        By::Young => mutator.collect_young().unwrap(),
        By::Steps | By::Start => {
            let marking = mutator.incremental_marking();
            assert!(marking.begin().unwrap());
            while marking.step(3).unwrap() {}
            assert!(marking.finish().unwrap());
        }
    }
}

/// The roots of the program, and a dying object D that leads to an array of what only D leads to.
#[test]
fn a_revived_object_leads_to_whole_ephemerons() {
    for (config, by) in ALL {
        for order in [FinalizeOrder::Ordered, FinalizeOrder::AtOnce] {
            let heap = heap(config.concurrent(Concurrent::Off));
            let mutator = attach(&heap);
            let (node, array) = (node_type(&heap), masked(&heap, 16, &(0..16).collect::<Vec<_>>()));
            let mut roots = Slots::new(&heap, 12);
            let (dying, alive, outside) = (0, 1, 2);
            roots.set(dying, new(&mutator, array));
            roots.set(alive, new(&mutator, node));
            register(&mutator, roots.get(dying), order);
            let hold = |roots: &Slots<'_>, i: usize, object: usize| {
                link(&mutator, roots.get(dying), i, object);
            };
            // An ephemeron outside, of D itself: it is cleared.
            roots.set(outside, ephemeron(&mutator, roots.get(dying), roots.get(alive)));
            // Of a key that is alive; of one that D alone leads to; of one that nothing leads to but its value; and a chain of two:
            // the value of the first is the key of the second.
            let mut make = |i: usize, key: usize, value: usize| {
                let made = ephemeron(&mutator, key, value);
                roots.set(11, made);
                hold(&roots, i, made);
                made
            };
            let mut fresh = Slots::new(&heap, 8);
            (0..8).for_each(|i| fresh.set(i, new(&mutator, node)));
            (0..8).for_each(|i| put(fresh.get(i), 2, 100 + i));
            make(0, fresh.get(7), fresh.get(0));
            make(1, fresh.get(1), fresh.get(2));
            make(2, fresh.get(3), fresh.get(3));
            make(3, fresh.get(2), fresh.get(4));
            hold(&roots, 4, fresh.get(1));
            roots.set(11, 0);
            // Data of what an ephemeron keeps, and of what it does not.
            mutator.finalize_data(super::at(fresh.get(2)), OWN, 2).unwrap();
            mutator.finalize_data(super::at(fresh.get(3)), OWN, 3).unwrap();
            settle(&mutator, by);
            let wanted: Vec<usize> = (0..8).map(|i| fresh.get(i)).collect();
            // The one that is alive.
            roots.set(3, fresh.get(7));
            (0..8).for_each(|i| fresh.set(i, 0));
            roots.set(dying, 0);
            collect(&mutator, by);
            let at = format!("{by:?} {order:?}");
            assert_eq!(key_of(&mutator, roots.get(outside)), 0, "{at}: short");
            let data = || heap.next_finalized_data(OWN).unwrap();
            assert_eq!([data(), data()], [Some(3), None], "{at}");
            let revived = taken(&mutator).unwrap_or_else(|| panic!("{at}: nothing is queued"));
            roots.set(dying, revived);
            for round in 0..3 {
                let pair = |i| (key_of(&mutator, get(revived, i)), value_of(&mutator, get(revived, i)));
                assert_eq!(pair(0), (wanted[7], wanted[0]), "{at} {round}: of a key that is alive");
                assert_eq!(pair(1), (wanted[1], wanted[2]), "{at} {round}: of a key that was revived");
                assert_eq!(pair(2), (0, 0), "{at} {round}: of a key that only its value leads to");
                assert_eq!(
                    pair(3),
                    (wanted[2], wanted[4]),
                    "{at} {round}: of a key that was the value of another"
                );
                for i in [0, 1, 2, 4, 7] {
                    assert_eq!(get(wanted[i], 2), 100 + i, "{at} {round}");
                }
                assert!(!lives(&heap, wanted[3]), "{at} {round}");
                // What was lost would be overwritten.
                (0..2000).for_each(|_| put(new(&mutator, node), 2, 1));
                mutator.collect().unwrap();
            }
            roots.set(dying, 0);
            mutator.collect().unwrap();
            assert!([0, 1, 2, 4].iter().all(|&i| !lives(&heap, wanted[i])), "{at}");
            assert_eq!([data(), data()], [Some(2), None], "{at}");
            assert_eq!(heap.inspect().stats().barrier_violations, 0);
            assert_swept_and_valid(&heap);
        }
    }
}

#[test]
fn links_of_and_in_revived_objects() {
    for (config, by) in ALL {
        let heap = heap(config.concurrent(Concurrent::Off));
        let mutator = attach(&heap);
        let (node, words) = (node_type(&heap), Words::new(4));
        let mut roots = Slots::new(&heap, 4);
        let at = format!("{by:?}");
        roots.set(0, new(&mutator, node));
        roots.set(1, new(&mutator, node));
        let dying = roots.get(0);
        register(&mutator, dying, FinalizeOrder::Ordered);
        for (i, is_long) in [(0, false), (1, true)] {
            words.set(i, dying);
            add(&mutator, words.at(i), dying, is_long);
        }
        // Slots in the dying object, of words that are no pointers: to an object that lives.
        for (word, is_long) in [(2, false), (3, true)] {
            put(dying, word, roots.get(1));
            add(&mutator, (dying + word * 8) as *mut usize, roots.get(1), is_long);
        }
        // In an object that dies and is not revived.
        roots.set(2, new(&mutator, node));
        let gone = roots.get(2);
        for (word, is_long) in [(2, false), (3, true)] {
            put(gone, word, roots.get(1));
            add(&mutator, (gone + word * 8) as *mut usize, roots.get(1), is_long);
        }
        assert_eq!(heap.links(), 6, "{at}");
        settle(&mutator, by);
        roots.set(0, 0);
        roots.set(2, 0);
        collect(&mutator, by);
        assert_eq!((words.get(0), words.get(1)), (0, dying), "{at}: the short one is cleared");
        roots.set(0, taken(&mutator).unwrap());
        assert_eq!(roots.get(0), dying);
        let target = roots.get(1);
        assert_eq!([2, 3].map(|word| get(dying, word)), [target; 2], "{at}");
        assert_eq!(
            [2, 3].map(|word| read(&mutator, (dying + word * 8) as *mut usize)),
            [target; 2],
            "{at}: in it"
        );
        assert_eq!(heap.links(), 3, "{at}: those in the object that is gone are dropped");
        // They are links still.
        roots.set(1, 0);
        mutator.collect().unwrap();
        assert_eq!([2, 3].map(|word| get(dying, word)), [0; 2], "{at}: a word that leads to a dead object");
        assert_eq!((words.get(1), heap.links()), (dying, 1), "{at}");
        roots.set(0, 0);
        mutator.collect().unwrap();
        assert_eq!((words.get(1), heap.links()), (0, 0), "{at}: the long one is cleared at last");
        assert_swept_and_valid(&heap);
    }
}
