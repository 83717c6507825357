//! Collections of the heap do what those of the standard library do, while everything is collected, in both kinds of heaps.

use crate::common::{SMALL, STRESS, VERIFY, heap, panic_message};
use heapwood::session::{self, Mutation, Rootable, Session};
use heapwood::{
    Access, ById, CellValue, Concurrent, Config, Gc, GcCell, GcMap, GcStr, GcString, GcVec, Generational,
    Trace,
};
use std::cell::Cell;
use std::collections::HashMap;

/// A value of an interpreter, with the brand of either kind of heap.
#[derive(Trace, Clone, Copy, CellValue)]
enum Value<'gc> {
    Number(u64),
    Boxed(session::Gc<'gc, u64>),
}

impl Value<'_> {
    fn number(self) -> u64 {
        match self {
            Value::Number(number) => number,
            Value::Boxed(number) => *number,
        }
    }
}

#[derive(Trace, Rootable)]
struct All<'gc> {
    values: session::GcVec<'gc, Value<'gc>>,
    boxes: session::GcVec<'gc, session::Gc<'gc, u64>>,
    bytes: session::GcVec<'gc, u8>,
    map: session::GcMap<'gc, session::Gc<'gc, u64>, Value<'gc>>,
    text: session::GcString<'gc>,
}

impl All<'_> {
    fn new() -> Self {
        All {
            values: session::GcVec::new(),
            boxes: session::GcVec::new(),
            bytes: session::GcVec::new(),
            map: session::GcMap::new(),
            text: session::GcString::new(),
        }
    }
}

/// What the standard library has in the same places.
#[derive(Default)]
struct Model {
    values: Vec<u64>,
    boxes: Vec<u64>,
    bytes: Vec<u8>,
    map: HashMap<u64, u64>,
    text: String,
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

/// One random step on both.
fn step<'gc>(
    m: &impl Access<'gc>,
    alloc: impl Fn(u64) -> session::Gc<'gc, u64>,
    all: &All<'gc>,
    model: &mut Model,
    random: &mut Random,
    number: u64,
) {
    let value = |number: u64| match number % 2 {
        0 => Value::Number(number),
        _ => Value::Boxed(alloc(number)),
    };
    let at = random.below(model.boxes.len());
    match random.below(20) {
        0..5 => {
            all.values.push(m, value(number));
            model.values.push(number);
            all.boxes.push(m, alloc(number));
            model.boxes.push(number);
        }
        5 => {
            let at = random.below(model.boxes.len() + 1);
            all.boxes.insert(m, at, alloc(number));
            model.boxes.insert(at, number);
        }
        6 if !model.boxes.is_empty() => assert_eq!(*all.boxes.remove(m, at), model.boxes.remove(at)),
        7 if !model.boxes.is_empty() => {
            assert_eq!(*all.boxes.swap_remove(m, at), model.boxes.swap_remove(at));
        }
        8 => assert_eq!(all.values.pop(m).map(Value::number), model.values.pop()),
        9 if !model.boxes.is_empty() => {
            assert_eq!(*all.boxes.set(m, at, alloc(number)), std::mem::replace(&mut model.boxes[at], number));
        }
        10 if random.below(20) == 0 => {
            all.boxes.truncate(m, at);
            model.boxes.truncate(at);
        }
        11 => {
            all.bytes.extend_from_slice(m, &number.to_le_bytes());
            all.bytes.push(m, number as u8);
            model.bytes.extend(number.to_le_bytes());
            model.bytes.push(number as u8);
        }
        12 => {
            all.text.push_str(m, &number.to_string());
            all.text.push(m, 'é');
            model.text += &format!("{number}é");
        }
        13 if random.below(40) == 0 => {
            all.values.clear(m);
            all.map.clear(m);
            all.text.clear(m);
            (model.values, model.map, model.text) = Default::default();
        }
        13..18 => {
            let key = random.below(300) as u64;
            let old = all.map.insert(m, alloc(key), value(number));
            assert_eq!(old.map(Value::number), model.map.insert(key, number));
        }
        _ => {
            let key = random.below(300) as u64;
            assert_eq!(all.map.contains_key(&key), model.map.contains_key(&key));
            assert_eq!(all.map.get(&key).map(Value::number), model.map.get(&key).copied());
            assert_eq!(all.map.remove(m, &key).map(Value::number), model.map.remove(&key));
        }
    }
}

fn assert_equal(all: &All<'_>, model: &Model) {
    assert!(all.values.iter().map(Value::number).eq(model.values.iter().copied()));
    assert!(all.boxes.iter().rev().map(|number| *number).eq(model.boxes.iter().rev().copied()));
    assert!(all.bytes.iter().eq(model.bytes.iter().copied()));
    assert_eq!(*all.text, model.text);
    assert_eq!(all.map.len(), model.map.len());
    let entries: HashMap<u64, u64> = all.map.iter().map(|(key, value)| (*key, value.number())).collect();
    assert_eq!(entries, model.map);
    for (key, value) in &model.map {
        assert_eq!(all.map.get(key).map(Value::number), Some(*value));
    }
}

const BESIDE: Config = SMALL.concurrent(Concurrent::On).max_pause(0);
const HEAPS: [(Config, u64); 6] = [
    (SMALL, 20_000),
    (SMALL.generational(Generational::Always), 20_000),
    (BESIDE, 20_000),
    (BESIDE.generational(Generational::Off), 20_000),
    (VERIFY, 5_000),
    (STRESS, 400),
];

#[test]
fn collections_are_those_of_the_standard_library() {
    for (config, steps) in HEAPS {
        let heap = heap(config);
        let m = &*heap.attach().unwrap();
        let (all, mut model, mut random) = (m.root(m.alloc(All::new())), Model::default(), Random(7));
        for number in 0..steps {
            step(m, |number| m.alloc(number), &all.get(m), &mut model, &mut random, number);
            if number % 1000 == 0 {
                assert_equal(&all.get(m), &model);
                m.collect_young();
            }
        }
        assert_equal(&all.get(m), &model);
        assert!(heap.stats().barrier_violations == 0 && heap.stats().collections > 0);
    }
}

#[test]
fn collections_live_in_sessions() {
    for (config, steps) in HEAPS {
        let mut session = Session::<All>::new(config, |_| All::new()).unwrap();
        let (mut model, mut random, next) = (Model::default(), Random(7), Cell::new(0));
        while next.get() < steps {
            session.mutate(|m: &Mutation<'_>, all| {
                for _ in 0..50 {
                    step(m, |number| m.alloc(number), all, &mut model, &mut random, next.get());
                    m.alloc([0u64; 32]);
                    next.set(next.get() + 1);
                }
                if next.get() % 1000 == 0 {
                    assert_equal(all, &model);
                }
            });
        }
        session.mutate(|_, all| assert_equal(all, &model));
        assert!(session.stats().barrier_violations == 0 && session.stats().collections > 0);
    }
}

/// A long map, and keys by identity.
#[test]
fn a_map_grows_and_shrinks() {
    let heap = heap(SMALL);
    let m = &*heap.attach().unwrap();
    let map: Gc<GcMap<u64, u64>> = m.alloc(GcMap::new());
    for round in 0..3 {
        (0..20_000).for_each(|key| assert_eq!(map.insert(m, key * 1024, key + round), None));
        (0..20_000).for_each(|key| assert_eq!(map.get(&(key * 1024)), Some(key + round)));
        assert_eq!((map.len(), map.get(&1)), (20_000, None));
        (0..20_000).for_each(|key| assert_eq!(map.remove(m, &(key * 1024)), Some(key + round)));
        assert!(map.is_empty());
    }
    let identities: Gc<GcMap<ById<Gc<u64>>, Gc<GcStr>>> = m.alloc(GcMap::new());
    let keys = m.keep(m.alloc_slice(100, |_| m.alloc(7)));
    for (number, &key) in keys.iter().enumerate() {
        identities.insert(m, ById(key), m.alloc_str(&number.to_string()));
    }
    m.collect();
    for (number, &key) in keys.iter().enumerate() {
        assert_eq!(&**identities.get(&ById(key)).unwrap(), &*number.to_string());
    }
}

type MeddledMap = GcCell<Option<Gc<GcMap<Meddler, u64>>>>;

/// A key whose comparison changes the map that compares it.
#[derive(Trace, Clone, Copy, CellValue)]
struct Meddler(Gc<MeddledMap>, u64);

impl PartialEq for Meddler {
    fn eq(&self, other: &Self) -> bool {
        if let Some(map) = self.0.get() {
            let heap = HEAP.with(|heap| heap.borrow().clone()).unwrap();
            heap.with_mutator(|m| {
                self.0.set(m, None);
                map.clear(m);
                if self.1.is_multiple_of(2) {
                    (0..self.1).for_each(|number| _ = map.insert(m, Meddler(self.0, number), number));
                }
                (0..100).for_each(|_| _ = m.alloc([0u64; 1000]));
                self.0.set(m, Some(map));
            })
            .unwrap();
        }
        self.1 == other.1
    }
}

impl Eq for Meddler {}

impl std::hash::Hash for Meddler {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_u64(1);
    }
}

thread_local! {
    static HEAP: std::cell::RefCell<Option<heapwood::Heap>> = const { std::cell::RefCell::new(None) };
}

/// What it finds is not said, but memory stays whole.
#[test]
fn a_comparison_may_change_the_map() {
    let heap = heap(STRESS);
    HEAP.with(|mine| *mine.borrow_mut() = Some(heap.clone()));
    let m = &*heap.attach().unwrap();
    let map: Gc<GcMap<Meddler, u64>> = m.alloc(GcMap::new());
    let cell = m.alloc(GcCell::new(None));
    for round in 0..20 {
        cell.set(m, None);
        (0..round).for_each(|number| _ = map.insert(m, Meddler(cell, number), number));
        cell.set(m, Some(map));
        map.insert(m, Meddler(cell, round), round);
        map.get(&Meddler(cell, 1));
        map.remove(m, &Meddler(cell, 2));
        assert!(map.iter().all(|(key, value)| key.1 == value));
    }
    HEAP.with(|mine| *mine.borrow_mut() = None);
}

#[test]
fn elements_that_are_not_there_are_refused() {
    let heap = heap(SMALL);
    let m = &*heap.attach().unwrap();
    let vec = m.alloc(GcVec::with_capacity(m, 10));
    vec.extend(m, 0..3u64);
    assert!(vec.capacity() >= 10 && vec.get(3).is_none() && vec.last() == Some(2));
    assert_eq!(format!("{vec:?}"), "[0, 1, 2]");
    assert_eq!(panic_message(|| _ = vec.set(m, 3, 1)), "the index is 3 but the length is 3");
    assert_eq!(panic_message(|| _ = vec.remove(m, 7)), "the index is 7 but the length is 3");
    assert_eq!(panic_message(|| vec.insert(m, 4, 1)), "the index is 4 but the length is 3");
    // What an iteration appends is not its own.
    vec.extend(m, vec.iter());
    assert!(vec.iter().rev().eq([2, 1, 0, 2, 1, 0]));
    let text = m.alloc(GcString::new());
    let before = &**text;
    text.push_str(m, "seven");
    let seven = &**text;
    (0..1000).for_each(|_| text.push_str(m, " more"));
    assert_eq!((before, seven, text.len()), ("", "seven", 5005));
}

/// An insertion that finds no memory leaves the map as it was.
#[test]
fn a_map_that_cannot_grow_stays_whole() {
    let mut session = Session::<All>::new(SMALL.limit(4 << 20), |_| All::new()).unwrap();
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        session.mutate(|m, all| {
            (0..1 << 20).for_each(|key| _ = all.map.insert(m, m.alloc(key), Value::Number(key)))
        });
    }));
    assert!(failed.is_err());
    session.mutate(|m, all| {
        let len = all.map.len() as u64;
        assert!(len > 1000);
        (0..len).for_each(|key| assert_eq!(all.map.get(&key).map(Value::number), Some(key)));
        (0..len).for_each(|key| assert_eq!(all.map.remove(m, &key).map(Value::number), Some(key)));
        assert!(all.map.is_empty() && all.map.iter().next().is_none());
    });
}
