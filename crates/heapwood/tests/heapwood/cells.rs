//! Pointers that change: `GcCell` reads the stored pointer, keeps its target alive and releases the old one, in cycles,
//! too.

use crate::common::*;
use heapwood::{ById, Gc, GcCell, Mutator, Pointer, Root, Trace, Weak};

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
        assert!(Gc::ptr_eq(pair.always.get(), numbers[0]) && pair.maybe.get().is_none());
        m.collect();
        pair.always.set(&m, numbers[1]);
        pair.maybe.set(&m, Some(numbers[2]));
        m.collect();
        assert_eq!((*pair.always.get(), *pair.maybe.get().unwrap()), (2, 3));
        assert!(Gc::ptr_eq(pair.always.replace(&m, numbers[2]), numbers[1]));
        assert!(ById(pair.maybe.replace(&m, None)) == ById(Some(numbers[2])));
        assert!(pair.maybe.replace(&m, Some(numbers[0])).is_none());
        assert!(Gc::ptr_eq(pair.always.get(), numbers[2]));
        assert!(ById(pair.maybe.get()) == ById(Some(numbers[0])));
        assert_eq!(format!("{:?} {:?}", pair.always, pair.maybe), "GcCell(3) GcCell(Some(1))");
        m.collect();
        assert_eq!(heap.stats().barrier_violations, 0);
    }
}

#[derive(Trace, Default)]
struct Links {
    first: GcCell<Option<Gc<u64>>>,
    weak: GcCell<Option<Weak<u64>>>,
}

/// Code that is generic over what a cell holds.
fn swap<P: Pointer>(m: &Mutator, one: &GcCell<P>, other: &GcCell<P>) {
    one.set(m, other.replace(m, one.get()));
}

#[test]
fn cells_have_a_default_and_come_from_pointers() {
    let heap = heap(VERIFY);
    let m = heap.attach().unwrap();
    let links = m.alloc(Links::default());
    assert!(links.first.get().is_none() && links.weak.get().is_none());
    let (one, other) = (m.alloc(1u64), m.alloc(2u64));
    let pairs = m.alloc([GcCell::from(one), other.into()]);
    m.collect();
    swap(&m, &pairs[0], &pairs[1]);
    let others = m.alloc(Links { first: Some(one).into(), weak: Some(m.weak(other)).into() });
    swap(&m, &links.first, &others.first);
    swap(&m, &links.weak, &others.weak);
    m.collect();
    assert!((*pairs[0].get(), *pairs[1].get()) == (2, 1) && others.first.get().is_none());
    assert_eq!((*links.first.get().unwrap(), *links.weak.get().unwrap().get(&m).unwrap()), (1, 2));
    assert_eq!(heap.stats().barrier_violations, 0);
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

#[test]
fn a_cell_alone_keeps_an_object_alive() {
    for config in [SMALL, VERIFY] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let hub = node(&m, 0, None);
        for round in 0..20 {
            hub.next.set(&m, list(&m, 1000));
            scrub();
            m.collect();
            assert_list(hub.next.get(), 1000);
            assert!(heap.stats().live_objects < 4000, "round {round}: {:?}", heap.stats());
        }
        assert_eq!(heap.stats().barrier_violations, 0);
    }
}

/// A ring of `n` nodes.
#[inline(never)]
fn ring(m: &Mutator, n: u64) -> Gc<Node> {
    let last = node(m, n - 1, None);
    let mut first = last;
    for value in (0..n - 1).rev() {
        first = node(m, value, Some(first));
    }
    last.next.set(m, Some(first));
    first
}

#[inline(never)]
fn many_rings(m: &Mutator) -> u64 {
    (0..500).map(|_| ring(m, 50).next.get().unwrap().value).sum()
}

#[test]
fn cycles_live_while_they_are_reached_and_die_after() {
    for config in [SMALL, VERIFY] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let kept = ring(&m, 1000);
        let itself = node(&m, 5, None);
        itself.next.set(&m, Some(itself));
        assert_eq!(many_rings(&m), 500);
        scrub();
        m.collect();
        let live = heap.stats().live_objects;
        assert!((1001..3000).contains(&live), "{live} objects are alive");
        let mut at = kept;
        for value in 0..1000 {
            assert_eq!(at.value, value);
            at = at.next.get().unwrap();
        }
        assert!(Gc::ptr_eq(at, kept) && Gc::ptr_eq(itself.next.get().unwrap(), itself));
        assert_eq!(heap.stats().barrier_violations, 0);
    }
}

/// Reverses the list of a root, in its own frame. Returns the new head.
#[inline(never)]
fn reverse(m: &Mutator, root: Root<Node>) -> Root<Node> {
    let (mut at, mut before) = (Some(root.get(m)), None);
    while let Some(node) = at {
        at = node.next.replace(m, before);
        before = Some(node);
    }
    m.root(before.unwrap())
}

/// Stores around the barrier, in nodes deep inside a list.
#[inline(never)]
fn cheat(m: &Mutator, root: &Root<Node>) {
    let mut at = Some(root.get(m));
    for _ in 0..20 {
        let (first, second) = (at.unwrap(), at.unwrap().next.get().unwrap());
        at = second.next.get();
        // SAFETY: a cell is one word, no other thread runs, and a list without its second node is a list.
        unsafe { (&raw const first.next).cast_mut().cast::<Option<Gc<Node>>>().write(at) };
    }
}

#[test]
fn verify_mode_finds_stores_around_the_barrier() {
    let heap = heap(VERIFY);
    let m = heap.attach().unwrap();
    let mut root = m.root(list(&m, 2000).unwrap());
    for _ in 0..4 {
        scrub();
        m.collect();
        root = reverse(&m, root);
        scrub();
        m.collect();
        assert_eq!(heap.stats().barrier_violations, 0);
    }
    assert_list(Some(root.get(&m)), 2000);
    scrub();
    m.collect();
    cheat(&m, &root);
    scrub();
    m.collect();
    // A node that a word on the stack refers to is not checked.
    let seen = heap.stats().barrier_violations;
    assert!((15..=20).contains(&seen), "{seen} of 20 stores were noticed");
}
