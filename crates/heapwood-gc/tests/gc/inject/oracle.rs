//! The oracle catches errors planted in the collector, and with nothing planted it is content. The programs are replayed exactly, so one
//! that catches an error always does, until the oracle or the collector changes. The threads oracle catches some, too.

use crate::oracle::program::play;
use crate::oracle::replay::replayed;
use crate::oracle::settings::{ALL, Settings};
use crate::oracle::world::World;
use crate::threads_oracle;
use heapwood_gc::inject::Fault;
use heapwood_gc_testing::planted::{Planted, first_caught, plant};
use heapwood_gc_testing::settings::first_seed;
use heapwood_gc_testing::*;
use std::os::unix::process::ExitStatusExt;

/// The heaps whose programs are played in turn until one notices an error.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Heaps {
    Full,
    Young,
    /// Where a marking goes on beside the program.
    InSteps,
}

/// With a limit one allocation may collect twice, and the second finds the damage of the first and aborts; and so does verify mode.
fn are_played(settings: &&Settings, heaps: Heaps, mostly_weak: bool) -> bool {
    let config = settings.config;
    let of = match settings.edges {
        0 if settings.young => Heaps::Young,
        0 => Heaps::Full,
        _ => Heaps::InSteps,
    };
    let can_tell = settings.exact() && config.limit.is_none() && !config.verify && !config.stress;
    can_tell && of == heaps && settings.mostly_weak == mostly_weak && settings.collect_every != usize::MAX
}

/// Plays seeds on each heap, as they are replayed, until the oracle objects.
fn caught(heaps: Heaps, mostly_weak: bool, steps: usize, what: Planted) -> Option<String> {
    let played = ALL.iter().filter(|settings| are_played(settings, heaps, mostly_weak)).map(replayed);
    let seeds = first_seed()..first_seed() + if mostly_weak { 15 } else { 5 };
    let all = played.flat_map(|settings| seeds.clone().map(move |seed| (settings, seed)));
    first_caught(all, |(settings, seed)| {
        let mut world = World::new(settings, seed);
        plant(&world.heap, what);
        let outcome = play(&mut world, seed, steps).map(|_| ());
        (world.heap.faults().injected(), outcome)
    })
}

/// Heaps, whether the programs use what is weak mostly, their steps, the error, and how often it strikes.
macro_rules! planted {
    ($($name:ident = $heaps:ident, $weak:literal, $steps:literal, $fault:ident, $every:literal;)*) => { $(
        #[test]
        fn $name() {
            assert!(caught(Heaps::$heaps, $weak, $steps, Some((Fault::$fault, $every))).is_some());
        }
    )* };
}

planted! {
    lost_edges_are_caught = Full, false, 3_000, LoseMark, 40;
    missed_roots_are_caught = Full, false, 3_000, MissRoot, 7;
    wrongly_freed_objects_are_caught = Full, false, 3_000, WrongFree, 100;
    stores_that_are_not_remembered_are_caught = Young, false, 3_000, StoreNotRecorded, 20;
    lost_chunks_of_the_remembered_set_are_caught = Young, false, 5_000, RecordLost, 2;
    new_parts_of_arenas_that_are_not_looked_at_are_caught = Young, false, 6_000, ArenaWindowLost, 1;
    stores_that_shade_nothing_are_caught = InSteps, false, 8_000, ShadeSkipped, 3;
    shaded_objects_that_no_pause_takes_are_caught = InSteps, false, 8_000, ShadedLost, 1;
    survivors_that_are_not_marked_are_caught = InSteps, false, 8_000, SurvivorUnmarked, 40;
    freeing_at_once_is_caught = InSteps, false, 20_000, FreedAtOnce, 3;
    arenas_closed_at_once_are_caught = InSteps, false, 20_000, ArenaClosedAtOnce, 1;
    weak_reads_that_are_not_shaded_are_caught = InSteps, true, 8_000, WeakReadUnshaded, 1;
    early_finalisers_are_caught = Young, true, 6_000, FinalizedByMark, 1;
    late_finalisers_are_caught = Full, true, 6_000, FinalizerMissed, 3;
    finalisers_that_come_twice_are_caught = Full, true, 6_000, FinalizedTwice, 1;
    finalisers_in_the_wrong_order_are_caught = Full, true, 6_000, FinalizerUnordered, 1;
    what_is_not_revived_is_caught = Full, true, 6_000, RevivedUnmarked, 1;
    queues_that_keep_nothing_are_caught = Full, true, 6_000, QueueNoRoot, 1;
    values_of_dead_keys_are_caught = Full, true, 6_000, EphemeronKeyTaken, 1;
    ephemerons_that_are_cleared_early_are_caught = Full, true, 6_000, EphemeronEarly, 1;
    ephemerons_that_are_cleared_late_are_caught = Full, true, 6_000, EphemeronLate, 5;
    links_that_are_cleared_early_are_caught = Full, true, 6_000, LinkEarly, 5;
}

/// What is lost is soon another thread's, and what happens then is anybody's guess: so each is played in a process of its own, which must
/// not end well; and more than once, for what threads do in one play may never need what was lost.
#[test]
fn the_threads_oracle_catches_errors() {
    for (name, fault, every) in [
        ("four_threads", Fault::LoseMark, 100),
        ("four_threads", Fault::MissRoot, 50),
        ("four_threads", Fault::FinalizedTwice, 5),
        ("four_threads", Fault::EphemeronLate, 1),
        ("young_two_threads_left_to_themselves", Fault::RecordLost, 5),
    ] {
        let settings = threads_oracle::settings::ALL.iter().find(|settings| settings.name == name).unwrap();
        let child = Child::new().called(fault).run(|| {
            // A thread of a broken heap may go round for good, as none of a whole one does.
            // SAFETY: nobody handles the signal, which ends the process.
            unsafe { libc::alarm(60) };
            for seed in 1..=12 {
                let world = threads_oracle::world::World::new(*settings, seed);
                plant(&world.heap, Some((fault, every)));
                world.play(seed, 50_000).unwrap_or_else(|what| panic!("the oracle says: {what}"));
            }
        });
        // The line of whoever has noticed it: the oracle, the library, or a check of debug builds in the tables below.
        let tells = |line: &str| {
            line.contains("the oracle says: ")
                || line.starts_with("heapwood: ")
                || line.contains(" panicked at crates/heapwood-heap/src/")
        };
        let is_told = child.err.lines().any(tells)
            || child.status.signal().is_some_and(|signal| [libc::SIGSEGV, libc::SIGALRM].contains(&signal));
        assert!(!child.status.success() && is_told, "{fault:?}: {child}");
    }
}
