//! `GcVec`: as a `Vec` of the same elements, beside every kind of collection, and while callbacks change it.

use crate::common::*;
use crate::made::*;
use heapwood::{ById, Config, Gc, GcVec, Mutator, Slot, Trace};
use std::cell::Cell;

#[derive(Trace)]
struct Owner<T: Slot> {
    id: u64,
    elements: GcVec<T>,
}

fn compare<T: Made>(vec: &GcVec<T>, model: &[u64], what: &str) {
    let numbers: Vec<u64> = vec.iter().map(T::number).collect();
    assert_eq!(numbers, model, "{what}");
    assert!(vec.len() == model.len() && vec.capacity() >= vec.len() && vec.get(model.len()).is_none());
}

/// A random step of `vec` and of its model.
fn step<T: Made>(m: &Mutator, vec: &GcVec<T>, model: &mut Vec<u64>, rng: &mut Rng) {
    let n = rng.next() % 1000;
    let new = || T::make(m, n);
    let at = rng.below(model.len().max(1));
    let is_there = at < model.len();
    match rng.below(40) {
        0..14 => {
            vec.push(m, new());
            model.push(n);
        }
        14..18 => assert_eq!(vec.pop(m).map(T::number), model.pop()),
        18..24 if is_there => {
            assert_eq!(vec.replace(m, at, new()).number(), model[at]);
            model[at] = n;
        }
        24 | 25 => {
            vec.insert(m, at, new());
            model.insert(at, n);
        }
        26 | 27 if is_there => assert_eq!(vec.remove(m, at).number(), model.remove(at)),
        28 | 29 if is_there => assert_eq!(vec.swap_remove(m, at).number(), model.swap_remove(at)),
        30 => {
            vec.truncate(m, at);
            model.truncate(at);
        }
        31 if n < 100 => {
            vec.clear(m);
            model.clear();
        }
        32 => {
            vec.extend(m, (n..n + 9).map(|n| T::make(m, n)));
            model.extend(n..n + 9);
        }
        33 if is_there => {
            vec.swap(m, at, model.len() - 1);
            let last = model.len() - 1;
            model.swap(at, last);
        }
        34 => {
            // The comparison allocates, and may collect.
            vec.sort_by(m, |one, other| (*m.alloc(one.number()) % 50).cmp(&(other.number() % 50)));
            model.sort_by_key(|n| n % 50);
        }
        35 => {
            vec.retain(m, |element| !element.number().is_multiple_of(3) || *m.alloc(false));
            model.retain(|n| !n.is_multiple_of(3));
        }
        36 => {
            vec.resize(m, at, new());
            model.resize(at, n);
        }
        37 => {
            let copy = vec.to_slice(m);
            assert!(copy.iter().map(|element| element.number()).eq(model.iter().copied()));
        }
        38 => {
            vec.reserve(m, at);
            assert!(vec.capacity() >= model.len() + at);
        }
        _ => assert!(vec.first() == vec.get(0) && vec.last().map(T::number) == model.last().copied()),
    }
}

fn plays<T: Made>() {
    for (i, config) in HEAPS.into_iter().enumerate() {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let (owners, steps) = if config.stress { (3, 300) } else { (20, 10_000) };
        let all = m.alloc_slice(owners, |id| m.alloc(Owner::<T> { id: id as u64, elements: GcVec::new() }));
        let mut models = vec![Vec::new(); owners];
        let mut rng = Rng(i as u64 + 1);
        for _ in 0..steps {
            let at = rng.below(owners);
            step(&m, &all[at].elements, &mut models[at], &mut rng);
            match rng.below(if config.stress { 40 } else { 1000 }) {
                0 => m.collect(),
                1 | 2 => m.collect_young(),
                3 => _ = m.start_collection(),
                _ => {}
            }
        }
        m.collect();
        for (owner, model) in all.iter().zip(&models) {
            compare(&owner.elements, model, &format!("owner {} of heap {i}", owner.id));
        }
        assert_eq!(heap.stats().barrier_violations, 0);
    }
}

#[test]
fn a_vec_of_numbers() {
    plays::<u64>();
}

#[test]
fn a_vec_of_pointers() {
    plays::<Gc<u64>>();
}

#[test]
fn a_vec_of_links() {
    plays::<Link>();
}

#[test]
fn a_vec_of_pairs() {
    plays::<(u16, Gc<u64>)>();
}

#[test]
fn a_vec_of_enums() {
    plays::<Value>();
}

#[test]
fn a_vec_of_four_words() {
    plays::<[Option<Gc<u64>>; 4]>();
}

/// Elements of more words than a mask has, and of none.
#[test]
fn a_vec_of_large_and_of_empty_elements() {
    type Large = [Option<Gc<u64>>; 300];
    for config in [VERIFY, STRESS] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let large = m.alloc(GcVec::<Large>::new());
        let empty = GcVec::new();
        for i in 0..40u64 {
            let mut element = [None; 300];
            (element[i as usize], element[299]) = (Some(m.alloc(i)), Some(m.alloc(i + 1)));
            large.push(&m, element);
            empty.push(&m, ());
        }
        large.swap(&m, 3, 39);
        large.truncate(&m, 39);
        m.collect();
        for (i, element) in large.iter().enumerate() {
            let n = if i == 3 { 39 } else { i };
            assert_eq!((*element[n].unwrap(), *element[299].unwrap()), (n as u64, n as u64 + 1));
        }
        assert!(empty.pop(&m).is_some() && empty.len() == 39);
        assert_eq!(heap.stats().barrier_violations, 0);
    }
}

/// Objects of 4 KiB, one for each number.
fn objects(m: &Mutator, n: u64) -> impl Iterator<Item = Gc<[u64; 512]>> {
    (0..n).map(|i| m.alloc([i; 512]))
}

#[inline(never)]
fn fill(m: &Mutator, vec: &GcVec<Gc<[u64; 512]>>) {
    vec.clear(m);
    vec.extend(m, objects(m, 100));
}

#[test]
fn what_is_taken_out_is_not_kept() {
    type Elements = GcVec<Gc<[u64; 512]>>;
    type Take = (&'static str, fn(&Mutator, &Elements));
    let takes: [Take; 6] = [
        ("truncate", |m, vec| vec.truncate(m, 10)),
        ("pop", |m, vec| (0..90).for_each(|_| _ = vec.pop(m))),
        ("remove", |m, vec| (0..90).for_each(|_| _ = vec.remove(m, 10))),
        ("swap_remove", |m, vec| (0..90).for_each(|_| _ = vec.swap_remove(m, 10))),
        ("retain", |m, vec| vec.retain(m, |element| element[0] < 10)),
        ("clear", |m, vec| {
            vec.clear(m);
            vec.extend(m, objects(m, 10));
        }),
    ];
    for config in [SMALL, VERIFY] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let vec = m.alloc(Elements::new());
        for (what, take) in takes {
            fill(&m, &vec);
            scrub();
            m.collect();
            let before = heap.stats().live_bytes;
            take(&m, &vec);
            scrub();
            m.collect();
            let after = heap.stats().live_bytes;
            assert!(before > 400 << 10 && after < 80 << 10, "{what}: {before} bytes, then {after}");
            assert_eq!(vec.len(), 10, "{what}");
            assert!(vec.iter().all(|element| element[0] == element[511]));
        }
    }
}

#[test]
fn a_vec_may_change_while_it_is_iterated_and_sorted() {
    for config in [VERIFY, STRESS] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let vec = m.alloc(GcVec::from_iter(&m, (0..10u64).map(|n| m.alloc(n))));
        let mut seen = Vec::new();
        for element in &*vec {
            seen.push(*element);
            match *element {
                2 => vec.push(&m, m.alloc(77)),
                5 => vec.truncate(&m, 8),
                6 => _ = vec.remove(&m, 0),
                _ => {}
            }
        }
        // What was pushed was truncated; after the removal the one at the next position is passed over.
        assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6]);
        compare(&vec, &[1, 2, 3, 4, 5, 6, 7], "after iterating");

        // A comparison that takes elements away, adds some, and collects.
        let calls = Cell::new(0);
        vec.sort_by(&m, |one, other| {
            calls.set(calls.get() + 1);
            match calls.get() {
                1 => vec.clear(&m),
                2 => vec.extend(&m, [m.alloc(50), m.alloc(51), m.alloc(52)]),
                3 => m.collect(),
                _ => {}
            }
            other.cmp(one)
        });
        compare(&vec, &[7, 6, 5], "places that were and are there");
        let message = panic_message(|| {
            vec.sort_by(&m, |_, _| {
                m.collect();
                panic!("no order")
            });
        });
        assert_eq!(message, "no order");
        compare(&vec, &[7, 6, 5], "after a panic");
        vec.sort(&m);
        vec.retain(&m, |element| {
            if *element == 6 {
                vec.truncate(&m, 1);
                vec.push(&m, m.alloc(8));
            }
            true
        });
        compare(&vec, &[5, 6], "kept while it was changed");
        assert_eq!(heap.stats().barrier_violations, 0);
    }
}

#[derive(Trace, Clone, Copy)]
enum Json {
    Number(f64),
    List(Gc<GcVec<Json>>),
}

fn sum(json: Json) -> f64 {
    match json {
        Json::Number(number) => number,
        Json::List(list) => list.iter().map(sum).sum(),
    }
}

#[test]
fn vecs_hold_each_other() {
    let heap = heap(VERIFY);
    let m = heap.attach().unwrap();
    let list = m.alloc(GcVec::new());
    for i in 0..100 {
        let inner = m.alloc(GcVec::from_iter(&m, [Json::Number(i.into()), Json::Number(0.5)]));
        list.push(&m, Json::List(inner));
    }
    m.collect();
    assert_eq!(sum(Json::List(list)), 4950.0 + 50.0);
    list.push(&m, Json::List(list));
    m.collect();
    assert!(matches!(list.last(), Some(Json::List(last)) if Gc::ptr_eq(last, list)));
    let ids = GcVec::from_iter(&m, [ById(list)]);
    assert!(ids == [ById(list)] && ids.iter().eq([ById(list)]));
}

#[test]
fn what_is_not_there_panics_and_what_does_not_fit_is_an_error() {
    let heap = heap(Config::default().limit(8 << 20));
    let m = heap.attach().unwrap();
    let vec = GcVec::from_iter(&m, [1u64, 2, 3]);
    let told = "there is no element 3: the `GcVec` has 3";
    assert_eq!(panic_message(|| vec.set(&m, 3, 0)), told);
    assert_eq!(panic_message(|| _ = vec.at(3)), told);
    assert_eq!(panic_message(|| _ = vec.remove(&m, 3)), told);
    assert_eq!(panic_message(|| _ = vec.swap_remove(&m, 3)), told);
    assert_eq!(panic_message(|| vec.insert(&m, 4, 0)), told.replace("element 3", "element 4"));
    assert!(vec.try_reserve(&m, 2 << 20).is_err() && vec.try_reserve(&m, usize::MAX).is_err());
    assert!(panic_message(|| vec.reserve(&m, usize::MAX / 2)).contains("bytes"));
    compare(&vec, &[1, 2, 3], "after errors");
    while vec.try_push(&m, 7).is_ok() {}
    assert!(vec.len() > 200_000 && vec.iter().skip(3).all(|n| n == 7));
    assert_eq!(format!("{:?}", GcVec::from_iter(&m, [Some(m.alloc(4)), None])), "[Some(4), None]");
}
