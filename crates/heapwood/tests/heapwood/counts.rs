//! Loops whose instructions are counted, in the release build: `valgrind --tool=callgrind --toggle-collect='*counts::NAME_loop*'
//! the test's program --ignored counts::NAME`. A table of enums beside one of pointers, a `GcMap` beside a `HashMap`.

use crate::common::*;
use crate::made::Rng;
use heapwood::{Config, Gc, GcCell, GcMap, Generational, Mutator, Slice, Slot, Trace};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::hint::black_box;

const SIZE: usize = 100_000;
const STEPS: u64 = 1_000_000;

/// An interpreter's value, of two words.
#[derive(Trace, Clone, Copy)]
enum Value {
    Nil,
    #[allow(dead_code, reason = "its size")]
    Number(f64),
    Text(Gc<u64>),
}

/// New objects replace old ones in a table.
#[inline(never)]
fn replace_loop<V: Slot>(m: &Mutator, table: &Slice<GcCell<V>>, make: impl Fn(Gc<u64>) -> V) {
    let mut rng = Rng(1);
    for n in 0..STEPS {
        black_box(table[rng.below(SIZE)].replace(m, make(m.alloc(n))));
    }
}

/// The same with one object, which is old.
#[inline(never)]
fn store_loop<V: Slot>(m: &Mutator, table: &Slice<GcCell<V>>, value: V) {
    let mut rng = Rng(1);
    for _ in 0..STEPS {
        table[rng.below(SIZE)].set(m, value);
    }
}

fn table<V: Slot + Copy>(config: Config, first: V, make: impl Fn(Gc<u64>) -> V) {
    let heap = heap(config);
    let m = heap.attach().unwrap();
    let (table, old) = (m.alloc_slice(SIZE, |_| GcCell::new(first)), m.alloc(7));
    m.collect();
    store_loop(&m, &table, make(old));
    replace_loop(&m, &table, make);
}

const OLD: Config = SMALL.min_heap(4 << 20).generational(Generational::Off);
const YOUNG: Config = SMALL.min_heap(4 << 20).generational(Generational::Always);

#[test]
#[ignore = "for callgrind"]
fn pointers() {
    table(OLD, None, Some);
}

#[test]
#[ignore = "for callgrind"]
fn enums() {
    table(OLD, Value::Nil, Value::Text);
}

#[test]
#[ignore = "for callgrind"]
fn young_pointers() {
    table(YOUNG, None, Some);
}

#[test]
#[ignore = "for callgrind"]
fn young_enums() {
    table(YOUNG, Value::Nil, Value::Text);
}

/// The halves of a product, folded.
#[derive(Default)]
struct Folded(u64);

impl Hasher for Folded {
    fn write(&mut self, _: &[u8]) {
        unreachable!("the keys are numbers");
    }
    #[inline]
    fn write_u64(&mut self, n: u64) {
        let product = u128::from(self.0 ^ n) * 0x9E37_79B9_7F4A_7C15;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

type Hashes = BuildHasherDefault<Folded>;

fn keys() -> impl Iterator<Item = u64> {
    (0..SIZE as u64).map(|n| n.wrapping_mul(0x2545_F491_4F6C_DD1D))
}

/// Inserts, finds, misses, removes and iterates.
macro_rules! map_loop {
    ($name:ident, $map:ident: $type:ty, $insert:expr, $remove:expr) => {
        #[inline(never)]
        fn $name(_m: &Mutator, $map: $type) {
            let (insert, remove) = ($insert, $remove);
            keys().for_each(|key| insert(_m, $map, key));
            for round in 0..10 {
                keys().for_each(|key| assert!($map.get(&key).is_some()));
                keys().for_each(|key| assert!($map.get(&(key + 1)).is_none()));
                assert_eq!($map.iter().count(), SIZE, "in round {round}");
            }
            keys().for_each(|key| {
                remove(_m, $map, key);
                insert(_m, $map, key);
            });
        }
    };
}

map_loop!(
    gc_map_loop,
    map: &GcMap<u64, u64, Hashes>,
    |m: &Mutator, map: &GcMap<u64, u64, Hashes>, key| _ = black_box(map.insert(m, key, key)),
    |m: &Mutator, map: &GcMap<u64, u64, Hashes>, key| _ = black_box(map.remove(m, &key))
);
map_loop!(
    hash_map_loop,
    map: &mut HashMap<u64, u64, Hashes>,
    |_: &Mutator, map: &mut HashMap<u64, u64, Hashes>, key| _ = black_box(map.insert(key, key)),
    |_: &Mutator, map: &mut HashMap<u64, u64, Hashes>, key| _ = black_box(map.remove(&key))
);

#[test]
#[ignore = "for callgrind"]
fn gc_map() {
    let heap = heap(OLD);
    let m = heap.attach().unwrap();
    gc_map_loop(&m, &m.alloc(GcMap::default()));
}

#[test]
#[ignore = "for callgrind"]
fn hash_map() {
    let heap = heap(OLD);
    let m = heap.attach().unwrap();
    hash_map_loop(&m, &mut HashMap::default());
}
