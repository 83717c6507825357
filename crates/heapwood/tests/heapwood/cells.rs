//! Pointers that change: `GcCell` reads the stored pointer, and keeps its target alive.

use crate::common::*;
use heapwood::{CellValue, Concurrent, Gc, GcCell, GcStr, Generational, Mutator, Slice, Trace};

#[derive(Trace)]
struct Pair {
    always: GcCell<Gc<u64>>,
    maybe: GcCell<Option<Gc<u64>>>,
}

#[test]
fn get_set_and_replace_see_the_last_store() {
    for config in [SMALL, VERIFY, STRESS] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let numbers = [1u64, 2, 3].map(|n| m.alloc(n));
        let pair = m.alloc(Pair { always: GcCell::new(numbers[0]), maybe: GcCell::new(None) });
        assert!(pair.always.get() == numbers[0] && pair.maybe.get().is_none());
        m.collect();
        pair.always.set(&m, numbers[1]);
        pair.maybe.set(&m, Some(numbers[2]));
        m.collect();
        assert_eq!((*pair.always.get(), *pair.maybe.get().unwrap()), (2, 3));
        assert!(pair.always.replace(&m, numbers[2]) == numbers[1]);
        assert!(pair.maybe.replace(&m, None) == Some(numbers[2]));
        assert!(pair.maybe.replace(&m, Some(numbers[0])).is_none());
        assert!(pair.always.get() == numbers[2] && pair.maybe.get() == Some(numbers[0]));
        assert_eq!(format!("{:?} {:?}", pair.always, pair.maybe), "GcCell(3) GcCell(Some(1))");
        m.collect();
        assert_eq!(heap.stats().barrier_violations, 0);
    }
}

#[test]
fn a_cell_that_is_not_yet_in_the_heap_can_be_set() {
    let heap = heap(VERIFY);
    let m = heap.attach().unwrap();
    let cell = GcCell::new(None);
    cell.set(&m, Some(m.alloc(4u64)));
    m.collect();
    let object = m.alloc(cell);
    m.collect();
    assert_eq!(*object.get().unwrap(), 4);
    assert_eq!(heap.stats().barrier_violations, 0);
}

/// A container of any cells: their content can be named in a bound.
#[derive(Trace)]
struct Stack<P> {
    top: GcCell<P>,
}

impl<P: CellValue<'static>> Stack<P> {
    fn swap(&self, m: &Mutator, value: P) -> P {
        self.top.replace(m, value)
    }
}

#[test]
fn cells_can_be_generic() {
    let heap = heap(VERIFY);
    let m = heap.attach().unwrap();
    let weak = |n: u64| m.weak(m.alloc(n));
    let (strong, optional) =
        (m.alloc(Stack { top: GcCell::new(m.alloc(1)) }), m.alloc(Stack { top: GcCell::new(Some(weak(2))) }));
    assert_eq!((*strong.swap(&m, m.alloc(3)), optional.swap(&m, None).is_some()), (1, true));
    m.collect();
    assert_eq!((*strong.top.get(), optional.top.get().is_none()), (3, true));
}

#[derive(Trace, Default)]
struct Links {
    first: GcCell<Option<Gc<u64>>>,
    count: u64,
}

#[test]
fn cells_are_made_by_default_and_from_their_content() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let links = m.alloc(Links::default());
    assert!(links.first.get().is_none() && links.count == 0);
    let links = m.alloc(Links { first: Some(m.alloc(7)).into(), ..Links::default() });
    assert_eq!(links.first.get().map(|number| *number), Some(7));
}

/// An interpreter's value: two words, the second of which is a pointer in some variants.
#[derive(Trace, Clone, Copy, CellValue)]
enum Value {
    Nil,
    Number(u64),
    Small(u8),
    List(Gc<Cons>),
    Text(Gc<GcStr>),
}

#[derive(Trace)]
struct Cons {
    head: GcCell<Value>,
    tail: GcCell<Option<Gc<Cons>>>,
}

/// Three words, of which the one in the middle is none.
#[derive(Trace, Clone, Copy, CellValue, Default)]
struct Entry {
    key: Option<Gc<u64>>,
    hash: u64,
    value: Option<Gc<u64>>,
}

#[derive(Trace)]
struct Table {
    values: Gc<Slice<GcCell<Value>>>,
    entries: Gc<Slice<GcCell<Entry>>>,
}

fn assert_value(value: Value, expected: u64) {
    match value {
        Value::Nil => assert_eq!(expected % 5, 0),
        Value::Number(number) => assert_eq!((number, 1), (expected, expected % 5)),
        Value::Small(small) => assert_eq!((small, 2), (expected as u8, expected % 5)),
        Value::List(cons) => {
            assert_eq!(expected % 5, 3);
            assert_value(cons.head.get(), expected / 5);
            assert!(
                matches!(cons.tail.get().unwrap().head.get(), Value::Number(number) if number == expected)
            );
        }
        Value::Text(text) => assert_eq!((&**text, 4), (&*expected.to_string(), expected % 5)),
    }
}

/// Values that change while collections of each kind go on, old ones to young ones among them.
#[test]
fn values_of_several_words_change() {
    const PLACES: u64 = 512;
    let beside = SMALL.concurrent(Concurrent::On).max_pause(0);
    for config in [
        SMALL,
        SMALL.generational(Generational::Always),
        beside,
        beside.generational(Generational::Off),
        VERIFY,
        STRESS,
    ] {
        let heap = heap(config);
        let m = &*heap.attach().unwrap();
        let places = if config.stress { 8 } else { PLACES };
        let table = m.alloc(Table {
            values: m.alloc_slice(places as usize, |_| GcCell::new(Value::Nil)),
            entries: m.alloc_slice(places as usize, |_| GcCell::default()),
        });
        let cons = |head, tail| m.alloc(Cons { head: GcCell::new(head), tail: GcCell::new(tail) });
        fn value(m: &Mutator, cons: &impl Fn(Value, Option<Gc<Cons>>) -> Gc<Cons>, number: u64) -> Value {
            match number % 5 {
                0 => Value::Nil,
                1 => Value::Number(number),
                2 => Value::Small(number as u8),
                3 => Value::List(cons(value(m, cons, number / 5), Some(cons(Value::Number(number), None)))),
                _ => Value::Text(m.alloc_str(&number.to_string())),
            }
        }
        let (mut numbers, mut hashes) = (vec![0; places as usize], vec![0; places as usize]);
        for step in 0..places * 40 {
            let place = (step.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % places;
            let (at, to) = (place as usize, (place as usize * 7 + 3) % places as usize);
            numbers[at] = step;
            table.values[at].set(m, value(m, &cons, step));
            // What a place held goes to another, as a marker goes by.
            (numbers[to], hashes[to]) = (numbers[at], step);
            table.values[to].set(m, table.values[at].get());
            let entry = Entry { key: Some(m.alloc(step)), hash: step, value: Some(m.alloc(step + 1)) };
            table.entries[to].set(m, entry);
            if step % (places * 4) == 0 {
                m.collect();
            }
        }
        for (value, &number) in table.values.iter().zip(&numbers) {
            assert_value(value.get(), number);
        }
        for (entry, &hash) in table.entries.iter().zip(&hashes) {
            let entry = entry.get();
            if let (Some(key), Some(value)) = (entry.key, entry.value) {
                assert_eq!((*key, entry.hash, *value), (hash, hash, hash + 1));
            }
        }
        assert_eq!(heap.stats().barrier_violations, 0);
        assert!(heap.stats().collections > 8);
    }
}

/// Young collections keep the young objects that values of several words in old objects lead to.
#[test]
fn values_of_old_objects_keep_young_ones() {
    const PLACES: u64 = 512;
    let heap = heap(SMALL.generational(Generational::Always));
    let m = &*heap.attach().unwrap();
    let table = m.root(m.alloc(Table {
        values: m.alloc_slice(PLACES as usize, |_| GcCell::new(Value::Nil)),
        entries: m.alloc_slice(PLACES as usize, |_| GcCell::default()),
    }));
    m.collect();
    for round in 0..8 {
        for number in 0..PLACES {
            let (table, key) = (table.get(m), round * PLACES + number);
            let head = GcCell::new(Value::Number(key));
            table.values[number as usize]
                .set(m, Value::List(m.alloc(Cons { head, tail: GcCell::new(None) })));
            let entry = Entry { key: Some(m.alloc(key)), hash: key, value: Some(m.alloc(key + 1)) };
            table.entries[number as usize].set(m, entry);
        }
        scrub();
        m.collect_young();
        // What was freed would be overwritten.
        (0..4 * PLACES).for_each(|_| _ = (m.alloc([0u64; 4]), m.alloc(0u64)));
        for number in 0..PLACES {
            let (table, key) = (table.get(m), round * PLACES + number);
            let Value::List(list) = table.values[number as usize].get() else { panic!("{number}: no list") };
            assert!(matches!(list.head.get(), Value::Number(found) if found == key));
            let entry = table.entries[number as usize].get();
            assert_eq!((*entry.key.unwrap(), entry.hash, *entry.value.unwrap()), (key, key, key + 1));
        }
    }
    assert!(heap.stats().young_collections >= 8);
}

/// Numbers that look like addresses of objects are harmless, and plain data needs no barrier.
#[test]
fn values_without_pointers_change() {
    let heap = heap(VERIFY);
    let m = heap.attach().unwrap();
    let object = m.alloc(7u64);
    let cell = m.alloc((GcCell::new((1u8, 2u32)), GcCell::new(Value::Nil), GcCell::new(0.5)));
    cell.0.set(&m, (3, 4));
    cell.1.set(&m, Value::Number(Gc::as_ptr(object) as u64 + 3));
    cell.2.set(&m, 1.5);
    m.collect();
    assert_eq!((cell.0.get(), cell.2.replace(&m, 2.5)), ((3, 4), 1.5));
    assert!(matches!(cell.1.get(), Value::Number(number) if number == Gc::as_ptr(object) as u64 + 3));
    assert_eq!(heap.stats().barrier_violations, 0);
}

/// A value with plain data of another crate, which does not implement `Trace`.
#[derive(Trace, Clone, Copy, CellValue)]
enum Ordered {
    By(#[trace(skip)] std::cmp::Ordering),
    Text(Gc<GcStr>),
}

#[test]
fn values_may_have_fields_that_are_skipped() {
    let heap = heap(VERIFY);
    let m = heap.attach().unwrap();
    let cell = m.alloc(GcCell::new(Ordered::By(std::cmp::Ordering::Less)));
    assert!(matches!(cell.get(), Ordered::By(std::cmp::Ordering::Less)));
    cell.set(&m, Ordered::Text(m.alloc_str("seven")));
    m.collect();
    assert!(matches!(cell.get(), Ordered::Text(text) if *text == "seven"));
    assert_eq!(heap.stats().barrier_violations, 0);
}
