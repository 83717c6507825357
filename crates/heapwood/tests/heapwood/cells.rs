//! Pointers that change: `GcCell` reads the stored pointer, and keeps its target alive.

use crate::common::*;
use heapwood::{Branded, CellValue, Gc, GcCell, Mutator, Trace};

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
struct Stack<P: CellValue> {
    top: GcCell<P>,
}

impl<P: CellValue + Branded<'static>> Stack<P> {
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
