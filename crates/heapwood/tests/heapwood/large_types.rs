//! Types with pointers beyond a mask: the derive makes a program for them, and their targets live, in objects, in
//! slices and behind other types, small and large.

use crate::common::heap;
use heapwood::{Config, Gc, GcCell, Mutator, Slice, Trace};

type Slot = GcCell<Option<Gc<u64>>>;

#[derive(Trace)]
struct Row {
    number: u64,
    cells: [(Slot, u64); 10],
    last: Slot,
}

/// A few KiB, its pointers in the middle and at the end; Rust chooses the order of the fields.
#[derive(Trace)]
struct Table {
    rows: [Row; 30],
    small: u8,
    end: Slot,
}

/// Larger than any size class.
#[derive(Trace)]
struct Large {
    padding: [u64; 3000],
    table: Table,
    many: [Slot; 2000],
}

fn slot() -> Slot {
    GcCell::new(None)
}

fn row(number: u64) -> Row {
    Row { number, cells: std::array::from_fn(|k| (slot(), !(k as u64))), last: slot() }
}

fn table() -> Table {
    Table { rows: std::array::from_fn(|k| row(k as u64)), small: 7, end: slot() }
}

fn large() -> Large {
    Large { padding: [u64::MAX - 7; 3000], table: table(), many: std::array::from_fn(|_| slot()) }
}

impl Table {
    fn slots(&self) -> impl Iterator<Item = &Slot> {
        let rows = self.rows.iter().flat_map(|row| row.cells.iter().map(|(slot, _)| slot).chain([&row.last]));
        rows.chain([&self.end])
    }
}

fn fill<'a>(m: &Mutator, slots: impl Iterator<Item = &'a Slot>, seed: u64) {
    for (k, slot) in slots.enumerate() {
        slot.set(m, Some(m.alloc(seed + k as u64)));
    }
}

fn check<'a>(slots: impl Iterator<Item = &'a Slot>, seed: u64) -> usize {
    slots.enumerate().map(|(k, slot)| assert_eq!(*slot.get().unwrap(), seed + k as u64)).count()
}

#[test]
fn targets_of_large_types_live() {
    for config in [Config::default(), Config::default().verify(true)] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let big = m.alloc(large());
        fill(&m, big.table.slots().chain(&big.many), 1 << 40);
        let slice: Gc<Slice<Table>> = m.alloc_slice(5, |_| table());
        fill(&m, slice.iter().flat_map(Table::slots), 1 << 50);
        for _ in 0..3 {
            m.collect();
            assert_eq!(check(big.table.slots().chain(&big.many), 1 << 40), 2331);
            assert_eq!(check(slice.iter().flat_map(Table::slots), 1 << 50), 5 * 331);
        }
        // Without the pointers all of it dies, except for stale words on the stack.
        let before = heap.stats().live_objects;
        big.many.iter().for_each(|slot| slot.set(&m, None));
        m.collect();
        let gone = before - heap.stats().live_objects;
        assert!(gone >= 1990, "{gone}");
    }
}

#[test]
fn the_program_of_a_large_type_is_small() {
    assert!(Table::MAP.is_far() && Large::MAP.is_far() && !Row::MAP.is_far());
    let bytes = |map: heapwood::TypeMap, size| map.program(size).unwrap().bytes().len();
    assert!(bytes(Table::MAP, size_of::<Table>()) <= 24);
    assert!(bytes(Large::MAP, size_of::<Large>()) <= 40);
    assert!(<[Slot; 1 << 40]>::MAP.program(8 << 40).unwrap().bytes().len() <= 10);
}
