//! The threads oracle catches errors planted in the collector. What is lost is soon another thread's, and what happens then is
//! anybody's guess: so each is played in a process of its own, which must not end well.

use crate::threads_oracle::settings::{ALL, Settings};
use crate::threads_oracle::world::World;
use heapwood_gc::inject::Fault;
use heapwood_gc_testing::Child;
use heapwood_gc_testing::planted::{Planted, plant};

/// How often an error is played before it counts as missed: what threads do in one play may never need what was lost (one in
/// six does not, of arenas that lose the rest of their ring).
const PLAYS: u64 = 12;

/// Two heaps with a few threads each.
const FULL: [&Settings; 2] = [&ALL[2], &ALL[4]];
const YOUNG: [&Settings; 2] = [&ALL[12], &ALL[13]];

/// Plays on two heaps, with an error planted once all that their threads share is made.
fn play(heaps: [&Settings; 2], what: Planted, seed: u64) {
    for settings in heaps {
        let world = World::new(*settings, seed);
        plant(&world.heap, what);
        let played = world.play(seed, 50_000);
        assert!(
            what.is_none() || world.heap.faults().injected() > 0 || played.is_err(),
            "nothing was planted"
        );
        played.unwrap_or_else(|what| panic!("the oracle says: {what}"));
    }
}

#[test]
fn with_nothing_planted_nothing_is_caught() {
    play(FULL, None, 1);
}

/// The line of whoever has noticed it: the oracle, the library, or a check that debug builds have in the tables below.
fn tells(line: &str) -> bool {
    line.contains("the oracle says: ")
        || line.starts_with("heapwood: ")
        || line.contains(" panicked at crates/heapwood-heap/src/")
}

macro_rules! planted {
    ($($name:ident = $heaps:ident, $fault:ident, $every:literal;)*) => { $(
        #[test]
        fn $name() {
            let child =
                Child::new().run(|| (1..=PLAYS).for_each(|seed| play($heaps, Some((Fault::$fault, $every)), seed)));
            assert!(!child.status.success(), "it was not caught");
            println!("{}", child.err.lines().find(|l| tells(l)).unwrap_or_else(|| panic!("{child}")));
        }
    )* };
}

planted! {
    early_finalisers_are_caught = YOUNG, FinalizedByMark, 1;
    finalisers_that_come_twice_are_caught = FULL, FinalizedTwice, 5;
    late_finalisers_are_caught = FULL, FinalizerMissed, 5;
    what_is_not_revived_is_caught = FULL, RevivedUnmarked, 3;
    queues_that_keep_nothing_are_caught = FULL, QueueNoRoot, 1;
    early_finalisers_of_full_collections_are_caught = FULL, FinalizerEarly, 5;
    links_that_are_cleared_early_are_caught = FULL, LinkEarly, 10;
    links_that_are_cleared_late_are_caught = FULL, LinkLate, 1;
    ephemerons_that_are_cleared_late_are_caught = FULL, EphemeronLate, 1;
    values_of_dead_keys_are_caught = FULL, EphemeronKeyTaken, 1;
    early_data_is_caught = FULL, RevivedDataQueued, 1;
    lost_edges_are_caught = FULL, LoseMark, 100;
    missed_roots_are_caught = FULL, MissRoot, 50;
    root_functions_that_are_skipped_are_caught = FULL, RootFunctionSkipped, 1;
    stacks_that_are_not_looked_at_are_caught = YOUNG, PlainUnscanned, 1;
    wrongly_freed_objects_are_caught = FULL, WrongFree, 2_000;
    stores_that_are_not_remembered_are_caught = YOUNG, StoreNotRecorded, 20;
    lost_chunks_of_the_remembered_set_are_caught = YOUNG, RecordLost, 5;
    arrays_filled_without_being_remembered_are_caught = YOUNG, InitNotRecorded, 2;
    forgotten_marks_of_young_large_objects_are_caught = YOUNG, YoungLargeForgotten, 2;
    objects_in_the_place_of_freed_ones_that_are_not_remembered_are_caught = YOUNG, ReusedNotRecorded, 2;
    handles_that_are_not_noted_are_caught = YOUNG, HandleNotNoted, 1;
    pieces_of_arenas_that_do_not_lead_to_each_other_are_caught = FULL, RingCut, 1;
    bits_of_arenas_read_short_are_caught = FULL, ArenaBitsShort, 1;
    new_parts_of_arenas_that_are_not_looked_at_are_caught = YOUNG, ArenaWindowLost, 1;
    stores_into_arenas_that_are_not_remembered_are_caught = YOUNG, ArenaStoreNotRecorded, 1;
}
