//! Verify mode catches a planted error in one collection of a small heap: it names the place, and ends the process.

use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_gc::Tracer;
use heapwood_gc::inject::Fault;
use heapwood_gc::settings::options::Generational;
use heapwood_gc_testing::planted::{Planted, plant};
use heapwood_gc_testing::*;
use heapwood_heap::Address;
use heapwood_layout::{TraceContext, TypeDescriptor};

/// An old object that refers to a new one, under verify mode with an error planted, and a young collection.
fn verified_young_collection(what: Planted) {
    let heap = heap(YOUNG.verify(true));
    let mutator = attach(&heap);
    let (node, large) = (node_type(&heap), masked(&heap, 10_000, &[0]));
    let mut roots = Slots::new(&heap, 2);
    roots.set(0, new(&mutator, node));
    let held = handle(&heap, 0).unwrap();
    let mut frame = Framed::<1>::fixed(&mutator);
    let mut above = Framed::<1>::fixed(&mutator);
    mutator.collect().unwrap();
    plant(&heap, what);
    link(&mutator, roots.get(0), 1, new(&mutator, node));
    // SAFETY: the handle is held, and the object was made just now.
    unsafe { heap.roots().set_handle(held, Address::new(new(&mutator, node))) };
    roots.set(1, new(&mutator, large));
    // The topmost of the frames that the collection has noted has another object now.
    drop(above);
    frame.set(0, new(&mutator, node));
    above = Framed::fixed(&mutator);
    above.set(0, new(&mutator, node));
    mutator.collect_young().unwrap();
    assert_eq!((heap.inspect().stats().young_collections, heap.inspect().stats().live_objects), (1, 6));
    assert!(heap.roots().free_handle(held));
}

#[test]
fn verify_mode_is_content_with_a_young_collection() {
    verified_young_collection(None);
}

/// A list and a handle under verify mode, with an error planted, and one collection.
fn verified_collection(what: Planted) {
    let heap = heap(PRECISE.verify(true));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 3);
    roots.extend_list(1, &mutator, node, 1000, 0);
    let handle = handle(&heap, new(&mutator, node)).unwrap();
    plant(&heap, what);
    mutator.collect().unwrap();
    check_list(roots.get(1), 1000, 0);
    assert!(heap.roots().free_handle(handle));
}

#[test]
fn verify_mode_is_content_with_nothing_planted() {
    verified_collection(None);
}

/// A concurrent marking during which the only paths to objects move to where it has been, and a young collection comes, if there are any; in
/// the end one object of those that move has but a word that may be a pointer.
fn verified_concurrent_marking(generational: Generational, precise: bool, what: Planted) {
    let config = PRECISE.verify(true).min_heap(256 << 20).background_release(false);
    let heap = heap(config.generational(generational));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let stray = Box::new(AtomicUsize::new(0));
    let at = stray.as_ptr() as usize;
    // SAFETY: the word is in a box of its own until its root is removed.
    let token = unsafe { heap.roots().add_range(at, at + WORD) }.unwrap();
    let mut roots = Slots::new(&heap, 2);
    let (from, to, leaf) = (new(&mutator, node), new(&mutator, node), new(&mutator, node));
    roots.set(0, from);
    roots.set(1, to);
    link(&mutator, from, 0, leaf);
    plant(&heap, what);
    assert!(mutator.incremental_marking().begin().unwrap());
    // The last root first: `to` is scanned, and `from` is not.
    assert!(mutator.incremental_marking().step(1).unwrap());
    link(&mutator, from, 0, 0);
    match precise {
        true => link(&mutator, to, 0, leaf),
        false => stray.store(leaf, Ordering::Relaxed),
    }
    // Made during the marking, and reached through an old object.
    link(&mutator, to, 1, new(&mutator, node));
    if generational == Generational::Always {
        mutator.collect_young().unwrap();
    }
    assert!(mutator.incremental_marking().finish().unwrap());
    assert_eq!((heap.inspect().stats().live_objects, heap.inspect().stats().floating_objects), (4, 0));
    assert!(heap.roots().remove(token));
}

fn precise_paths_with_young_collections(what: Planted) {
    verified_concurrent_marking(Generational::Always, true, what);
}

fn precise_paths(what: Planted) {
    verified_concurrent_marking(Generational::Off, true, what);
}

fn a_path_from_a_stray_word(what: Planted) {
    verified_concurrent_marking(Generational::Off, false, what);
}

/// An object that a root refers to has a trace function, which reports the only pointer to another.
fn a_path_that_a_trace_function_reports(what: Planted) {
    unsafe extern "C" fn report(object: *mut u8, _: usize, context: *mut TraceContext) {
        // SAFETY: the context is passed on as it came; the object has that word.
        unsafe { Tracer::from_context(context).visit(object.cast::<usize>().read()) };
    }
    let heap = heap(FULL.verify(true).min_heap(256 << 20).background_release(false));
    let mutator = attach(&heap);
    let traced = heap.types().register(&TypeDescriptor::traced(32, report).unwrap()).unwrap();
    let mut roots = Slots::new(&heap, 1);
    roots.set(0, new(&mutator, traced));
    link(&mutator, roots.get(0), 0, new(&mutator, node_type(&heap)));
    plant(&heap, what);
    assert!(mutator.incremental_marking().begin().unwrap());
    assert!(mutator.incremental_marking().finish().unwrap());
    assert_eq!(heap.inspect().stats().live_objects, 2);
}

#[test]
fn verify_mode_is_content_with_a_concurrent_marking() {
    precise_paths_with_young_collections(None);
    precise_paths(None);
    a_path_from_a_stray_word(None);
    a_path_that_a_trace_function_reports(None);
}

macro_rules! planted {
    ($($name:ident: $collection:ident, $fault:ident, $every:literal, $($text:literal),+;)*) => { $(
        #[test]
        fn $name() {
            let ended = Child::new().run(|| $collection(Some((Fault::$fault, $every))));
            ended$(.corrupt($text))+;
        }
    )* };
}

planted! {
    verify_mode_catches_a_store_that_is_not_remembered: verified_young_collection, StoreNotRecorded, 1,
        "word 1 of the object at 0x", "the write barrier saw a store there, which was not remembered";
    verify_mode_catches_a_lost_chunk: verified_young_collection, RecordLost, 1, "which was not marked by a young collection";
    verify_mode_catches_lost_edges: verified_collection, LoseMark, 500, "which was not marked";
    verify_mode_catches_a_missed_root: verified_collection, MissRoot, 1, "the root slot at 0x";
    verify_mode_catches_a_wrongly_freed_object: verified_collection, WrongFree, 321, "which was not marked";
    the_second_marking_catches_a_store_that_shades_nothing: precise_paths, ShadeSkipped, 1,
        "word 0 of the object at 0x", "was not marked by the concurrent marking: a second marking";
    the_second_marking_catches_a_survivor_that_is_not_marked: precise_paths_with_young_collections, SurvivorUnmarked, 1,
        "word 1 of the object at 0x", "was not marked by the concurrent marking: a second marking";
    the_second_marking_catches_a_lost_edge_of_a_trace_function: a_path_that_a_trace_function_reports, LoseMark, 2,
        "the trace function of the object at 0x", "was not marked by the concurrent marking: a second marking";
    the_second_marking_catches_what_no_precise_path_leads_to_any_more: a_path_from_a_stray_word, ShadeSkipped, 1,
        "was not marked by the concurrent marking, though it could be reached when that began";
}

#[test]
fn verify_mode_tells_of_early_finalisers() {
    let child = Child::new().run(|| {
        let heap = heap(YOUNG.verify(true));
        let mutator = attach(&heap);
        let mut roots = Slots::new(&heap, 1);
        roots.set(0, new(&mutator, node_type(&heap)));
        let object = core::ptr::NonNull::new(roots.get(0) as *mut u8).unwrap();
        mutator.finalize_data(object, Default::default(), 1).unwrap();
        plant(&heap, Some((Fault::FinalizedByMark, 1)));
        mutator.collect_young().unwrap();
    });
    assert!(!child.status.success() && child.err.contains("was taken for dead"), "{child}");
}
