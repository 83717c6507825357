//! `GcMap`: as a `HashMap` of the same entries, beside every kind of collection, and whatever hash and equality of keys do.

use crate::common::*;
use crate::made::*;
use heapwood::{ById, Config, Gc, GcMap, GcStr, GcVec, Heap, Mutator, NoPointers, Shared, Slot, Trace};
use heapwood_gc_testing::{caught, words_of};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};

/// Hashes numbers as they are, but for the lowest bits: many collide.
#[derive(Default)]
struct Weakly(u64);

impl Hasher for Weakly {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0 << 8 | u64::from(*byte));
    }
    fn write_u64(&mut self, n: u64) {
        self.0 = n >> 3;
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

type Colliding = BuildHasherDefault<Weakly>;

#[derive(Trace)]
struct Owner<K: Slot, V: Slot, S: BuildHasher + NoPointers> {
    id: u64,
    entries: GcMap<K, V, S>,
}

fn compare<K: Made + Hash + Eq, V: Made, S: BuildHasher>(
    map: &GcMap<K, V, S>,
    model: &HashMap<u64, u64>,
    what: &str,
) {
    let mut entries: Vec<_> = map.iter().map(|(key, value)| (key.number(), value.number())).collect();
    let mut wanted: Vec<_> = model.iter().map(|(key, value)| (*key, *value)).collect();
    entries.sort();
    wanted.sort();
    assert_eq!(entries, wanted, "{what}");
    assert!(map.len() == model.len() && map.capacity() >= map.len());
}

fn plays<K: Made + Hash + Eq + Debug, V: Made, S: BuildHasher + NoPointers + Default>() {
    for (i, config) in HEAPS.into_iter().enumerate() {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let (owners, steps) = if config.stress { (3, 200) } else { (10, 4000) };
        let all =
            m.alloc_slice(owners, |id| m.alloc(Owner::<K, V, S> { id: id as u64, entries: GcMap::new() }));
        let mut models = vec![HashMap::new(); owners];
        let mut rng = Rng(i as u64 + 3);
        for _ in 0..steps {
            let at = rng.below(owners);
            let (map, model) = (&all[at].entries, &mut models[at]);
            // Few keys, so that many are there.
            let (k, v) = (rng.below(10 << at.min(6)) as u64, rng.next() % 10_000);
            let key = K::make(&m, k);
            match rng.below(20) {
                0..8 => assert_eq!(map.insert(&m, key, V::make(&m, v)).map(V::number), model.insert(k, v)),
                8..14 => assert_eq!(map.remove(&m, &key).map(V::number), model.remove(&k)),
                14 | 15 => assert_eq!(map.get(&key).map(V::number), model.get(&k).copied()),
                16 => {
                    let made = map.get_or_insert_with(&m, key, || V::make(&m, v)).number();
                    assert_eq!(made, *model.entry(k).or_insert(v));
                }
                17 if v < 300 => {
                    map.retain(&m, |key, value| key.number() % 3 > 0 && *m.alloc(value.number()) > 5);
                    model.retain(|key, value| key % 3 > 0 && *value > 5);
                }
                18 if v < 100 => {
                    map.clear(&m);
                    model.clear();
                }
                19 if v < 500 => {
                    map.extend(&m, (0..30).map(|n| (K::make(&m, n), V::make(&m, v))));
                    model.extend((0..30).map(|n| (n, v)));
                    map.reserve(&m, 40);
                    assert!(map.capacity() >= map.len() + 40);
                }
                _ => {
                    let found = map.get_key_value(&key).map(|(key, _)| key.number());
                    assert!(
                        found == model.contains_key(&k).then_some(k)
                            && map.contains_key(&key) == found.is_some()
                    );
                }
            }
            match rng.below(if config.stress { 40 } else { 1000 }) {
                0 => m.collect(),
                1 | 2 => m.collect_young(),
                3 => _ = m.start_collection(),
                _ => {}
            }
        }
        m.collect();
        for (owner, model) in all.iter().zip(&models) {
            compare(&owner.entries, model, &format!("owner {} of heap {i}", owner.id));
        }
        assert_eq!(heap.stats().barrier_violations, 0);
    }
}

#[test]
fn a_map_of_numbers() {
    plays::<u64, u64, std::hash::RandomState>();
    plays::<u64, u64, Colliding>();
}

#[test]
fn a_map_of_pointers() {
    plays::<Gc<u64>, Gc<u64>, std::hash::RandomState>();
    plays::<Gc<u64>, Link, Colliding>();
}

#[test]
fn a_map_of_enums() {
    plays::<u64, Value, Colliding>();
    plays::<Gc<u64>, Value, std::hash::RandomState>();
}

#[test]
fn a_map_of_pairs_and_of_four_words() {
    plays::<(u16, Gc<u64>), [Option<Gc<u64>>; 4], Colliding>();
    plays::<[Option<Gc<u64>>; 4], (u16, Gc<u64>), std::hash::RandomState>();
}

#[inline(never)]
fn fill(m: &Mutator, map: &GcMap<u64, Gc<[u64; 512]>>) {
    for n in 0..100 {
        map.insert(m, n, m.alloc([n; 512]));
    }
}

#[test]
fn what_is_removed_is_not_kept() {
    type Take = (&'static str, fn(&Mutator, &GcMap<u64, Gc<[u64; 512]>>));
    let takes: [Take; 3] = [
        ("remove", |m, map| (10..100).for_each(|n| assert!(map.remove(m, &n).is_some()))),
        ("retain", |m, map| map.retain(m, |n, _| n < 10)),
        ("clear", |m, map| {
            map.clear(m);
            (0..10).for_each(|n| _ = map.insert(m, n, m.alloc([n; 512])));
        }),
    ];
    for config in [SMALL, VERIFY] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let map = m.alloc(GcMap::new());
        for (what, take) in takes {
            fill(&m, &map);
            scrub();
            m.collect();
            let before = heap.stats().live_bytes;
            take(&m, &map);
            scrub();
            m.collect();
            let after = heap.stats().live_bytes;
            assert!(before > 400 << 10 && after < 90 << 10, "{what}: {before} bytes, then {after}");
            assert!(map.len() == 10 && map.iter().all(|(n, object)| n < 10 && object[511] == n));
        }
    }
}

#[test]
fn keys_are_found_by_what_they_borrow_and_by_identity() {
    let heap = heap(VERIFY);
    let m = heap.attach().unwrap();
    let names = m.alloc(GcMap::<Gc<GcStr>, u64>::new());
    for n in 0..1000 {
        names.insert(&m, m.alloc_str(&format!("name {n}")), n);
    }
    m.collect();
    assert!((0..1000).all(|n| names.get(format!("name {n}").as_str()) == Some(n)) && names.get("").is_none());
    assert_eq!(names.remove(&m, "name 7"), Some(7));
    assert!(!names.contains_key("name 7") && names.len() == 999);

    let keys = GcVec::from_iter(&m, (0..1000u64).map(|n| m.alloc(n % 10)));
    let by_id = GcMap::<ById<Gc<u64>>, usize>::from_iter(&m, keys.iter().map(ById).zip(0..));
    m.collect();
    assert!(by_id.len() == 1000 && keys.iter().enumerate().all(|(i, key)| by_id.get(&ById(key)) == Some(i)));
    assert!(by_id.get(&ById(m.alloc(3))).is_none());
    assert_eq!(
        by_id.keys().map(|key| *key.0).sum::<u64>(),
        by_id.values().map(|i| i as u64 % 10).sum::<u64>()
    );
    let small = GcMap::<u64, Option<Gc<u64>>>::from_iter(&m, [(3, Some(m.alloc(4)))]);
    assert_eq!(format!("{small:?}"), "{3: Some(4)}");
}

#[test]
fn a_map_may_change_while_it_is_iterated() {
    for config in [VERIFY, STRESS] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let map = m.alloc(GcMap::<u64, Gc<u64>>::from_iter(&m, (0..100).map(|n| (n, m.alloc(n)))));
        let mut seen = HashMap::new();
        for (key, value) in &*map {
            assert!(seen.insert(key, *value).is_none(), "{key} comes twice");
            // Those of the other parity go, hundreds come, so that the arrays change.
            if key < 100 {
                assert_eq!(key, *value);
                if key % 2 == 0 {
                    map.remove(&m, &(key + 1));
                }
                (0..5).for_each(|i| _ = map.insert(&m, 1000 + key * 5 + i, m.alloc(key)));
            }
        }
        assert!((0..100).step_by(2).all(|key| seen.contains_key(&key)), "what stays is seen");
        assert_eq!((0..100).filter(|key| map.contains_key(key)).count(), 50);
        let mut left = 0;
        for (key, _) in &*map {
            left += 1;
            if left == 3 {
                map.clear(&m);
                map.insert(&m, key, m.alloc(1));
            }
        }
        assert!((3..=4).contains(&left) && map.len() == 1);
        assert_eq!(heap.stats().barrier_violations, 0);
    }
}

type Nasty = GcMap<Key, Gc<u64>, Colliding>;

/// A key whose hash and equality use the heap and its own map.
#[derive(Trace, Clone, Copy)]
struct Key {
    n: Gc<u64>,
    map: Gc<Nasty>,
}

thread_local! {
    static HEAP: RefCell<Option<Heap>> = const { RefCell::new(None) };
    static RANDOM: Cell<u64> = const { Cell::new(0) };
    static CHANGES: Cell<u64> = const { Cell::new(0) };
}

impl Key {
    /// Does something, which is not always harmless.
    fn act(&self) {
        let mut rng = Rng(RANDOM.get());
        if rng.0 == 0 {
            return;
        }
        let (what, n) = (rng.below(60), rng.below(64) as u64);
        RANDOM.set(rng.0);
        let heap = HEAP.with_borrow(|heap| heap.clone().unwrap());
        heap.with_mutator(|m| {
            let other = Key { n: m.alloc(n), map: self.map };
            // What it calls itself is harmless.
            let random = RANDOM.replace(0);
            let before = self.map.len();
            match what {
                0 => m.collect(),
                1 => m.collect_young(),
                2 => _ = self.map.insert(m, other, m.alloc(n)),
                3 => _ = self.map.remove(m, &other),
                4 if n == 0 => self.map.clear(m),
                5 if n < 5 => panic!("no hash, and no equality"),
                6 if n < 8 => self.map.reserve(m, 100),
                7 => assert!(self.map.iter().all(|(key, value)| *key.n == *value % 64)),
                _ => _ = m.alloc([n; 10]),
            }
            CHANGES.set(CHANGES.get() + u64::from(self.map.len() != before));
            RANDOM.set(random);
        })
        .unwrap();
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.act();
        self.n == other.n
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.act();
        self.n.hash(state);
    }
}

#[test]
fn hash_and_equality_may_do_anything() {
    for (i, config) in HEAPS.into_iter().enumerate() {
        let heap = heap(config);
        HEAP.set(Some(heap.clone()));
        let m = heap.attach().unwrap();
        let map = m.alloc(Nasty::new());
        let mut rng = Rng(i as u64 + 11);
        let (mut panics, mut told) = (0, 0);
        for _ in 0..if config.stress { 200 } else { 3000 } {
            RANDOM.set(rng.next());
            let n = rng.below(64) as u64;
            let key = Key { n: m.alloc(n), map };
            let call = || match rng.below(4) {
                0 | 1 => _ = map.insert(&m, key, m.alloc(n + 64 * (n % 5))),
                2 => _ = map.remove(&m, &key),
                _ => assert!(map.get(&key).is_none_or(|value| *value % 64 == n)),
            };
            if let Err(panic) = caught(call) {
                panics += 1;
                let text = words_of(panic);
                assert!(text.contains("no hash") || text.contains("has changed the map"), "{text}");
                told += u64::from(text.contains("has changed the map"));
            }
            RANDOM.set(0);
            let (mut count, entries) = (0, map.iter());
            for (key, value) in entries {
                assert_eq!(*key.n, *value % 64);
                count += 1;
            }
            assert!(count == map.len() && map.capacity() >= count);
        }
        assert!(config.stress || panics > 20 && told > 5 && CHANGES.get() > 50, "{panics} {told}");
        assert_eq!(heap.stats().barrier_violations, 0);
        HEAP.set(None);
    }
}

/// An equality that is none: no pair is equal, or each is.
#[derive(Trace, Clone, Copy)]
struct Broken(Gc<u64>, bool);

impl PartialEq for Broken {
    fn eq(&self, _: &Broken) -> bool {
        self.1
    }
}

impl Eq for Broken {}

impl Hash for Broken {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // A new one each time.
        RANDOM.set(RANDOM.get() + 1);
        (RANDOM.get() * 7919).hash(state);
    }
}

#[test]
fn a_hash_that_is_none_makes_no_entry_wrong() {
    for is_equal in [false, true] {
        let heap = heap(VERIFY);
        let m = heap.attach().unwrap();
        let map = m.alloc(GcMap::<Broken, u64>::new());
        for n in 0..2000 {
            map.insert(&m, Broken(m.alloc(n), is_equal), n);
            if n % 3 == 0 {
                map.remove(&m, &Broken(m.alloc(n), is_equal));
            }
        }
        m.collect();
        assert_eq!(map.iter().map(|(key, _)| *key.0).filter(|&n| n < 2000).count(), map.len());
        assert!(is_equal || map.len() == 2000 && map.iter().all(|(key, value)| *key.0 == value));
        RANDOM.set(0);
    }
}

#[test]
fn a_map_that_does_not_fit_is_an_error_and_stays() {
    let heap = heap(Config::default().limit(8 << 20));
    let m = heap.attach().unwrap();
    let map = m.alloc(GcMap::<u64, [u64; 4]>::new());
    let mut n = 0;
    let refused = loop {
        match map.try_insert(&m, n, [n; 4]) {
            Ok(None) => n += 1,
            Ok(Some(_)) => panic!("{n} comes twice"),
            Err(error) => break error,
        }
    };
    assert!(refused.to_string().contains("limit") && map.len() as u64 == n && n > 10_000);
    assert!((0..n).all(|n| map.get(&n) == Some([n; 4])));
    assert!(panic_message(|| map.reserve(&m, usize::MAX)).contains("bytes"));
    // A key that is there needs no room, also where there is none.
    assert_eq!(map.len(), map.capacity());
    assert_eq!(map.insert(&m, 5, [0; 4]), Some([5; 4]));
    assert_eq!(map.remove(&m, &5), Some([0; 4]));
}

#[test]
fn hashers_of_the_standard_library_are_plain() {
    fn plain<T: NoPointers + Shared>() {}
    plain::<std::hash::RandomState>();
    plain::<BuildHasherDefault<Weakly>>();
}
