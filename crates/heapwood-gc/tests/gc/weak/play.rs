//! Random programs with ephemerons, weak references, chains, circles, and keys that are values, against a model of what is alive.
//! Collections of all kinds come at any step. After each step no ephemeron may be cleared whose key the model reaches; after a
//! full collection each must be whose key it does not reach, and its key and value must be gone.

use super::{ephemeron, key_of, set_value, value_of};
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc::{Config, Heap};
use heapwood_gc_testing::*;
use std::collections::{HashMap, HashSet};

pub(crate) const PLAYED: [Config; 8] = {
    let off = PRECISE.concurrent(Concurrent::Off);
    let young = YOUNG.concurrent(Concurrent::Off);
    let full = FULL.concurrent(Concurrent::Off);
    [
        off,
        young,
        young.verify(true),
        full,
        full.verify(true),
        off.mark_threads(2),
        young.mark_stack(1),
        full.mark_stack(1).mark_threads(3),
    ]
};

const ROOTS: usize = 24;

/// What the model knows of an object: what its pointers lead to, or its key and value.
#[derive(Clone, Copy, Debug)]
enum Thing {
    Node([usize; 2]),
    Ephemeron { key: usize, value: usize },
}

/// The model: things by their addresses. Ephemerons lose their keys there when the heap says so and the model agrees.
#[derive(Default)]
struct Model(HashMap<usize, Thing>);

impl Model {
    /// What some roots reach: by rounds, unlike the collector.
    fn reached(&self, roots: &[usize]) -> HashSet<usize> {
        let (mut reached, mut waiting) = (HashSet::new(), roots.to_vec());
        loop {
            while let Some(at) = waiting.pop().filter(|&at| at != 0 || !waiting.is_empty()) {
                if at != 0
                    && reached.insert(at)
                    && let Thing::Node(slots) = self.0[&at]
                {
                    waiting.extend(slots);
                }
            }
            for &at in &reached {
                if let Thing::Ephemeron { key, value } = self.0[&at]
                    && reached.contains(&key)
                    && value != 0
                    && !reached.contains(&value)
                {
                    waiting.push(value);
                }
            }
            if waiting.is_empty() {
                return reached;
            }
        }
    }
}

/// Plays so many steps; panics at the first thing that is wrong.
pub(crate) fn play(heap: &Heap, seed: u64, steps: usize) {
    let mutator = attach(heap);
    let node = node_type(heap);
    let mut rng = Rng::new(seed);
    let mut roots = Slots::new(heap, ROOTS);
    let mut model = Model::default();
    for _ in 0..steps {
        let (slot, from, other) =
            (rng.below(ROOTS), roots.get(rng.below(ROOTS)), roots.get(rng.below(ROOTS)));
        match rng.below(40) {
            0..8 => {
                let made = new(&mutator, node);
                let slots = [from, if rng.one_in(2) { other } else { 0 }];
                put(made, 0, slots[0]);
                put(made, 1, slots[1]);
                model.0.insert(made, Thing::Node(slots));
                roots.set(slot, made);
            }
            8..18 if from != 0 => {
                let value = if rng.one_in(4) { 0 } else { other };
                let made = ephemeron(&mutator, from, value);
                model.0.insert(made, Thing::Ephemeron { key: from, value });
                roots.set(slot, made);
            }
            18..22 => roots.set(slot, 0),
            22..24 if from != 0 => match model.0.get_mut(&from) {
                Some(Thing::Node(slots)) => {
                    let word = rng.below(2);
                    slots[word] = other;
                    link(&mutator, from, word, other);
                }
                Some(Thing::Ephemeron { key, value }) => {
                    let is_there = set_value(&mutator, from, other);
                    assert_eq!(is_there, *key != 0 && key_of(&mutator, from) != 0);
                    if is_there {
                        *value = other;
                    }
                }
                None => unreachable!("roots lead to things of the model"),
            },
            // What is read is strong from then on, also if nothing else led to it.
            24..29 if from != 0 => {
                if let Thing::Ephemeron { key, value } = model.0[&from] {
                    let read = [key_of(&mutator, from), value_of(&mutator, from)];
                    assert!(
                        read == [key, value] || read == [0, 0],
                        "{read:x?}, and not {key:#x} and {value:#x}"
                    );
                    roots.set(slot, read[rng.below(2)]);
                }
            }
            29..32 => {
                // A path of nodes to a thing, that only it leads to.
                if let Some(Thing::Node(slots)) = model.0.get(&from) {
                    roots.set(slot, slots[rng.below(2)]);
                }
            }
            32 => mutator.collect_young().unwrap(),
            33 if rng.one_in(3) => {
                mutator.collect().unwrap();
                check(heap, &mut model, &roots, true);
            }
            // A chain: each value is the next one's key, and of the keys only the first is kept.
            34 => {
                let mut kept = Slots::new(heap, 3);
                kept.set(0, new(&mutator, node));
                model.0.insert(kept.get(0), Thing::Node([0; 2]));
                roots.set(rng.below(ROOTS), kept.get(0));
                for _ in 0..2 + rng.below(5) {
                    let key = kept.get(0);
                    kept.set(1, new(&mutator, node));
                    model.0.insert(kept.get(1), Thing::Node([0; 2]));
                    kept.set(2, ephemeron(&mutator, key, kept.get(1)));
                    let (value, made) = (kept.get(1), kept.get(2));
                    model.0.insert(made, Thing::Ephemeron { key, value });
                    let listed = new(&mutator, node);
                    put(listed, 0, made);
                    put(listed, 1, roots.get(slot));
                    model.0.insert(listed, Thing::Node([made, roots.get(slot)]));
                    roots.set(slot, listed);
                    kept.set(0, value);
                }
            }
            35..38 => match mutator.incremental_marking().begin().unwrap() {
                true => _ = mutator.incremental_marking().step(rng.below(20)).unwrap(),
                false if rng.one_in(3) => _ = mutator.incremental_marking().finish().unwrap(),
                false => _ = mutator.incremental_marking().step(rng.below(20)).unwrap(),
            },
            _ => (0..rng.below(20)).for_each(|_| _ = new(&mutator, node)),
        }
        check(heap, &mut model, &roots, false);
    }
    // The first ends a marking that goes on, and has kept what was dropped since that began.
    mutator.collect().unwrap();
    mutator.collect().unwrap();
    check(heap, &mut model, &roots, true);
}

/// Nothing is cleared early; after a full collection nothing late.
fn check(heap: &Heap, model: &mut Model, roots: &Slots<'_>, is_exact: bool) {
    let all: Vec<usize> = (0..ROOTS).map(|i| roots.get(i)).collect();
    let reached = model.reached(&all);
    for &at in &reached {
        match model.0[&at] {
            Thing::Ephemeron { key: 0, .. } | Thing::Node(_) => {}
            Thing::Ephemeron { key, value } => {
                // A read during a marking would keep the key, so the words are looked at.
                let read = [get(at, 0), get(at, 1)];
                if reached.contains(&key) {
                    assert_eq!(read, [key, value], "early, or another");
                } else if is_exact {
                    assert_eq!(read, [0, 0], "{key:#x} is dead, and was not cleared");
                } else {
                    assert!(read == [0, 0] || read == [key, value], "{read:x?}");
                }
            }
        }
    }
    // One that nothing leads to may be read as a key, and found again; where its own key was, another may be then.
    for (&at, thing) in &mut model.0 {
        if let Thing::Ephemeron { key, value } = thing
            && get(at, 0) == 0
        {
            (*key, *value) = (0, 0);
        }
    }
    if is_exact {
        heap.memory().finish_sweep();
        for &at in &reached {
            assert!(is_alive(heap, at), "{at:#x} is gone");
            assert!(!matches!(model.0[&at], Thing::Node(slots) if [0, 1].map(|i| get(at, i)) != slots));
        }
        // An address may be another thing's by now, but not during this check.
        for &at in model.0.keys().filter(|at| !reached.contains(at)) {
            assert!(!is_alive(heap, at), "{at:#x} is dead, and still there");
        }
        model.0.retain(|at, _| reached.contains(at));
    }
}

#[test]
fn random_programs_clear_each_ephemeron_when_its_key_is_dead() {
    for (config, seed) in PLAYED.iter().zip(settings::first_seed()..) {
        let heap = heap(*config);
        // Some young collections keep all they have not marked.
        for round in 0..settings::amount("HEAPWOOD_WEAK", 100, 6, 2) as u64 {
            heap.set_young_time((round % 3 == 1).then_some(core::time::Duration::ZERO));
            play(&heap, seed + 100 * round, 3000);
        }
        let stats = heap.inspect().stats();
        assert!(!is_thorough() || stats.weak_cleared > 300, "{}", stats.weak_cleared);
        assert_swept_and_valid(&heap);
    }
}
