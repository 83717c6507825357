//! Cells of small values: enums with pointers, pairs, arrays. They keep what they hold alive and nothing else, beside every kind of
//! collection.

use crate::common::*;
use crate::made::*;
use heapwood::{Arena, Gc, GcCell, GcMap, GcVec, Mutator, Slot, Trace};

#[derive(Trace)]
struct Holder<V: Slot> {
    before: u64,
    cell: GcCell<V>,
    after: GcCell<Option<Gc<u64>>>,
}

fn holder<V: Made>(m: &Mutator, n: u64) -> Gc<Holder<V>> {
    let value = V::make(m, n);
    m.alloc(Holder { before: n, cell: GcCell::new(value), after: GcCell::default() })
}

/// Objects that are old get values of new objects, and give theirs to each other.
fn plays<V: Made>() {
    for (i, config) in HEAPS.into_iter().enumerate() {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let (holders, steps) = if config.stress { (20, 300) } else { (300, 10_000) };
        let all = m.alloc_slice(holders, |i| holder::<V>(&m, i as u64));
        let mut numbers: Vec<u64> = (0..holders as u64).collect();
        let mut rng = Rng(i as u64 + 7);
        for step in 0..steps {
            let (at, other) = (rng.below(holders), rng.below(holders));
            match rng.below(8) {
                0..3 => {
                    numbers[at] = step;
                    all[at].cell.set(&m, V::make(&m, step));
                }
                // The only path to a value moves from one object to another.
                3..6 => {
                    let moved = all[at].cell.replace(&m, V::make(&m, 3));
                    all[other].cell.set(&m, moved);
                    numbers[other] = numbers[at];
                    numbers[at] = if at == other { numbers[at] } else { 3 };
                }
                6 => {
                    let new = all[at].cell.update(&m, |old| V::make(&m, old.number() ^ 1));
                    numbers[at] ^= 1;
                    assert_eq!(new.number(), numbers[at]);
                }
                _ if rng.below(if config.stress { 4 } else { 200 }) == 0 => match rng.below(3) {
                    0 => m.collect(),
                    1 => m.collect_young(),
                    _ => _ = m.start_collection(),
                },
                _ => {}
            }
            assert_eq!(all[other].cell.get().number(), numbers[other], "in step {step} of heap {i}");
        }
        m.collect();
        for (holder, number) in all.iter().zip(numbers) {
            assert_eq!(holder.cell.get().number(), number);
            assert!(holder.before < holders as u64 && holder.after.get().is_none());
        }
        assert_eq!(heap.stats().barrier_violations, 0);
    }
}

#[test]
fn numbers_in_cells() {
    plays::<u64>();
}

#[test]
fn pointers_in_cells() {
    plays::<Gc<u64>>();
    plays::<Link>();
}

#[test]
fn pairs_in_cells() {
    plays::<(u16, Gc<u64>)>();
}

#[test]
fn enums_in_cells() {
    plays::<Value>();
}

#[test]
fn four_words_in_cells() {
    plays::<[Option<Gc<u64>>; 4]>();
}

type Big = Gc<[u64; 4096]>;

#[derive(Trace, Clone, Copy)]
enum Has {
    Nothing,
    #[allow(dead_code, reason = "its size")]
    Numbers(u64, u64),
    Big(u64, Big),
}

const CELLS: usize = 20;

#[inline(never)]
fn set_and_see(m: &Mutator, cells: &[GcCell<Has>; CELLS], round: u64) {
    cells.iter().for_each(|cell| cell.set(m, Has::Big(round, m.alloc([round; 4096]))));
    m.collect();
    for cell in cells {
        let Has::Big(number, big) = cell.get() else { panic!("another variant") };
        assert_eq!((number, big[4095]), (round, round));
    }
}

#[inline(never)]
fn set_nothing(m: &Mutator, cells: &[GcCell<Has>; CELLS]) {
    cells.iter().for_each(|cell| cell.set(m, Has::Nothing));
}

/// What is overwritten dies, and what takes its place lives. A few may be found on the stack.
#[test]
fn a_cell_of_a_value_lets_go_of_the_last_one() {
    for config in [SMALL, VERIFY] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let cells = m.alloc([const { GcCell::new(Has::Numbers(1, 2)) }; CELLS]);
        let live = || {
            scrub();
            m.collect();
            heap.stats().live_bytes / (4096 * 8)
        };
        for round in 0..20 {
            set_and_see(&m, &cells, round);
            let live = live();
            assert!((CELLS..CELLS + 4).contains(&live), "{live} are alive in round {round}");
        }
        set_nothing(&m, &cells);
        let live = live();
        assert!(live < 4, "{live} are alive");
    }
}

/// Code that is generic over what a cell holds.
fn swap<V: Slot>(m: &Mutator, one: &GcCell<V>, other: &GcCell<V>) {
    one.set(m, other.replace(m, one.get()));
}

#[test]
fn cells_of_values_have_the_traits_of_cells() {
    let heap = heap(VERIFY);
    let m = heap.attach().unwrap();
    type Pair = (Option<Gc<u64>>, u64);
    let cells: Gc<[GcCell<Pair>; 2]> = m.alloc([GcCell::default(), (Some(m.alloc(4u64)), 2).into()]);
    swap(&m, &cells[0], &cells[1]);
    m.collect();
    assert_eq!(format!("{:?}", *cells), "[GcCell((Some(4), 2)), GcCell((None, 0))]");
    assert_eq!(cells[0].take(&m).1, 2);
    assert_eq!(cells[0].get(), (None, 0));
    // One that is not yet in the heap.
    let cell = GcCell::new((None, 0));
    cell.set(&m, (Some(m.alloc(4u64)), 1));
    m.collect();
    let object = m.alloc(cell);
    m.collect();
    assert_eq!(object.get(), (Some(m.alloc(4)), 1));
    assert_eq!(heap.stats().barrier_violations, 0);
}

/// Of a value in an arena nothing is known but what barriers note.
#[derive(Trace)]
struct InArena {
    pair: GcCell<(u16, Gc<u64>)>,
    list: GcVec<Value>,
    table: GcMap<u64, Gc<u64>>,
}

#[test]
fn values_and_collections_lie_in_arenas() {
    for config in HEAPS {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let (count, rounds) = if config.stress { (5, 6) } else { (50, 20) };
        let arena = Arena::new(&m);
        let made = arena.alloc_slice(count, |i| InArena {
            pair: GcCell::new(Made::make(&m, i as u64)),
            list: GcVec::new(),
            table: GcMap::new(),
        });
        for round in 0..rounds {
            match round % 3 {
                0 => m.collect(),
                1 => m.collect_young(),
                _ => _ = m.start_collection(),
            }
            for (i, value) in made.iter().enumerate() {
                let n = (i * 100) as u64 + round;
                value.pair.update(&m, |old| Made::make(&m, old.number() + 1));
                value.list.push(&m, Value::make(&m, n));
                value.table.insert(&m, n, m.alloc(n));
            }
        }
        m.collect();
        for (i, value) in made.iter().enumerate() {
            let wanted = (i * 100) as u64..(i * 100) as u64 + rounds;
            assert_eq!(value.pair.get().number(), i as u64 + rounds);
            assert!(value.list.iter().map(Value::number).eq(wanted.clone()));
            assert!(
                value.table.len() as u64 == rounds
                    && wanted.clone().all(|n| *value.table.get(&n).unwrap() == n)
            );
        }
        assert_eq!(heap.stats().barrier_violations, 0);
    }
}
