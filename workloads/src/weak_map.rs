//! Weakmap: a weak map under churn, and then a table of interned names. Of the keys of the map the last N / 20 are alive, and three
//! of four are in the map; for each new one two that are alive are looked up. Of the names N / 20 are in use, and dead ones come
//! again: half of the lookups must find the very object that is in use. Entries of what is dead go away by themselves. It asks a
//! heap what a weak table costs.

use crate::random::Random;
use crate::replacements::{Gaps, SAMPLE, figures, gaps_line};
use crate::workload::{Figure, Line, N, Threads, Workload};
use heapwood::{Gc, GcCell, Mutator, Slice, Trace, WeakMap, WeakSet};

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "weakmap",
    about: "A weak map whose keys die and come, and a table of interned names",
    n: N { unit: "number of keys, and of names", usual: 2_000_000, most: 1 << 31 },
    threads: Threads::ONE,
    // Key, value, ephemeron and place; name, ephemeron and place; and the tables of what is alive.
    least_bytes: |n| u128::from(alive(n)) * (16 + 16 + 32 + 16 + 16 + 32 + 16 + 2 * 8),
    figures: FIGURES,
    shared: None,
    run: |m, n, report| report(run(m, n)),
};

const FIGURES: &[Figure] = &figures("million lookups a second");

/// One of so many keys is alive.
const ROUNDS: u64 = 20;
/// One of so many keys is not in the map.
const ABSENT: u64 = 4;
/// Lookups in the map for each new key.
const LOOKUPS: u64 = 2;

/// The keys, and the names, that are alive at once.
fn alive(n: u64) -> u64 {
    (n / ROUNDS).max(1)
}

/// A key of the map, by identity.
#[derive(Trace)]
struct Key([u64; 2]);

/// What the map has for a key.
#[derive(Trace)]
struct Value([u64; 2]);

/// A name: equal ones are one object.
#[derive(Trace, PartialEq, Eq, Hash)]
struct Name([u64; 2]);

impl Name {
    /// The N-th name.
    fn new(number: u64) -> Name {
        Name([number, number.wrapping_mul(0x9E37_79B9_7F4A_7C15)])
    }
}

type Table<T> = Gc<Slice<GcCell<Option<Gc<T>>>>>;

/// What both parts have counted.
struct Counts {
    found: u64,
    checksum: u64,
    gaps: Gaps,
}

impl Counts {
    fn add(&mut self, [first, second]: [u64; 2]) {
        self.found += 1;
        self.checksum = self.checksum.wrapping_mul(31).wrapping_add(first).wrapping_add(second);
    }

    fn step(&mut self, step: u64) {
        if step % SAMPLE == SAMPLE - 1 {
            self.gaps.sample();
        }
    }
}

fn churn(m: &Mutator, random: &mut Random, n: u64, counts: &mut Counts) {
    let map: WeakMap<Key, Value> = m.weak_map();
    let keys: Table<Key> = m.alloc_slice(alive(n) as usize, |_| GcCell::new(None));
    for (number, place) in (0..n).zip(keys.iter().cycle()) {
        let key = m.alloc(Key([number, 0]));
        if number % ABSENT != ABSENT - 1 {
            map.insert(m, key, m.alloc(Value([number, number + 1])));
        }
        place.set(m, Some(key));
        let made = (number + 1).min(keys.len() as u64);
        for _ in 0..LOOKUPS {
            let at = (random.next_u64() & 0xffff_ffff) % made;
            let key = keys[at as usize].get().expect("a key was made there");
            if let Some(value) = map.get(m, key) {
                counts.add(value.0);
            }
        }
        counts.step(number);
    }
}

fn interned(m: &Mutator, table: WeakSet<Name>, name: Name) -> Gc<Name> {
    table.find(m, &name).unwrap_or_else(|| table.intern(m, m.alloc(name)))
}

fn intern(m: &Mutator, random: &mut Random, n: u64, counts: &mut Counts) {
    let table: WeakSet<Name> = m.weak_set();
    let names: Table<Name> = m.alloc_slice(alive(n) as usize, |_| GcCell::new(None));
    for step in 0..n {
        let r = random.next_u64();
        let place = &names[((r & 0xffff_ffff) % names.len() as u64) as usize];
        match place.get() {
            Some(name) if step % 2 == 0 => {
                assert!(Gc::ptr_eq(interned(m, table, Name::new(name.0[0])), name), "a name has two objects");
                counts.add(name.0);
            }
            _ => place.set(m, Some(interned(m, table, Name::new((r >> 32) % n)))),
        }
        counts.step(step);
    }
    names.iter().filter_map(GcCell::get).for_each(|name| counts.add(name.0));
}

/// Puts so many keys through a map, and looks up as many names.
fn run(m: &Mutator, n: u64) -> Line {
    let mut random = Random::new();
    let mut counts = Counts { found: 0, checksum: 0, gaps: Gaps::start() };
    churn(m, &mut random, n, &mut counts);
    intern(m, &mut random, n, &mut counts);
    let Counts { found, checksum, gaps } = counts;
    gaps_line("weakmap", ("found", found), checksum, gaps.end(n * (LOOKUPS + 1)))
}
