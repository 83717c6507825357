//! Verify mode catches a planted error in one collection of a small heap: it names the place, and ends the process.

use heapwood_gc::inject::Fault;
use heapwood_gc_testing::planted::{Planted, plant};
use heapwood_gc_testing::*;
use heapwood_heap::Address;

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
    verify_mode_catches_a_handle_that_is_not_noted: verified_young_collection, HandleNotNoted, 1, "the handle at 0x";
    verify_mode_catches_a_noted_frame_that_is_skipped: verified_young_collection, NotedFrameSkipped, 1, "the frame slot at 0x";
    verify_mode_catches_a_forgotten_large_object: verified_young_collection, YoungLargeForgotten, 1, "the root slot at 0x";
    verify_mode_catches_lost_edges: verified_collection, LoseMark, 500, "which was not marked";
    verify_mode_catches_a_missed_root: verified_collection, MissRoot, 1, "the root slot at 0x";
    verify_mode_catches_a_missed_handle: verified_collection, MissRoot, 2, "the handle at 0x";
    verify_mode_catches_a_wrongly_freed_object: verified_collection, WrongFree, 321, "which was not marked";
}
