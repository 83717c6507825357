//! The oracle catches errors planted in the collector, and with nothing planted it is content. The programs are replayed exactly, so one
//! that catches an error always does, until the oracle or the collector changes.

use crate::oracle::program::play;
use crate::oracle::replay::replayed;
use crate::oracle::settings::ALL;
use crate::oracle::world::World;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_gc::inject::Fault;
use heapwood_gc_testing::planted::{Planted, first_caught, plant};
use heapwood_gc_testing::settings::first_seed;
use heapwood_gc_testing::*;

/// The fewest steps of a program in a heap that is left to itself.
const LEAST_STEPS: usize = 60_000;

/// The programs that are played in turn until one notices an error, of so many steps at least: on heaps where collections are young
/// mostly, or full; where the programs use what is weak and finalisers mostly, or everything.
#[derive(Clone, Copy)]
struct Programs {
    young: bool,
    mostly_weak: bool,
    steps: usize,
}

const fn full(steps: usize) -> Programs {
    Programs { young: false, mostly_weak: false, steps }
}

const fn young(steps: usize) -> Programs {
    Programs { young: true, ..full(steps) }
}

/// Plays five seeds on each heap, as they are replayed, until the oracle objects.
fn caught(programs: Programs, what: Planted) -> Option<String> {
    let Programs { young, mostly_weak, steps } = programs;
    // With a limit one allocation may collect twice, and the second finds the damage of the first and aborts.
    let exact = ALL.iter().filter(|s| s.exact() && s.config.limit.is_none() && s.young == young);
    let played = exact.filter(|s| !s.config.verify && !s.config.stress && !s.mostly_weak).map(replayed);
    let all =
        played.enumerate().flat_map(|heap| (first_seed()..first_seed() + 5).map(move |seed| (heap, seed)));
    first_caught(all, |((i, mut settings), mut seed)| {
        let mut steps = steps;
        if mostly_weak {
            // Small graphs, which are looked at often; no two heaps play the same.
            (settings.objects, settings.collect_every, settings.mostly_weak) = (300, 50, true);
            seed += 1000 * i as u64;
        } else if young && settings.collect_every == usize::MAX {
            // Nurseries have at least 4 MiB: a short program has no young collection by itself.
            steps = steps.max(LEAST_STEPS);
        }
        let mut world = World::new(settings, seed);
        plant(&world.heap, what);
        let outcome = play(&mut world, seed, steps).map(|_| ());
        PLAYED.fetch_add(1, Ordering::Relaxed);
        (world.heap.faults().injected(), outcome)
    })
}

/// Counts programs, so that one that hangs is known.
static PLAYED: AtomicUsize = AtomicUsize::new(0);

#[test]
fn with_nothing_planted_nothing_is_caught() {
    for programs in [full(3_000), young(3_000)] {
        assert_eq!(caught(programs, None), None);
        assert_eq!(caught(Programs { mostly_weak: true, ..programs }, None), None);
    }
}

macro_rules! planted {
    ($($name:ident = $programs:expr, $fault:ident, $every:literal;)*) => { $(
        #[test]
        fn $name() {
            assert!(caught($programs, Some((Fault::$fault, $every))).is_some());
        }
    )* };
}

/// The errors that full collections may make, and how often each strikes.
mod full_collections {
    use super::*;

    planted! {
        lost_edges_are_caught = full(3_000), LoseMark, 40;
        missed_roots_are_caught = full(3_000), MissRoot, 7;
        wrongly_freed_objects_are_caught = full(3_000), WrongFree, 100;
        // Few objects have programs, and only where the last pointer of one is the only way to an object is it missed.
        programs_scanned_short_are_caught = full(90_000), ShortProgram, 1;
        pointer_bits_read_short_are_caught = full(6_000), ShortBits, 1;
        bits_of_arenas_read_short_are_caught = full(6_000), ArenaBitsShort, 1;
        late_ephemerons_are_caught = full(6_000), EphemeronLate, 5;
        values_of_dead_keys_are_caught = full(6_000), EphemeronKeyTaken, 1;
    }
}

/// What finalisers and what is weak do wrong, in one graph: early, late, twice, or in the wrong order.
mod finalisers_and_weak_things {
    use super::*;

    const WEAK: Programs = Programs { mostly_weak: true, ..full(6_000) };
    const YOUNG_WEAK: Programs = Programs { mostly_weak: true, ..young(6_000) };

    planted! {
        early_finalisers_are_caught = WEAK, FinalizerEarly, 10;
        early_finalisers_of_young_objects_are_caught = YOUNG_WEAK, FinalizedByMark, 1;
        late_finalisers_are_caught = WEAK, FinalizerMissed, 3;
        finalisers_that_come_twice_are_caught = WEAK, FinalizedTwice, 1;
        finalisers_in_the_wrong_order_are_caught = WEAK, FinalizerUnordered, 1;
        what_is_not_revived_is_caught = WEAK, RevivedUnmarked, 1;
        queues_that_keep_nothing_are_caught = WEAK, QueueNoRoot, 1;
        data_of_what_comes_back_is_caught = WEAK, RevivedDataQueued, 1;
        links_that_are_cleared_early_are_caught = WEAK, LinkEarly, 5;
        links_that_are_cleared_late_are_caught = YOUNG_WEAK, LinkLate, 2;
        long_links_that_are_cleared_with_short_ones_are_caught = WEAK, LongLinkEarly, 1;
        weak_keys_that_are_cleared_after_they_came_back_are_caught = WEAK, RevivedKeyKept, 1;
        ephemerons_that_are_cleared_early_are_caught = WEAK, EphemeronEarly, 1;
        values_that_are_lost_though_their_keys_are_found_are_caught = WEAK, EphemeronForgotten, 1;
        ephemerons_that_a_marker_has_listed_and_lost_are_caught = WEAK, UndecidedLost, 1;
    }
}

/// The errors that young collections may make.
mod young_collections {
    use super::*;

    planted! {
        stores_that_are_not_remembered_are_caught = young(3_000), StoreNotRecorded, 20;
        arrays_filled_without_being_remembered_are_caught = young(10_000), InitNotRecorded, 10;
        lost_chunks_of_the_remembered_set_are_caught = young(5_000), RecordLost, 2;
        forgotten_marks_of_young_large_objects_are_caught = young(5_000), YoungLargeForgotten, 2;
        handles_that_are_not_noted_are_caught = young(30_000), HandleNotNoted, 1;
        new_parts_of_arenas_that_are_not_looked_at_are_caught = young(6_000), ArenaWindowLost, 1;
        stores_into_arenas_that_are_not_remembered_are_caught = young(10_000), ArenaStoreNotRecorded, 1;
        ephemerons_that_are_cleared_late_are_caught = young(20_000), EphemeronLate, 5;
    }
}

/// Plays in a process of its own, which may also end by what the collector notices of its own tables.
fn caught_or_ends(programs: Programs, fault: Fault, ends: &str) {
    let child = Child::new()
        .called(fault)
        .run(|| watched(&PLAYED, || assert!(caught(programs, Some((fault, 1))).is_some())));
    if !child.err.contains(ends) {
        child.well();
    }
}

/// A mark inside an arena becomes an allocation bit that is not at a cell's start. A debug build may come to the bit before the oracle
/// looks, if the allocation that has collected refills from its span.
#[test]
fn marks_inside_arenas_that_are_not_noted_are_caught() {
    caught_or_ends(full(6_000), Fault::ArenaInsideNotNoted, "run.len().is_multiple_of(class.cell_size())");
}

/// A piece of an arena is found in most runs by something else, too. The collector may also follow what was cut for good.
#[test]
fn pieces_that_do_not_lead_to_each_other_are_caught() {
    caught_or_ends(full(6_000), Fault::RingCut, "no thread has gone on for a minute");
}

/// Whether what only an object refers to that was made in the cell of a freed one outlives a young collection.
fn reused_cell_holds_what_it_refers_to(what: Planted) -> bool {
    let heap = heap(YOUNG);
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 1);
    let freed = new(&mutator, node);
    roots.set(0, freed);
    mutator.collect().unwrap();
    roots.set(0, 0);
    plant(&heap, what);
    let young = new(&mutator, node);
    free(&mutator, freed);
    assert!((0..10_000).any(|_| new(&mutator, node) == freed));
    put(freed, 0, young);
    roots.set(0, freed);
    mutator.collect_young().unwrap();
    assert_eq!(heap.inspect().stats().young_collections, 1);
    assert_eq!(heap.faults().injected() > 0, what.is_some());
    heap.objects().find(young).is_some()
}

/// The oracle comes to this seldom (18 of 20 runs of 50,000 steps).
#[test]
fn objects_in_the_place_of_freed_ones_that_are_not_remembered_are_caught() {
    assert!(reused_cell_holds_what_it_refers_to(None));
    assert!(!reused_cell_holds_what_it_refers_to(Some((Fault::ReusedNotRecorded, 1))));
}

/// Whether what only a library's data refer to outlives a collection, if that was opened after one.
fn library_holds_what_it_keeps(what: Planted, file: &library::File) -> bool {
    let heap = heap(PRECISE.library_roots(true));
    let mutator = attach(&heap);
    mutator.collect().unwrap();
    plant(&heap, what);
    let library = file.open();
    let object = new(&mutator, node_type(&heap));
    library.keep(0, object);
    mutator.collect().unwrap();
    assert_eq!(heap.faults().injected() > 0, what.is_some());
    heap.objects().find(object).is_some()
}

#[test]
fn libraries_that_are_not_looked_at_are_caught() {
    in_child(|| {
        let Some(file) = library::File::new() else { return };
        assert!(library_holds_what_it_keeps(None, &file));
        assert!(!library_holds_what_it_keeps(Some((Fault::LibrariesNotUpdated, 1)), &file));
    });
}
