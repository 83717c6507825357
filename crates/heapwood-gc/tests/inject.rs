//! Tests of the tests: an error planted in the collector must be caught by the oracle, and by verify mode where that
//! can see it; with nothing planted both are content.

mod common;
#[path = "oracle/mod.rs"]
mod shadow;

use common::*;
use heapwood_gc::inject::Fault;
use shadow::program::play;
use shadow::settings::{ALL, Settings};
use shadow::world::World;

/// Plays until the oracle objects; returns how many of the runs in which the error struck it noticed.
fn oracle_catches(what: Option<(Fault, u64)>, steps: usize) -> (usize, usize) {
    let (mut struck, mut caught) = (0, 0);
    // With a limit one allocation may collect twice, and the second finds the damage of the first and aborts.
    let exact = ALL.iter().filter(|s| s.exact() && s.config.limit.is_none());
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
    let (struck, caught) = oracle_catches(Some((Fault::ShortProgram, 1)), 30_000);
    assert!(struck == 25 && caught >= 24, "{caught} of {struck}");
}

#[test]
fn pointer_bits_read_short_are_caught() {
    let (struck, caught) = oracle_catches(Some((Fault::ShortBits, 1)), 6_000);
    assert!(struck == 25 && caught >= 24, "{caught} of {struck}");
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
