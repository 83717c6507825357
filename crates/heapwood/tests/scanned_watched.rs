//! `Watched` over `Scanned`: what Scanned does not see is named, and what it sees is right. So a program on Scanned tests whether it keeps the
//! three rules that are left, as far as these can be tested.

use heapwood::{Config, Gc, Heap, Mutator, Scanned, Trace, Watched};
use heapwood_gc_testing::{Child, Ended};
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;

#[global_allocator]
static ALLOCATOR: Watched<Scanned> = Watched::over(Scanned::new());

const CONFIG: Config =
    Config::DEFAULT.huge_pages(false).address_space(2 << 30).min_heap(1 << 20).verify(true);

#[derive(Trace)]
struct Obj(u64);

fn heap() -> Heap {
    // SAFETY: those that break a rule are to be told so.
    unsafe { Heap::new(CONFIG) }.unwrap()
}

/// Overwrites stale words on the stack.
#[inline(never)]
fn scrub() {
    black_box(&mut [0u8; 256 << 10]);
}

#[track_caller]
fn named<R>(name: &str, hold: fn(&Mutator) -> R) -> Ended {
    let ended = Child::new().called(name).run(|| {
        let heap = heap();
        let m = heap.attach().unwrap();
        #[inline(never)]
        fn call<R>(m: &Mutator, hold: fn(&Mutator) -> R) -> R {
            hold(m)
        }
        let held = Box::new(call(&m, hold));
        scrub();
        m.collect();
        drop(black_box(held));
    });
    ended.corrupt("holds the last pointers to objects that are gone")
}

struct Anywhere<T>(T);
// SAFETY: none: the program lies, to be told so.
unsafe impl<T> Sync for Anywhere<T> {}
static IN_DATA: Anywhere<Cell<Option<Gc<Obj>>>> = Anywhere(Cell::new(None));

#[test]
fn a_static_is_named() {
    // Nobody reads it, so the compiler would not write it.
    named("static", |m| black_box(&IN_DATA).0.set(Some(m.alloc(Obj(1))))).says("the static variable at ");
}

#[test]
fn a_generic_packed_struct_is_named() {
    #[repr(C, packed)]
    struct Packed<T>(u8, T);
    // Every eighth lies at a word's boundary, and the header of `Watched` has its blocks scanned.
    named("packed", |m| (0..1000).map(|i| Packed(1, m.alloc(Obj(i)))).collect::<Vec<_>>())
        .says("holds 875 pointers");
}

/// What is aligned above a page is the system's.
#[test]
fn a_block_of_the_system_is_named() {
    #[repr(align(16384))]
    #[expect(dead_code, reason = "what is lost is not read")]
    struct Apart(Gc<Obj>);
    named("above a page", |m| Box::new(Apart(m.alloc(Obj(1))))).says("a block of 16384 bytes");
}

type Kept = (Vec<Gc<Obj>>, HashMap<u64, Box<Gc<Obj>>>, BTreeMap<u64, Gc<Obj>>);

#[test]
fn what_scanned_sees_is_right_and_hears_nothing() {
    let ended = Child::new().run(|| {
        let heap = heap();
        let m = heap.attach().unwrap();
        #[inline(never)]
        fn fill(m: &Mutator) -> Kept {
            (
                (0..1000).map(|i| m.alloc(Obj(i))).collect(),
                (0..1000).map(|i| (i, Box::new(m.alloc(Obj(i))))).collect(),
                (0..1000).map(|i| (i, m.alloc(Obj(i)))).collect(),
            )
        }
        let (vec, map, tree) = fill(&m);
        for _ in 0..5 {
            scrub();
            m.collect();
            assert!((0..1000).all(|i| (vec[i as usize].0, map[&i].0, tree[&i].0) == (i, i, i)));
        }
        // An end that is cut off dies, and is no accident.
        let mut vec = vec;
        vec.truncate(10);
        vec.shrink_to_fit();
        drop((map, tree));
        scrub();
        m.collect();
        assert!(heap.stats().live_objects < 300, "{:?}", heap.stats().live_objects);
    });
    let ended = ended.well();
    assert!(!ended.err.contains("heapwood:"), "{ended}");
}
