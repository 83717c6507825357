//! The write barrier's half of a marking that goes on while the program runs, in steps that a test drives: what the oracle's programs
//! (`oracle/steps.rs`) do not come to.

mod shaded;

use heapwood_gc::settings::options::Generational;
use heapwood_gc::{Heap, HeapBox};
use heapwood_gc_testing::*;
use heapwood_os_testing::faulty::Faulty;

const ALWAYS: Generational = Generational::Always;
const OFF: Generational = Generational::Off;

/// A heap whose full collections come when they are asked for.
fn quiet(generational: Generational) -> HeapBox {
    heap(PRECISE.min_heap(256 << 20).background_release(false).generational(generational))
}

#[test]
fn a_full_collection_ends_a_marking_first_and_a_young_one_does_not() {
    let heap = quiet(ALWAYS);
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 1);
    let kept = new(&mutator, node);
    roots.set(0, kept);
    assert!(
        !mutator.incremental_marking().finish().unwrap() && !mutator.incremental_marking().step(1).unwrap()
    );
    assert!(mutator.incremental_marking().begin().unwrap());
    assert!(!mutator.incremental_marking().begin().unwrap(), "one is under way");
    let before = heap.inspect().stats().collections;
    mutator.collect_young().unwrap();
    assert_eq!(heap.inspect().stats().collections, before + 1);
    roots.set(0, 0);
    mutator.collect().unwrap();
    assert_eq!(heap.inspect().stats().collections, before + 3, "the marking's end, and a collection");
    assert!(mutator.find(kept).is_none(), "the marking has kept it, and the collection not");
    assert!(!mutator.incremental_marking().finish().unwrap());
    // A thread that has gone leaves nothing behind, and one that comes takes part.
    roots.set(0, new(&mutator, node));
    link(&mutator, roots.get(0), 0, new(&mutator, node));
    assert!(mutator.incremental_marking().begin().unwrap());
    let (from, to) = (roots.get(0), get(roots.get(0), 0));
    let thread = |f: &(dyn Fn(&heapwood_gc::Mutator) + Sync)| {
        mutator.blocking(|| std::thread::scope(|s| s.spawn(|| f(&attach(&heap))).join().unwrap())).unwrap();
    };
    thread(&|other| link(other, from, 0, 0));
    roots.set(0, to);
    assert!(mutator.incremental_marking().finish().unwrap());
    assert!(mutator.find(to).is_some() && mutator.find(from).is_some());
    mutator.collect().unwrap();
    assert!(mutator.find(to).is_some() && mutator.find(from).is_none());
}

/// What it needs is mapped before its first pause, and is there for the next one: no pause maps or unmaps.
#[test]
fn markings_after_the_first_ask_the_kernel_for_nothing() {
    let kernel: &'static Faulty = Box::leak(Box::default());
    let config = PRECISE.min_heap(256 << 20).background_release(false).generational(ALWAYS);
    let heap = Heap::create(kernel, config).unwrap();
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 1);
    roots.set(0, new(&mutator, node));
    let mark = || {
        assert!(mutator.incremental_marking().begin().unwrap());
        while mutator.incremental_marking().step(8).unwrap() {}
        assert!(mutator.incremental_marking().finish().unwrap());
    };
    let before = kernel.requests();
    mark();
    let first = kernel.requests();
    (0..8).for_each(|_| mark());
    assert!(first > before, "the first marking needs memory");
    assert_eq!(kernel.requests() - first, 0, "requests of eight more");
}
