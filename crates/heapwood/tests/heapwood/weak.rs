//! Weak references and ephemerons as safe code has them, in objects and on stacks.

use crate::common::*;
use heapwood::{ById, Ephemeron, Gc, GcCell, Mutator, Root, Trace, Weak, WeakMap, WeakSet};

#[derive(Trace)]
struct Holder {
    weak: Option<Weak<u64>>,
    pair: Option<Ephemeron<u64, u32>>,
}

#[inline(never)]
fn make(m: &Mutator, number: u64) -> (Root<Holder>, Root<u64>) {
    let object = m.alloc(number);
    let holder =
        Holder { weak: Some(m.weak(object)), pair: Some(m.ephemeron(object, m.alloc(number as u32))) };
    (m.root(m.alloc(holder)), m.root(object))
}

#[inline(never)]
fn read(m: &Mutator, holder: &Root<Holder>) -> [Option<u64>; 3] {
    let holder = holder.get(m);
    let pair = holder.pair.unwrap();
    let (key, value) = (pair.key(m).map(|key| *key), pair.value(m).map(|value| u64::from(*value)));
    [holder.weak.unwrap().get(m).map(|object| *object), key, value]
}

#[test]
fn references_are_cleared_when_their_objects_are_dead() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let (holders, mut objects): (Vec<_>, Vec<_>) = (0..100).map(|i| make(&m, i)).unzip();
    m.collect();
    assert!((0..100).all(|i| read(&m, &holders[i]) == [Some(i as u64); 3]));
    objects.truncate(50);
    scrub();
    m.collect();
    assert!((0..50).all(|i| read(&m, &holders[i]) == [Some(i as u64); 3]));
    let cleared = (50..100).filter(|&i| read(&m, &holders[i]) == [None; 3]).count();
    assert!(cleared >= 45, "{cleared} of 50: stale words keep the others");
    assert!(
        (50..100).all(|i| matches!(read(&m, &holders[i]), [None, None, None] | [Some(_), Some(_), Some(_)]))
    );
}

#[test]
fn the_value_of_an_ephemeron_changes_while_its_key_is_alive() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let key = m.alloc(1u64);
    let pair = m.ephemeron(key, m.alloc(2u32));
    assert!(pair.set_value(&m, m.alloc(3)));
    m.collect();
    assert_eq!((*pair.key(&m).unwrap(), *pair.value(&m).unwrap()), (1, 3));
    assert!(Gc::ptr_eq(pair.key(&m).unwrap(), key));
}

/// What a cell has may change, to a reference that was made later than its object, and is kept by it.
#[test]
fn cells_hold_weak_references() {
    #[derive(Trace)]
    struct Changing {
        weak: GcCell<Option<Weak<u64>>>,
        table: GcCell<WeakMap<u64, u64>>,
    }
    let heap = heap(SMALL.verify(true));
    let m = heap.attach().unwrap();
    let object = m.root(m.alloc(7u64));
    let holder = Changing { weak: GcCell::new(None), table: GcCell::new(m.weak_map()) };
    let holder = m.root(m.alloc(holder));
    m.collect();
    assert!(holder.get(&m).weak.get().is_none());
    for number in 0..3 {
        let (map, key) = (m.weak_map(), object.get(&m));
        map.insert(&m, key, m.alloc(number));
        holder.get(&m).weak.set(&m, Some(m.weak(key)));
        holder.get(&m).table.set(&m, map);
        m.collect();
        let weak = holder.get(&m).weak.get().unwrap();
        assert!(Gc::ptr_eq(weak.get(&m).unwrap(), object.get(&m)));
        assert_eq!(*holder.get(&m).table.get().get(&m, object.get(&m)).unwrap(), number);
    }
    holder.get(&m).weak.set(&m, None);
    assert!(holder.get(&m).weak.replace(&m, None).is_none());
    assert_eq!(heap.stats().barrier_violations, 0);
}

#[test]
#[should_panic(expected = "lies in arena")]
fn a_weak_reference_into_an_arena_is_refused() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let arena = heapwood::Arena::new(&m);
    m.weak(arena.alloc_gc(7u64));
}

#[inline(never)]
fn fill(m: &Mutator, tables: &Root<Tables>) -> Vec<Root<u64>> {
    let Tables { map, set } = *tables.get(m);
    let keys = (0..100u64).map(|i| {
        let key = set.intern(m, m.alloc(i));
        assert!(map.insert(m, key, m.alloc(2 * i)) && Gc::ptr_eq(set.intern(m, m.alloc(i)), key));
        m.root(key)
    });
    keys.collect()
}

#[derive(Trace)]
struct Tables {
    map: WeakMap<u64, u64>,
    set: WeakSet<u64>,
}

#[test]
fn tables_have_the_keys_that_are_alive() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let tables = m.root(m.alloc(Tables { map: m.weak_map(), set: m.weak_set() }));
    let mut keys = fill(&m, &tables);
    keys.truncate(50);
    scrub();
    m.collect();
    let Tables { map, set } = *tables.get(&m);
    assert!((50..56).contains(&map.len(&m)) && (50..56).contains(&set.len(&m)), "{}", map.len(&m));
    let mut seen = 0;
    map.for_each(&m, |key, value| {
        assert_eq!(2 * *key, *value);
        seen += 1;
    });
    assert_eq!(seen, map.len(&m));
    for (i, key) in keys.iter().enumerate() {
        let key = key.get(&m);
        assert!(Gc::ptr_eq(set.find(&m, &(i as u64)).unwrap(), key));
        assert_eq!(map.get(&m, key).map(|value| *value), Some(2 * i as u64));
        assert!(map.remove(&m, key) && map.get(&m, key).is_none());
    }
}

#[test]
fn what_is_weak_is_shown_without_its_contents_and_compared_by_address() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let object = m.alloc(1u64);
    let (weak, again) = (m.weak(object), m.weak(object));
    let pair = m.ephemeron(object, m.alloc(2u8));
    let (map, set): (WeakMap<u64, u64>, WeakSet<u64>) = (m.weak_map(), m.weak_set());
    let shown = format!("{weak:?} {pair:?} {map:?} {set:?} {:?}", GcCell::new(Some(weak)));
    assert_eq!(shown, "Weak(..) Ephemeron(..) WeakMap(..) WeakSet(..) GcCell(Some(Weak(..)))");
    assert!(weak.ptr_eq(weak) && !weak.ptr_eq(again) && weak.get(&m) == again.get(&m));
    assert!(pair.ptr_eq(pair) && map.ptr_eq(map) && set.ptr_eq(set) && !map.ptr_eq(m.weak_map()));
}

/// In verify mode the collector keeps what something weak refers to from being freed.
#[test]
fn what_something_weak_refers_to_is_not_freed() {
    let heap = heap(VERIFY);
    let m = heap.attach().unwrap();
    let (object, owner) = (m.alloc(1u64), m.alloc_finalized(2u8).map_err(|(error, _)| error).unwrap());
    let weak = m.weak(object);
    // SAFETY: both are refused.
    let refused = unsafe { [m.free(object).unwrap_err(), m.free(owner).unwrap_err()] };
    let told = refused.map(|error| error.to_string());
    assert!(told[0].contains("a weak reference, an ephemeron or a weak table refers to"), "{told:?}");
    assert!(told[1].contains("has a finaliser"), "{told:?}");
    assert_eq!((weak.get(&m).map(|object| *object), **owner), (Some(1), 2));
}

/// A set has what `Eq` says for one, also of the `Gc`s inside; a map has keys by identity, whatever that says.
#[test]
fn sets_are_by_content_and_maps_by_identity() {
    #[derive(Trace, PartialEq, Eq, Hash)]
    struct Symbol {
        name: Gc<u64>,
    }
    let heap = heap(VERIFY);
    let m = heap.attach().unwrap();
    let symbols: WeakSet<Symbol> = m.weak_set();
    let symbol = || m.alloc(Symbol { name: m.alloc(7) });
    let (one, other) = (symbols.intern(&m, symbol()), symbol());
    m.collect();
    assert!(one == other && Gc::ptr_eq(symbols.intern(&m, other), one) && symbols.len(&m) == 1);
    assert!(symbols.find(&m, &Symbol { name: other.name }).is_some_and(|found| Gc::ptr_eq(found, one)));
    let objects: WeakSet<ById<Gc<u64>>> = m.weak_set();
    let key = |object| objects.intern(&m, m.alloc(ById(object)));
    let keys = [key(one.name), key(other.name), key(one.name)];
    assert!(Gc::ptr_eq(keys[0], keys[2]) && !Gc::ptr_eq(keys[0], keys[1]) && objects.len(&m) == 2);
    let map: WeakMap<Symbol, u64> = m.weak_map();
    assert!(map.insert(&m, one, m.alloc(1)) && map.insert(&m, other, m.alloc(2)));
    assert_eq!([one, other].map(|key| map.get(&m, key).map(|value| *value)), [Some(1), Some(2)]);
}
