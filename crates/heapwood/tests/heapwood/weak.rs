//! Weak references and ephemerons as safe code has them: in objects, on stacks, and on several threads.

use crate::common::*;
use heapwood::{Ephemeron, Gc, GcCell, Mutator, Root, Shared, Trace, Weak, WeakMap, WeakSet};

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
    assert!(pair.key(&m).unwrap().ptr_eq(key));
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
        assert!(weak.get(&m).unwrap().ptr_eq(object.get(&m)));
        assert_eq!(*holder.get(&m).table.get().get(&m, object.get(&m)).unwrap(), number);
    }
    holder.get(&m).weak.set(&m, None);
    assert!(holder.get(&m).weak.replace(&m, None).is_none());
    assert_eq!(heap.stats().barrier_violations, 0);
}

/// A table that threads share: each may find what another has made, until that is dead.
#[derive(Trace, Shared)]
struct Table {
    slots: [GcCell<Option<Gc<Entry>>>; 16],
}

#[derive(Trace, Shared)]
struct Entry {
    weak: Weak<[u64; 2]>,
}

#[test]
fn threads_read_each_others_weak_references() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let table: Root<Table> = m.root(m.alloc(Table { slots: core::array::from_fn(|_| GcCell::new(None)) }));
    let work = |thread: u64| {
        let m = heap.attach().unwrap();
        let mut found = 0;
        for i in 0..20_000u64 {
            let table = table.get(&m);
            let number = i << 8 | thread;
            let object = m.alloc([number, !number]);
            let entry = m.alloc(Entry { weak: m.weak(object) });
            table.slots[(i * 7 + thread) as usize % 16].set(&m, Some(entry));
            if let Some(entry) = table.slots[(i * 5) as usize % 16].get()
                && let Some(object) = entry.weak.get(&m)
            {
                assert_eq!(object[0], !object[1], "an object that is alive");
                found += 1;
            }
        }
        found
    };
    let work = &work;
    let found: usize = m.blocking(|| {
        std::thread::scope(|scope| {
            let threads = [1, 2, 3].map(|thread| scope.spawn(move || work(thread)));
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        })
    });
    assert!(found > 0);
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
        assert!(map.insert(m, key, m.alloc(2 * i)) && set.intern(m, m.alloc(i)).ptr_eq(key));
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
        assert!(set.find(&m, &(i as u64)).unwrap().ptr_eq(key));
        assert_eq!(map.get(&m, key).map(|value| *value), Some(2 * i as u64));
        assert!(map.remove(&m, key) && map.get(&m, key).is_none());
    }
}

/// A field with a weak reference that changes: an old object's cell is all that leads to a young reference.
#[derive(Trace, Shared)]
struct Window {
    parent: GcCell<Option<Weak<Window>>>,
    notes: GcCell<WeakMap<Window, u64>>,
    number: u64,
}

#[inline(never)]
fn windows(m: &Mutator, n: u64) -> Vec<Root<Window>> {
    let window = |number| Window { parent: GcCell::new(None), notes: GcCell::new(m.weak_map()), number };
    (0..n).map(|number| m.root(m.alloc(window(number)))).collect()
}

#[inline(never)]
fn set_parent(m: &Mutator, child: &Root<Window>, parent: &Root<Window>) {
    let (child, parent) = (child.get(m), parent.get(m));
    child.parent.set(m, Some(m.weak(parent)));
    let notes = m.weak_map();
    assert!(!notes.ptr_eq(child.notes.replace(m, notes)));
    notes.insert(m, parent, m.alloc(parent.number));
}

#[test]
fn a_cell_holds_a_weak_reference_that_changes() {
    for config in [SMALL, VERIFY, STRESS] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let mut all = windows(&m, 20);
        m.collect();
        for round in 1..20 {
            for i in 0..20 {
                set_parent(&m, &all[i], &all[(i + round) % 20]);
            }
            if round % 2 == 0 {
                m.collect()
            } else {
                m.collect_young()
            }
            for i in 0..20 {
                let window = all[i].get(&m);
                let (parent, expected) = (window.parent.get().unwrap(), all[(i + round) % 20].get(&m));
                assert!(parent.ptr_eq(window.parent.get().unwrap()) && parent.get(&m) == Some(expected));
                let note = window.notes.get().get(&m, expected).map(|note| *note);
                assert_eq!((note, window.notes.get().len(&m)), (Some(expected.number), 1));
            }
        }
        // In the last round the parent of each was the one before it.
        all.truncate(10);
        scrub();
        m.collect();
        scrub();
        m.collect();
        let parent =
            |i: usize| all[i].get(&m).parent.get().and_then(|parent| parent.get(&m)).map(|p| p.number);
        assert!((1..10).all(|i| parent(i) == Some(i as u64 - 1)));
        let first = parent(0);
        assert!(first.is_none() || first == Some(19), "{first:?}: dead, or kept by a stale word");
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
