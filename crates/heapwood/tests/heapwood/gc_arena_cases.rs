//! What the tests of gc-arena assert of its arenas, asserted of sessions, where no other test here did (docs/testing.md has the list).

use crate::common::{SMALL, STRESS, VERIFY, panic_message};
use heapwood::session::{Gc, GcMap, GcVec, Mutation, Rootable, Session, Weak, WeakSet};
use heapwood::{Concurrent, GcCell, Generational, Slice, Trace, TypeMap};
use std::cell::Cell;
use std::hash::{Hash, Hasher};

const KIB: usize = 1 << 10;

#[derive(Trace, Rootable)]
struct Watched<'gc> {
    strong: GcCell<Option<Gc<'gc, Gc<'gc, u64>>>>,
    outer: GcCell<Option<Weak<'gc, Gc<'gc, u64>>>>,
    inner: GcCell<Option<Weak<'gc, u64>>>,
}

fn watched<'gc>(m: &Mutation<'gc>) -> Watched<'gc> {
    let inner = m.alloc(42);
    let outer = m.alloc(inner);
    Watched {
        strong: GcCell::new(Some(outer)),
        outer: GcCell::new(Some(m.weak(outer))),
        inner: GcCell::new(Some(m.weak(inner))),
    }
}

/// The object, and the one that it alone leads to.
fn alive<'gc>(m: &Mutation<'gc>, root: &Watched<'gc>) -> [bool; 2] {
    let (outer, inner) = (root.outer.get().unwrap().get(m), root.inner.get().unwrap().get(m));
    if let (Some(outer), Some(inner), Some(strong)) = (outer, inner, root.strong.get()) {
        assert!(Gc::ptr_eq(outer, strong) && Gc::ptr_eq(inner, *strong) && *inner == 42);
    }
    [outer.is_some(), inner.is_some()]
}

/// A weak reference leads to its object as long as the root does, and not for ever afterwards: the session's own collections suffice.
#[test]
fn weak_references_end_by_the_pace_of_allocation() {
    for config in [SMALL, SMALL.concurrent(Concurrent::On), SMALL.generational(Generational::Off)] {
        let mut session = Session::<Watched>::new(config, watched).unwrap();
        for _ in 0..100 {
            session.mutate(|m, _| (0..1000).for_each(|_| _ = m.alloc([0u64; 8])));
            assert_eq!(session.mutate(alive), [true; 2]);
        }
        session.mutate(|m, root| root.strong.set(m, None));
        let calls = (0..10_000).take_while(|_| {
            session.mutate(|m, _| (0..1000).for_each(|_| _ = m.alloc([0u64; 8])));
            session.mutate(alive) != [false; 2]
        });
        assert!(calls.count() < 10_000, "it is garbage, and 640 MB were allocated since");
    }
}

/// What only a dead object leads to dies with it.
#[test]
fn an_object_dies_with_what_it_alone_leads_to() {
    for config in [SMALL, VERIFY, STRESS] {
        let mut session = Session::<Watched>::new(config, watched).unwrap();
        session.collect();
        assert_eq!(session.mutate(alive), [true; 2]);
        session.mutate(|m, root| {
            root.strong.set(m, None);
            assert_eq!(alive(m, root), [true; 2], "nothing is collected in a call");
        });
        session.collect();
        assert_eq!(session.mutate(alive), [false; 2]);
    }
}

/// A reference that a call took out of a weak one is right until the call ends, and keeps nothing after it.
#[test]
fn what_a_weak_reference_returns_lives_to_the_end_of_the_call() {
    let mut session = Session::<Watched>::new(STRESS, watched).unwrap();
    session.mutate(|m, root| {
        let inner = root.inner.get().unwrap().get(m).unwrap();
        root.strong.set(m, None);
        (0..1000).for_each(|_| _ = m.alloc([0u64; 8]));
        assert_eq!((*inner, alive(m, root)), (42, [true; 2]));
    });
    session.collect();
    assert_eq!(session.mutate(alive), [false; 2]);
}

type Triples<'gc> = Slice<Gc<'gc, [u64; 3]>>;

#[derive(Trace, Rootable)]
struct Places<'gc> {
    slice: GcCell<Option<Gc<'gc, Triples<'gc>>>>,
    map: GcMap<'gc, u64, Gc<'gc, (u64, u64)>>,
    vec: GcVec<'gc, Gc<'gc, u64>>,
}

fn places<'gc>(_: &Mutation<'gc>) -> Places<'gc> {
    Places { slice: GcCell::new(None), map: GcMap::new(), vec: GcVec::new() }
}

/// How many objects live, besides the root, after a collection.
fn live<R: Rootable>(session: &mut Session<R>) -> usize {
    session.collect();
    session.stats().live_objects - 1
}

#[test]
fn a_slice_keeps_its_elements_as_long_as_it_is_kept() {
    let mut session = Session::<Places>::new(VERIFY, places).unwrap();
    assert_eq!(live(&mut session), 0);
    session.mutate(|m, root| root.slice.set(m, Some(m.alloc_slice(10, |i| m.alloc([i as u64; 3])))));
    assert_eq!(live(&mut session), 11);
    session.mutate(|m, root| {
        let old = root.slice.get().unwrap();
        assert!(old.iter().enumerate().all(|(i, element)| **element == [i as u64; 3]));
        root.slice.set(m, Some(m.alloc_slice(0, |_| unreachable!())));
        // Nothing is collected here, so it can be put back.
        root.slice.set(m, Some(old));
    });
    assert_eq!(live(&mut session), 11);
    session.mutate(|m, root| root.slice.set(m, Some(m.alloc_slice(0, |_| unreachable!()))));
    assert_eq!(live(&mut session), 1);
}

/// Random insertions and removals: the map has what it should, and the heap has nothing else.
#[test]
fn a_map_keeps_its_values_and_no_others() {
    for config in [SMALL, VERIFY, SMALL.generational(Generational::Always)] {
        let mut session = Session::<Places>::new(config, places).unwrap();
        let mut seed = 7u64;
        let mut key = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % 200
        };
        for round in 0..50 {
            session.mutate(|m, root| {
                for _ in 0..100 {
                    let (added, removed) = (key(), key());
                    let old = root.map.insert(m, added, m.alloc((added, round)));
                    assert!(old.is_none_or(|old| old.0 == added && old.1 <= round));
                    assert!(root.map.remove(m, &removed).is_none_or(|old| old.0 == removed));
                }
            });
            // The map's own two objects, and a value an entry.
            assert_eq!(live(&mut session), session.mutate(|_, root| root.map.len()) + 2, "round {round}");
        }
        session.mutate(|m, root| root.map.clear(m));
        assert_eq!(live(&mut session), 0);
    }
}

#[test]
fn a_cleared_vector_keeps_nothing() {
    let mut session = Session::<Places>::new(VERIFY, places).unwrap();
    session.mutate(|m, root| root.vec.extend(m, (0..100).map(|number| m.alloc(number))));
    assert_eq!(live(&mut session), 101);
    session.mutate(|m, root| root.vec.truncate(m, 40));
    assert_eq!(live(&mut session), 41);
    session.mutate(|m, root| root.vec.clear(m));
    assert_eq!(live(&mut session), 0);
}

/// The memory of a slice whose closure panics is no object.
#[test]
fn a_slice_that_is_never_finished_is_garbage() {
    let mut session = Session::<Places>::new(VERIFY, places).unwrap();
    let message = panic_message(|| {
        session.mutate(|m, root| {
            let slice = m.alloc_slice(10, |i| {
                assert!(i < 5, "the sixth");
                m.alloc([i as u64; 3])
            });
            root.slice.set(m, Some(slice));
        });
    });
    assert_eq!(message, "the sixth");
    assert_eq!(live(&mut session), 0);
    assert!(session.mutate(|_, root| root.slice.get().is_none()));
}

#[derive(Trace)]
struct Inside<'gc> {
    before: u8,
    cell: GcCell<Option<Gc<'gc, Outside<'gc>>>>,
}

fn inside<'gc>(before: u8) -> Inside<'gc> {
    Inside { before, cell: GcCell::new(None) }
}

#[derive(Trace)]
struct Outside<'gc> {
    number: GcCell<Gc<'gc, u64>>,
    inside: [Inside<'gc>; 2],
}

#[derive(Trace, Rootable)]
struct Nested<'gc>(Gc<'gc, Outside<'gc>>);

/// Cells of structs in a struct: a store is told of its object, which may be old.
#[test]
fn cells_in_nested_fields_change() {
    let beside = VERIFY.concurrent(Concurrent::On).max_pause(0);
    for config in [VERIFY, VERIFY.generational(Generational::Always), beside] {
        let mut session = Session::<Nested>::new(config, |m| {
            Nested(m.alloc(Outside { number: GcCell::new(m.alloc(10)), inside: [inside(1), inside(2)] }))
        })
        .unwrap();
        for round in 0..20 {
            session.collect();
            session.mutate(|m, root| {
                let object = root.0;
                object.number.set(m, m.alloc(round));
                let other =
                    Outside { number: GcCell::new(m.alloc(round + 1)), inside: [inside(3), inside(4)] };
                object.inside[0].cell.set(m, Some(object));
                object.inside[1].cell.set(m, Some(m.alloc(other)));
            });
            session.mutate(|m, _| (0..1000).for_each(|_| _ = m.alloc([0u64; 64])));
            session.mutate(|_, root| {
                let [itself, other] = [0, 1].map(|i| root.0.inside[i].cell.get().unwrap());
                assert!(Gc::ptr_eq(itself, root.0));
                assert_eq!((*root.0.number.get(), *other.number.get()), (round, round + 1));
                assert_eq!([&root.0, &other].map(|object| object.inside[1].before), [2, 4]);
            });
        }
        assert_eq!(session.stats().barrier_violations, 0);
    }
}

/// Values of many sizes and alignments, one after another, and all of them again after collections.
#[test]
fn values_of_each_size_and_alignment_come_back() {
    #[derive(Trace, Clone, Copy, PartialEq)]
    #[repr(align(1))]
    struct One<const N: usize>([u8; N]);
    #[derive(Trace, Clone, Copy, PartialEq)]
    #[repr(align(2))]
    struct Two<const N: usize>([u8; N]);
    #[derive(Trace, Clone, Copy, PartialEq)]
    #[repr(align(8))]
    struct Eight<const N: usize>([u8; N]);
    #[derive(Trace, Clone, Copy, PartialEq)]
    #[repr(align(16))]
    struct Sixteen<const N: usize>([u8; N]);

    fn three<T: Trace + Copy + PartialEq>(m: &Mutation<'_>, value: T) {
        let objects = [m.alloc(value), m.try_alloc(value).unwrap(), m.alloc(value)];
        assert!(objects.iter().all(|&object| *object == value && Gc::as_ptr(object).is_aligned()));
        let mut starts = objects.map(|object| Gc::as_ptr(object) as usize);
        starts.sort_unstable();
        assert!(starts.is_sorted_by(|a, b| b - a >= size_of::<T>().max(1)), "two objects overlap");
    }
    let mut session = Session::<Places>::new(STRESS, places).unwrap();
    session.mutate(|m, _| {
        macro_rules! sizes {
            ($($n:literal)*) => {$(
                three(m, One([($n % 251) as u8; $n]));
                three(m, Two([($n % 251) as u8; $n]));
                three(m, Eight([($n % 251) as u8; $n]));
                three(m, Sixteen([($n % 251) as u8; $n]));
            )*};
        }
        sizes!(0 1 2 4 8 16 32 64 100 1000 40000);
    });
}

/// Below the least size of a heap nothing is collected, and above it not for ever.
#[test]
fn a_small_heap_is_not_collected() {
    let config = SMALL.min_heap(1 << 20).generational(Generational::Off).concurrent(Concurrent::Off);
    let mut session = Session::<Places>::new(config, places).unwrap();
    let allocate = |session: &mut Session<Places<'static>>, bytes: usize| {
        for _ in 0..bytes / KIB {
            session.mutate(|m, _| _ = m.alloc([0u8; KIB]));
        }
        session.stats().collections
    };
    assert_eq!(allocate(&mut session, 512 * KIB), 0);
    assert!(allocate(&mut session, 1536 * KIB) > 0);
    session.collect();
    let before = session.stats().collections;
    assert_eq!(allocate(&mut session, 512 * KIB), before);
    assert!(allocate(&mut session, 1536 * KIB) > before);
}

/// A pointer comes back from its address, in the call in which that was taken.
#[test]
fn a_pointer_is_made_of_its_address() {
    let mut session = Session::<Nested>::new(STRESS, |m| {
        Nested(m.alloc(Outside { number: GcCell::new(m.alloc(5)), inside: [inside(1), inside(2)] }))
    })
    .unwrap();
    session.mutate(|m, root| {
        let at = std::ptr::NonNull::new(Gc::as_ptr(root.0)).unwrap();
        m.alloc(1u64);
        // SAFETY: the root leads to it, and nothing is collected in the call.
        let again: Gc<Outside> = unsafe { Gc::from_raw(at) };
        assert!(Gc::ptr_eq(again, root.0) && *again.number.get() == 5);
    });
}

#[allow(dead_code, reason = "the types are made for their layout")]
#[test]
fn maps_of_types_with_lifetimes() {
    #[derive(Trace)]
    struct Pair<'gc> {
        number: u32,
        object: Gc<'gc, u32>,
    }
    #[derive(Trace)]
    enum Either<'gc> {
        Object(Gc<'gc, u32>),
        Number(u32),
    }
    #[derive(Trace)]
    enum Link<'gc> {
        Object(Gc<'gc, u32>),
        Nothing,
    }
    /// What it leads to has a lifetime of its own.
    #[derive(Trace)]
    struct Borrowing<'gc, 'a>(Gc<'gc, &'a u32>);
    #[derive(Trace)]
    struct Generic<'gc, T: Trace>(Gc<'gc, ()>, T);
    #[derive(Trace)]
    struct Where<'gc, T>(Gc<'gc, ()>, Cell<T>)
    where
        T: heapwood::NoPointers + Copy;
    struct Foreign;
    #[derive(Trace)]
    enum Skipping {
        First {
            #[trace(skip)]
            field: Foreign,
        },
    }

    assert_eq!((Pair::MAP.has_pointers(), Pair::MAP.is_conservative()), (true, false));
    assert_eq!((Either::MAP, Link::MAP), (TypeMap::CONSERVATIVE, TypeMap::POINTER));
    assert_eq!((Borrowing::MAP, Skipping::MAP), (TypeMap::POINTER, TypeMap::NO_POINTERS));
    assert_eq!(Generic::<u64>::MAP.mask()[0], 1);
    assert_eq!(Generic::<Gc<u64>>::MAP.mask()[0], 3);
    assert_eq!(Where::<u64>::MAP.mask()[0], 1);
}

#[derive(Trace)]
struct Moody {
    number: u64,
    panics: Cell<bool>,
}

impl PartialEq for Moody {
    fn eq(&self, other: &Self) -> bool {
        assert!(!self.panics.get() && !other.panics.get(), "no comparison");
        self.number == other.number
    }
}

impl Eq for Moody {}

impl Hash for Moody {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.number % 2).hash(state);
    }
}

#[derive(Trace, Rootable)]
struct Moods<'gc> {
    set: WeakSet<'gc, Moody>,
    map: GcMap<'gc, Gc<'gc, Moody>, u64>,
}

/// The program's code that a table calls panics: the call ends, and the tables are as they were.
#[test]
fn a_comparison_that_panics_is_no_harm() {
    for config in [SMALL, VERIFY, STRESS, SMALL.concurrent(Concurrent::On).max_pause(0)] {
        let mut session =
            Session::<Moods>::new(config, |m| Moods { set: m.weak_set(), map: GcMap::new() }).unwrap();
        fn moody<'gc>(m: &Mutation<'gc>, number: u64) -> Gc<'gc, Moody> {
            m.alloc(Moody { number, panics: Cell::new(false) })
        }
        session.mutate(|m, root| {
            for number in 0..100 {
                let key = root.set.intern(m, moody(m, number));
                assert!(root.map.insert(m, key, number).is_none());
            }
        });
        for round in 0..10 {
            session.collect();
            type Call = for<'gc> fn(&Mutation<'gc>, &Moods<'gc>, &Moody);
            let calls: [Call; 4] = [
                |m, root, moody| _ = root.set.find(m, moody),
                |_, root, moody| _ = root.map.get(moody),
                |m, root, moody| _ = root.map.remove(m, moody),
                |_, root, moody| assert!(root.map.contains_key(moody)),
            ];
            let message = panic_message(|| {
                session.mutate(|m, root| {
                    (0..1000).for_each(|_| _ = m.alloc([0u64; 64]));
                    calls[round % 4](m, root, &Moody { number: 1000, panics: Cell::new(true) });
                });
            });
            assert_eq!(message, "no comparison");
            let message = panic_message(|| {
                session.mutate(|m, root| {
                    let new = moody(m, 1000);
                    new.panics.set(true);
                    root.set.intern(m, new);
                });
            });
            assert_eq!(message, "no comparison");
            session.mutate(|m, root| {
                assert_eq!((root.set.len(m), root.map.len()), (100, 100));
                for number in 0..100 {
                    let key = root.set.intern(m, moody(m, number));
                    assert_eq!((root.map.get(&*key), key.number), (Some(number), number));
                }
            });
        }
    }
}
