//! Errors in concurrent markings that need certain events in a certain order, each of which lost objects once. The events are
//! played step by step, with the error planted, and without.

use heapwood_gc::inject::Fault;
use heapwood_gc::settings::options::{Concurrent, Generational};
use heapwood_gc_testing::planted::{Planted, plant};
use heapwood_gc_testing::*;
use heapwood_heap::{Address, ArenaKind};

/// A young collection marks the inside of an arena for a concurrent marking, which has not been in that arena.
fn arena_of_which_a_young_collection_marks_a_value(what: Planted) -> Result<(), &'static str> {
    let heap = heap(YOUNG.min_heap(256 << 20).background_release(false));
    let mutator = attach(&heap);
    let (node, pair) = (node_type(&heap), Values::new(8, 2, [0b11, 0, 0, 0]));
    let mut roots = Slots::new(&heap, 2);
    let (holder, kept) = (new(&mutator, node), new(&mutator, node));
    roots.set(0, holder);
    let arena = Arena::open(&mutator, ArenaKind::Escaping);
    let first = arena.value(&mutator, pair, &[kept, 0]);
    let second = arena.value(&mutator, pair, &[0, first]);
    link(&mutator, holder, 0, second);
    arena.leave(&mutator);
    mutator.collect().unwrap();
    // One in a stop has marked the value, too; a concurrent one marks the piece alone.
    assert!(
        mutator.incremental_marking().begin().unwrap() && mutator.incremental_marking().finish().unwrap()
    );
    plant(&heap, what);
    assert!(mutator.incremental_marking().begin().unwrap());
    roots.set(1, second);
    mutator.collect_young().unwrap();
    roots.set(1, 0);
    assert!(mutator.incremental_marking().finish().unwrap());
    heap.memory().finish_sweep();
    assert_eq!(what.is_some(), heap.faults().injected() > 0);
    match heap.space().arenas().find(Address::new(second)).is_some_and(|place| place.is_there) {
        true if lives(&heap, kept) => Ok(()),
        true => Err("the object is lost that only the arena refers to"),
        false => Err("the arena is lost"),
    }
}

/// The side that is to take the marks has old ones of all that survived the last collection but one. What came since is known
/// only to those.
fn start_after_two_collections(generational: Generational, what: Planted) -> Result<(), &'static str> {
    let config = PRECISE.min_heap(256 << 20).background_release(false);
    let heap = heap(config.generational(generational));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 1);
    roots.extend_list(0, &mutator, node, 1000, 0);
    mutator.collect().unwrap();
    let leaf = new(&mutator, node);
    link(&mutator, roots.get(0), 1, leaf);
    mutator.collect().unwrap();
    plant(&heap, what);
    assert!(mutator.incremental_marking().begin().unwrap());
    assert!(mutator.incremental_marking().finish().unwrap());
    heap.memory().finish_sweep();
    assert_eq!(what.is_some(), heap.faults().injected() > 0);
    if lives(&heap, leaf) { Ok(()) } else { Err("the new object is lost") }
}

/// The only path to an object leads through one that is freed when the log has no room, and the marking has not been there.
fn free_without_a_place_in_the_log(generational: Generational, what: Planted) -> Result<(), &'static str> {
    let config = PRECISE.min_heap(256 << 20).background_release(false);
    let heap = heap(config.generational(generational).mark_stack(64));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 2);
    // Of its own kind: where the log has no room, all objects of a span are marked.
    let leaf = new(&mutator, masked(&heap, 20, &[0]));
    let (holder, path) = (new(&mutator, node), new(&mutator, node));
    roots.set(0, holder);
    link(&mutator, holder, 0, path);
    link(&mutator, path, 0, leaf);
    plant(&heap, what);
    assert!(mutator.incremental_marking().begin().unwrap());
    roots.set(1, leaf);
    link(&mutator, holder, 0, 0);
    free(&mutator, path);
    assert!(mutator.incremental_marking().finish().unwrap());
    heap.memory().finish_sweep();
    assert_eq!(what.is_some(), heap.faults().injected() > 0);
    if lives(&heap, leaf) { Ok(()) } else { Err("what the freed object led to is lost") }
}

/// Lists that several markers mark beside a program whose young collections stop them.
fn lists_that_several_markers_mark(what: Planted) -> Result<(), &'static str> {
    const LISTS: usize = 8;
    let heap = heap(YOUNG.min_heap(256 << 20).concurrent(Concurrent::Always).mark_threads(16));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, LISTS);
    (0..LISTS).for_each(|list| roots.extend_list(list, &mutator, node, 20_000, 0));
    let all: Vec<usize> = (0..LISTS)
        .flat_map(|list| {
            core::iter::successors(Some(roots.get(list)), |&at| Some(get(at, 0)).filter(|&at| at != 0))
        })
        .collect();
    plant(&heap, what);
    for _ in 0..if what.is_some() { 1000 } else { 20 } {
        let until = heap.inspect().stats().concurrent_markings + 1;
        while heap.inspect().stats().concurrent_markings < until {
            mutator.incremental_marking().ask_marker();
            mutator.collect_young().unwrap();
            mutator.blocking(std::thread::yield_now).unwrap();
        }
        heap.memory().finish_sweep();
        if !all.iter().all(|&node| lives(&heap, node)) {
            return Err("what a helper has left is lost");
        }
    }
    Ok(())
}

#[test]
fn what_helpers_leave_and_nobody_takes_over_is_caught() {
    assert_eq!(lists_that_several_markers_mark(None), Ok(()));
    assert!(lists_that_several_markers_mark(Some((Fault::LeftWithHelpers, 1))).is_err());
}

#[test]
fn with_nothing_planted_nothing_is_caught() {
    assert_eq!(arena_of_which_a_young_collection_marks_a_value(None), Ok(()));
    for generational in [Generational::Always, Generational::Off] {
        assert_eq!(start_after_two_collections(generational, None), Ok(()));
        assert_eq!(free_without_a_place_in_the_log(generational, None), Ok(()));
    }
}

#[test]
fn the_mark_of_a_value_taken_for_that_of_its_arena_is_caught() {
    let lost = arena_of_which_a_young_collection_marks_a_value(Some((Fault::ArenaValueMarkTaken, 1)));
    assert_eq!(lost, Err("the arena is lost"));
}

/// A debug build notices at once that something is unswept; otherwise the object is lost.
#[test]
fn a_start_with_unswept_spans_is_caught() {
    for generational in [Generational::Always, Generational::Off] {
        let play = || {
            // Who panics in a pause would wait for its end.
            std::panic::set_hook(Box::new(|what| {
                eprintln!("{what}");
                std::process::abort();
            }));
            start_after_two_collections(generational, Some((Fault::StartedUnswept, 1))).unwrap();
        };
        let child = Child::new().called(generational).run(play);
        assert!(!child.status.success(), "{child}");
        let said = ["everything is swept before the next marking", "the new object is lost"];
        assert!(said.iter().any(|text| child.err.contains(text)), "{child}");
    }
}

#[test]
fn a_free_without_a_place_in_the_log_is_caught() {
    for generational in [Generational::Always, Generational::Off] {
        let lost = free_without_a_place_in_the_log(generational, Some((Fault::FreedUnlogged, 1)));
        assert_eq!(lost, Err("what the freed object led to is lost"));
    }
}
