//! A `Gc` that goes into another heap's object, or becomes another heap's root: verify mode names it, since a collection of that heap
//! does not look at it, and one of its own frees its object.

use crate::common::*;
use heapwood::{Arena, Gc, GcCell, Mutator, Root, Slice, Trace, WithTail};
use heapwood_gc_testing::Child;

#[derive(Trace)]
struct Holder(Gc<u64>);

type Cells = Slice<GcCell<Option<Gc<u64>>>>;

/// Runs `mix` with mutators of two heaps in a process of its own, and collects the first.
#[track_caller]
fn refused<R>(name: &str, mix: impl FnOnce(&Mutator, &Mutator) -> R) {
    let child = Child::new().called(name).run(|| {
        let (one, other) = (heap(VERIFY), heap(VERIFY));
        let (m, of_other) = (one.attach().unwrap(), other.attach().unwrap());
        let mixed = mix(&m, &of_other);
        m.collect();
        drop(std::hint::black_box(mixed));
    });
    child.corrupt("where this heap has no object: is it a pointer of another heap?");
}

#[test]
fn a_store_of_a_cell_is_refused() {
    refused("store", |m, of_other| {
        let cell = m.alloc(GcCell::new(Some(m.alloc(1u64))));
        cell.set(m, Some(of_other.alloc(2)));
        panic!("the store itself is refused");
    });
}

#[test]
fn a_field_of_a_new_object_is_refused() {
    refused("field", |m, of_other| {
        let holder = m.alloc(Holder(of_other.alloc(2)));
        assert_eq!(*holder.0, 2);
        holder
    });
    refused("cell", |m, of_other| m.alloc(GcCell::new(of_other.alloc(2u64))));
    refused("large", |m, of_other| m.alloc(([0u64; 10_000], Some(of_other.alloc(2u64)))));
}

#[test]
fn an_element_is_refused() {
    refused("slice", |m, of_other| m.alloc_slice(10, |i| (i == 7).then(|| of_other.alloc(2u64))));
    refused("tail", |m, of_other| -> Gc<WithTail<u64, Gc<u64>>> {
        m.alloc_with_tail(1, 3, |_| of_other.alloc(2u64))
    });
    refused("cell of a slice", |m, of_other| {
        let cells: Gc<Cells> = m.alloc_slice(10, |_| GcCell::new(None));
        cells[9].set(m, Some(of_other.alloc(2)));
    });
}

#[test]
fn a_root_is_refused() {
    refused("root", |m, of_other| -> Root<u64> { m.root(of_other.alloc(2u64)) });
}

#[test]
fn a_value_of_an_arena_is_refused() {
    refused("arena", |m, of_other| {
        let arena = Arena::new(m);
        let value = arena.alloc_gc(Holder(of_other.alloc(2)));
        m.collect();
        assert_eq!(*value.0, 2);
    });
}

#[test]
fn heaps_side_by_side_are_left_alone() {
    let (one, other) = (heap(VERIFY), heap(VERIFY));
    let (m, of_other) = (one.attach().unwrap(), other.attach().unwrap());
    let (mine, theirs) = (list(&m, 100), list(&of_other, 100));
    let roots: Vec<_> =
        mine.iter().map(|&node| m.root(node)).chain(theirs.map(|node| of_other.root(node))).collect();
    // Handles that were freed hold numbers.
    drop(roots);
    let _kept = m.root(mine.unwrap());
    for _ in 0..3 {
        m.collect();
        of_other.collect();
    }
    assert_list(mine, 100);
    assert_list(theirs, 100);
}
