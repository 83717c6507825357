//! Tests of the tests: an error planted in the collector must be caught by the oracle, and by verify mode where that
//! can see it; with nothing planted both are content.

#![cfg(heapwood_inject)]

mod common;
#[path = "common/library.rs"]
mod library;
#[path = "oracle/mod.rs"]
mod shadow;

use common::*;
use core::ptr::NonNull;
use heapwood_gc::inject::Fault;
use heapwood_gc::settings::options::Generational;
use heapwood_heap::Address;
use shadow::program::play;
use shadow::settings::{ALL, Settings};
use shadow::world::World;

/// Plays until the oracle objects; returns how many of the runs in which the error struck it noticed.
fn oracle_catches(what: Option<(Fault, u64)>, steps: usize) -> (usize, usize) {
    oracle_catches_in(false, what, steps)
}

/// The same where collections are young mostly.
fn young_oracle_catches(what: Option<(Fault, u64)>, steps: usize) -> (usize, usize) {
    oracle_catches_in(true, what, steps)
}

fn oracle_catches_in(young: bool, what: Option<(Fault, u64)>, steps: usize) -> (usize, usize) {
    let (mut struck, mut caught) = (0, 0);
    // With a limit one allocation may collect twice, and the second finds the damage of the first and aborts.
    let exact = ALL.iter().filter(|s| s.exact() && s.config.limit.is_none() && s.young == young);
    for settings in exact.filter(|s| !s.config.verify && !s.config.stress) {
        for seed in 1..=5 {
            // What the heap's own thread has swept when would change from run to run.
            let config = settings.config.background_release(false);
            let mut world = World::new(Settings { config, ..*settings }, seed);
            if let Some((what, every)) = what {
                world.heap.faults().inject(what, every);
            }
            let outcome = play(&mut world, seed, steps);
            struck += (world.heap.faults().injected() > 0) as usize;
            caught += outcome.is_err() as usize;
        }
    }
    (struck, caught)
}

#[test]
fn nothing_planted_nothing_caught() {
    assert_eq!(oracle_catches(None, 3_000), (0, 0));
}

#[test]
fn lost_edges_are_caught() {
    // Many edges lead to objects that others lead to as well, so not each loss loses an object.
    let (struck, caught) = oracle_catches(Some((Fault::LoseMark, 40)), 3_000);
    assert_eq!(struck, 25);
    assert!(caught >= 18, "{caught} of {struck}");
}

#[test]
fn missed_roots_are_caught() {
    let (struck, caught) = oracle_catches(Some((Fault::MissRoot, 7)), 3_000);
    assert_eq!(struck, 25);
    assert!(caught >= 18, "{caught} of {struck}");
}

#[test]
fn wrongly_freed_objects_are_caught() {
    let (struck, caught) = oracle_catches(Some((Fault::WrongFree, 100)), 3_000);
    assert!(struck >= 14);
    assert_eq!(caught, struck, "each is an object that lives and cannot be found");
}

#[test]
fn programs_scanned_short_are_caught() {
    // Few objects have programs, and only where the last pointer of one is the only way to an object is it missed.
    let (struck, caught) = oracle_catches(Some((Fault::ShortProgram, 1)), 90_000);
    assert!(struck == 25 && caught >= 24, "{caught} of {struck}");
}

#[test]
fn pointer_bits_read_short_are_caught() {
    let (struck, caught) = oracle_catches(Some((Fault::ShortBits, 1)), 6_000);
    assert!(struck == 25 && caught >= 24, "{caught} of {struck}");
}

#[test]
fn nothing_planted_nothing_caught_in_young_collections() {
    assert_eq!(young_oracle_catches(None, 3_000), (0, 0));
}

/// What is lost is seen in most runs: sometimes something else leads there, or a full or a late collection comes first.
fn is_caught_in_young_collections(fault: Fault, every: u64, steps: usize) {
    let (struck, caught) = young_oracle_catches(Some((fault, every)), steps);
    println!("{fault:?}: {caught} of {struck}");
    assert!(struck >= 15 && caught >= struck * 3 / 4, "{fault:?}: {caught} of {struck}");
}

#[test]
fn stores_that_are_not_remembered_are_caught() {
    is_caught_in_young_collections(Fault::StoreNotRecorded, 20, 3_000);
}

#[test]
fn arrays_filled_without_being_remembered_are_caught() {
    is_caught_in_young_collections(Fault::InitNotRecorded, 10, 10_000);
}

#[test]
fn lost_chunks_of_the_remembered_set_are_caught() {
    is_caught_in_young_collections(Fault::RecordLost, 2, 5_000);
}

#[test]
fn forgotten_marks_of_young_large_objects_are_caught() {
    is_caught_in_young_collections(Fault::YoungLargeForgotten, 2, 5_000);
}

/// Whether what only an object refers to that was made in the cell of a freed one outlives a young collection.
fn reused_cell_holds_what_it_refers_to(what: Option<Fault>) -> bool {
    let heap = heap(PRECISE.generational(Generational::Always));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 1);
    let freed = new(&mutator, node);
    roots.set(0, freed);
    mutator.collect().unwrap();
    roots.set(0, 0);
    if let Some(what) = what {
        heap.faults().inject(what, 1);
    }
    let young = new(&mutator, node);
    // SAFETY: nothing refers to it any more.
    unsafe { mutator.free(NonNull::new(freed as *mut u8).unwrap()) }.unwrap();
    assert!((0..10_000).any(|_| new(&mutator, node) == freed));
    put(freed, 0, young);
    roots.set(0, freed);
    mutator.collect_young().unwrap();
    assert_eq!(heap.stats().young_collections, 1);
    assert_eq!(heap.faults().injected() > 0, what.is_some());
    heap.find(young).is_some()
}

/// The oracle comes to this seldom (18 of 20 runs of 50,000 steps).
#[test]
fn objects_in_the_place_of_freed_ones_that_are_not_remembered_are_caught() {
    assert!(reused_cell_holds_what_it_refers_to(None));
    assert!(!reused_cell_holds_what_it_refers_to(Some(Fault::ReusedNotRecorded)));
}

#[test]
fn handles_that_are_not_noted_are_caught() {
    is_caught_in_young_collections(Fault::HandleNotNoted, 1, 30_000);
}

/// A piece of an arena is found in most runs by something else, too; it takes many programs to lose one.
#[test]
fn pieces_that_do_not_lead_to_each_other_are_caught() {
    let (struck, caught) = oracle_catches(Some((Fault::RingCut, 1)), 6_000);
    println!("{caught} of {struck}");
    assert!(struck == 25 && caught >= 10, "{caught} of {struck}");
}

#[test]
fn bits_of_arenas_read_short_are_caught() {
    let (struck, caught) = oracle_catches(Some((Fault::ArenaBitsShort, 1)), 6_000);
    println!("{caught} of {struck}");
    assert!(struck == 25 && caught >= 18, "{caught} of {struck}");
}

#[test]
fn marks_inside_arenas_that_are_not_noted_are_caught() {
    let (struck, caught) = oracle_catches(Some((Fault::ArenaInsideNotNoted, 1)), 6_000);
    println!("{caught} of {struck}");
    assert!(struck == 25 && caught >= 18, "{caught} of {struck}");
}

#[test]
fn windows_of_arenas_that_are_not_looked_at_are_caught() {
    is_caught_in_young_collections(Fault::ArenaWindowLost, 1, 6_000);
}

#[test]
fn stores_into_arenas_that_are_not_remembered_are_caught() {
    is_caught_in_young_collections(Fault::ArenaStoreNotRecorded, 1, 10_000);
}

/// Whether what only a library's data refer to outlives a collection, if that was opened after one.
fn library_holds_what_it_keeps(what: Option<Fault>, file: &library::File) -> bool {
    let heap = heap(PRECISE.library_roots(true));
    let mutator = attach(&heap);
    mutator.collect().unwrap();
    if let Some(what) = what {
        heap.faults().inject(what, 1);
    }
    let library = file.open();
    let object = new(&mutator, node_type(&heap));
    library.keep(0, object);
    mutator.collect().unwrap();
    assert_eq!(heap.faults().injected() > 0, what.is_some());
    heap.find(object).is_some()
}

#[test]
fn libraries_that_are_not_looked_at_are_caught() {
    let Some(file) = library::File::new() else { return };
    assert!(library_holds_what_it_keeps(None, &file));
    assert!(!library_holds_what_it_keeps(Some(Fault::LibrariesNotUpdated), &file));
}

/// An old object that refers to a new one, under verify mode with an error planted, and a young collection.
fn verified_young_collection(what: Option<(Fault, u64)>) {
    let heap = heap(PRECISE.verify(true).generational(Generational::Always));
    let mutator = attach(&heap);
    let (node, large) = (node_type(&heap), masked(&heap, 10_000, &[0]));
    let mut roots = Slots::new(&heap, 2);
    roots.set(0, new(&mutator, node));
    let held = handle(&heap, 0).unwrap();
    mutator.collect().unwrap();
    if let Some((what, every)) = what {
        heap.faults().inject(what, every);
    }
    link(&mutator, roots.get(0), 1, new(&mutator, node));
    // SAFETY: the handle is held, and the object was made just now.
    unsafe { heap.set_handle(held, Address::new(new(&mutator, node))) };
    roots.set(1, new(&mutator, large));
    mutator.collect_young().unwrap();
    assert_eq!((heap.stats().young_collections, heap.stats().live_objects), (1, 4));
    assert!(heap.free_handle(held));
}

#[test]
fn verify_mode_is_content_with_a_young_collection() {
    verified_young_collection(None);
}

#[test]
fn verify_mode_catches_a_store_that_is_not_remembered() {
    let said = run_alone("child_does_not_remember_a_store");
    assert_corrupt(&said, "word 1 of the object at 0x");
    assert_corrupt(&said, "the write barrier saw a store there, which was not remembered");
    assert_corrupt(&run_alone("child_loses_a_chunk"), "which was not marked by a young collection");
}

#[test]
fn verify_mode_catches_a_handle_that_is_not_noted() {
    assert_corrupt(&run_alone("child_does_not_note_a_handle"), "the handle at 0x");
}

#[test]
fn verify_mode_catches_a_forgotten_large_object() {
    assert_corrupt(&run_alone("child_forgets_a_large_object"), "the root slot at 0x");
}

#[test]
#[ignore = "aborts: run in a process of its own by the tests above"]
fn child_does_not_remember_a_store() {
    if alone() {
        verified_young_collection(Some((Fault::StoreNotRecorded, 1)));
    }
}

#[test]
#[ignore = "aborts: run in a process of its own by the tests above"]
fn child_loses_a_chunk() {
    if alone() {
        verified_young_collection(Some((Fault::RecordLost, 1)));
    }
}

#[test]
#[ignore = "aborts: run in a process of its own by the tests above"]
fn child_does_not_note_a_handle() {
    if alone() {
        verified_young_collection(Some((Fault::HandleNotNoted, 1)));
    }
}

#[test]
#[ignore = "aborts: run in a process of its own by the tests above"]
fn child_forgets_a_large_object() {
    if alone() {
        verified_young_collection(Some((Fault::YoungLargeForgotten, 1)));
    }
}

/// A list and a handle under verify mode, with an error planted, and one collection.
fn verified_collection(what: Option<(Fault, u64)>) {
    let heap = heap(PRECISE.verify(true));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 3);
    let mut head = 0;
    extend_list(&mutator, node, 1000, 0, |h| {
        head = h.unwrap_or(head);
        roots.set(1, head);
        head
    });
    let handle = handle(&heap, new(&mutator, node)).unwrap();
    if let Some((what, every)) = what {
        heap.faults().inject(what, every);
    }
    mutator.collect().unwrap();
    check_list(roots.get(1), 1000, 0);
    assert!(heap.free_handle(handle));
}

#[test]
fn verify_mode_is_content_with_nothing_planted() {
    verified_collection(None);
}

#[test]
fn verify_mode_catches_lost_edges() {
    assert_corrupt(&run_alone("child_loses_an_edge"), "which was not marked");
}

#[test]
fn verify_mode_catches_a_missed_root() {
    assert_corrupt(&run_alone("child_misses_a_root"), "the root slot at 0x");
}

#[test]
fn verify_mode_catches_a_missed_handle() {
    assert_corrupt(&run_alone("child_misses_a_handle"), "the handle at 0x");
}

#[test]
fn verify_mode_catches_a_wrongly_freed_object() {
    assert_corrupt(&run_alone("child_frees_a_survivor"), "which was not marked");
}

#[test]
#[ignore = "aborts: run in a process of its own by the tests above"]
fn child_loses_an_edge() {
    if alone() {
        verified_collection(Some((Fault::LoseMark, 500)));
    }
}

#[test]
#[ignore = "aborts: run in a process of its own by the tests above"]
fn child_misses_a_root() {
    if alone() {
        verified_collection(Some((Fault::MissRoot, 1)));
    }
}

#[test]
#[ignore = "aborts: run in a process of its own by the tests above"]
fn child_misses_a_handle() {
    if alone() {
        verified_collection(Some((Fault::MissRoot, 2)));
    }
}

#[test]
#[ignore = "aborts: run in a process of its own by the tests above"]
fn child_frees_a_survivor() {
    if alone() {
        verified_collection(Some((Fault::WrongFree, 321)));
    }
}
