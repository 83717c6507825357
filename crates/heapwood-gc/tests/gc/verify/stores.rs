//! Verify mode: stores that went around the barrier are told from those that did not, stores that initialise are
//! left alone, freed memory is clobbered, and a store that names no object is refused with a message.

use core::hint::black_box;
use heapwood_gc::settings::options::Generational;
use heapwood_gc::{Config, Mutator};
use heapwood_gc_testing::*;
use heapwood_heap::{Address, CLOBBER, ObjectRef};

const VERIFY: Config = PRECISE.verify(true);
const YOUNG: Config = VERIFY.generational(Generational::Always);

/// Three nodes in root slots that have outlived a collection; `store` changes word 0 of the first. Returns the
/// violations that the next collections find.
fn violations_after(store: impl Fn(&Mutator, usize, usize)) -> u64 {
    let heap = heap(VERIFY);
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 3);
    for i in 0..3 {
        roots.set(i, new(&mutator, node));
    }
    link(&mutator, roots.get(0), 0, roots.get(1));
    mutator.collect().unwrap();
    assert_eq!(heap.inspect().stats().barrier_violations, 0);
    store(&mutator, roots.get(0), roots.get(2));
    assert_eq!(get(roots.get(0), 0), roots.get(2));
    mutator.collect().unwrap();
    let found = heap.inspect().stats().barrier_violations;
    mutator.collect().unwrap();
    assert_eq!(heap.inspect().stats().barrier_violations, found, "a violation is told once");
    assert_eq!(heap.inspect().stats().verified, heap.inspect().stats().collections);
    found
}

#[test]
fn a_store_around_the_barrier_is_counted_and_reported() {
    let child = Child::new().run(|| assert_eq!(violations_after(|_, object, to| put(object, 0, to)), 1));
    child.well().says("heapwood: verify: word 0 of the object at 0x").says("without the write barrier");
}

/// What no collection needs to be told of: numbers in the place of numbers, and words that are roots, too.
#[test]
fn plain_stores_that_hide_nothing_are_not_reported() {
    let heap = heap(VERIFY);
    let m = attach(&heap);
    let (node, mut roots) = (node_type(&heap), Slots::new(&heap, 4));
    (0..4).for_each(|i| roots.set(i, new(&m, node)));
    let [numbers, stack, mixed, to] = [0, 1, 2, 3].map(|i| roots.get(i));
    put(numbers, 0, 1 << 50 | 1);
    put(mixed, 0, 3 << 50);
    m.collect().unwrap();
    put(numbers, 0, 2 << 50 | 1);
    // SAFETY: the words are an object's, which a root keeps.
    let range = unsafe { heap.roots().add_range(stack, stack + 2 * WORD) }.unwrap();
    put(stack, 0, to);
    put(stack, 1, numbers);
    m.collect().unwrap();
    assert_eq!(heap.inspect().stats().barrier_violations, 0);
    // A pointer in the place of a number, and a number in that of a pointer: a marking beside the program would lose what was there.
    put(mixed, 0, to);
    m.collect().unwrap();
    assert_eq!(heap.inspect().stats().barrier_violations, 1);
    put(mixed, 0, 5 << 50);
    m.collect().unwrap();
    assert_eq!(heap.inspect().stats().barrier_violations, 2);
    // The words are roots no more.
    assert!(heap.roots().remove(range));
    put(stack, 0, numbers);
    m.collect().unwrap();
    assert_eq!(heap.inspect().stats().barrier_violations, 3);
}

#[test]
fn stores_through_the_barrier_are_not_reported() {
    // SAFETY: word 0 is a slot of the object, the source a local, the values objects' addresses.
    let copy = |m: &Mutator, object: usize, to: usize| unsafe {
        m.barrier().copy(ObjectRef::new(object), object as *mut usize, &raw const to, 1)
    };
    // SAFETY: as above.
    let cas = |m: &Mutator, object: usize, to: usize| unsafe {
        let (old, new) = (Address::new(get(object, 0)), Address::new(to));
        m.barrier().cas(ObjectRef::new(object), object as *mut usize, old, new).unwrap();
    };
    assert_eq!(violations_after(|m, object, to| link(m, object, 0, to)), 0);
    assert_eq!([violations_after(copy), violations_after(cas)], [0, 0]);
}

/// An object is new until its thread's next poll or allocation, whoever refers to it: the store that a porter forgets is
/// most often one into an object that a variable holds.
#[test]
fn a_plain_store_into_an_object_that_a_frame_refers_to_is_reported() {
    let heap = heap(VERIFY);
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut frame = Framed::<2>::new(&mutator);
    frame.set(0, new(&mutator, node));
    for round in 1..4 {
        mutator.collect().unwrap();
        put(frame.get(0), 0, new(&mutator, node));
        mutator.collect().unwrap();
        assert_eq!(heap.inspect().stats().barrier_violations, round);
    }
}

#[test]
fn a_plain_store_into_an_object_that_the_stack_refers_to_is_reported() {
    let heap = heap(VERIFY.conservative_stacks(true));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let object = black_box(new(&mutator, node));
    mutator.collect().unwrap();
    put(object, 0, new(&mutator, node));
    mutator.collect().unwrap();
    black_box(object);
    assert_eq!(heap.inspect().stats().barrier_violations, 1);
}

#[test]
fn a_store_into_a_new_object_is_not_reported() {
    let heap = heap(VERIFY.conservative_stacks(true));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 1);
    for _ in 0..5 {
        let old = roots.get(0);
        let object = black_box(new(&mutator, node));
        put(object, 0, old);
        put(object, 1, object);
        roots.set(0, object);
        mutator.collect().unwrap();
    }
    assert_eq!(heap.inspect().stats().barrier_violations, 0);
    assert_eq!(heap.inspect().stats().live_objects, 5);
}

#[test]
fn freed_memory_is_clobbered() {
    let heap = heap(VERIFY);
    let mutator = attach(&heap);
    let mut keep = Slots::new(&heap, 1);
    for ty in
        [node_type(&heap), pointer_free(&heap, 999), pointer_free(&heap, 100_000), masked(&heap, 5000, &[7])]
    {
        keep.set(0, new(&mutator, ty));
        let dead = new(&mutator, ty);
        // SAFETY: the object is new and this large.
        unsafe { (dead as *mut u8).write_bytes(0, ty.size()) };
        mutator.collect().unwrap();
        heap.memory().finish_sweep();
        assert_eq!(heap.objects().find(dead), None);
        // SAFETY: nobody else uses the heap, and its memory stays readable.
        let bytes = unsafe { core::slice::from_raw_parts(dead as *const u8, ty.size()) };
        assert!(bytes.iter().all(|&b| b == CLOBBER), "{} bytes", ty.size());
        assert_eq!(CLOBBER, 0xDB);
        // A new object in the same place is zero where it has pointers.
        let again = new(&mutator, ty);
        if ty.size() != 999 && ty.size() != 100_000 {
            assert!((0..ty.size() / WORD).all(|w| get(again, w) == 0));
        }
    }
}

/// Stores and words that verify mode does not let pass: what each program does with two nodes, of which a root keeps the first, and what
/// is said of it. The second is found dead by a collection where it is `stale`.
#[test]
fn wrong_stores_and_words_are_named() {
    type Program = fn(&Mutator, &mut Slots<'_>, usize);
    let programs: [(&str, bool, Program, &[&str]); 5] = [
        // Eight bytes into the object is the start of none.
        (
            "no object",
            false,
            |m, roots, _| link(m, roots.get(0) + WORD, 0, 0),
            &["as its object, where none exists"],
        ),
        ("beyond", false, |m, roots, _| link(m, roots.get(0), 4, 0), &["which ends at"]),
        (
            "stale in an object",
            true,
            |m, roots, other| link(m, roots.get(0), 1, other),
            &["where the object was freed", "word 1 of the object at 0x"],
        ),
        (
            "stale in a root",
            true,
            |_, roots, other| roots.set(1, other),
            &["where the object was freed", "the root slot at 0x"],
        ),
        (
            "interior",
            false,
            |m, roots, other| link(m, roots.get(0), 0, other + WORD),
            &["which points into the object at 0x"],
        ),
    ];
    for (name, stale, program, said) in programs {
        let child = Child::new().called(name).run(|| {
            let heap = heap(VERIFY);
            let mutator = attach(&heap);
            let (node, mut roots) = (node_type(&heap), Slots::new(&heap, 2));
            roots.set(0, new(&mutator, node));
            let other = new(&mutator, node);
            if stale {
                mutator.collect().unwrap();
            }
            program(&mutator, &mut roots, other);
            mutator.collect().unwrap();
        });
        said.iter().fold(child, |child, text| child.corrupt(text));
    }
}

/// The store that a porter forgets: a new object in one that is old.
#[test]
fn a_pointer_from_old_to_young_that_went_around_the_barrier_is_named() {
    let child = Child::new().run(|| {
        let heap = heap(YOUNG);
        let mutator = attach(&heap);
        let node = node_type(&heap);
        let mut roots = Slots::new(&heap, 1);
        roots.set(0, new(&mutator, node));
        mutator.collect_young().unwrap();
        link(&mutator, roots.get(0), 0, new(&mutator, node));
        put(roots.get(0), 1, new(&mutator, node));
        mutator.collect_young().unwrap();
    });
    let child = child.corrupt("word 1 of the object at 0x").corrupt("(32 bytes) refers to 0x");
    let child =
        child.corrupt("which was not marked by a young collection: the write barrier saw no store there");
    child.says("without the write barrier");
}
