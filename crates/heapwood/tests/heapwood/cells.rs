//! Pointers that change: `GcCell` reads the stored pointer, and keeps its target alive.

use crate::common::*;
use heapwood::{Gc, GcCell, Trace};

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
