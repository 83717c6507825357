//! The stepped oracle catches errors planted in the write barrier's half of a concurrent marking.

use crate::stepped::driver::{Play, Program};
use core::ops::RangeInclusive;
use heapwood_gc::inject::Fault;
use heapwood_gc::settings::options::Generational;
use heapwood_gc_testing::planted::{Caught, plant};

/// Plays four programs with an error planted until each objects.
fn caught(what: Option<Fault>, every: u64, generational: Generational) -> Caught {
    caught_in(1..=4, what, every, generational)
}

/// The same with the programs of these seeds.
fn caught_in(
    seeds: RangeInclusive<u64>,
    what: Option<Fault>,
    every: u64,
    generational: Generational,
) -> Caught {
    let mut all = Caught::default();
    for seed in seeds {
        let frees_all = what != Some(Fault::FreedAtOnce);
        let mut play = Play { frees_all, ..Play::new(generational) };
        if what == Some(Fault::ShadedTagIgnored) {
            (play.tagged, play.config) = (true, play.config.tagged_stacks(true));
        }
        let mut program = Program::new(play, seed);
        plant(&program.world.heap, what.map(|what| (what, every)));
        // What is gone at once does harm only where the marking has to go through it, and few objects have trace functions. What an
        // announced store overwrites is mostly found elsewhere: it took 1 to 30 markings, by the addresses of the run.
        let markings = match what {
            Some(Fault::DirtyUnshaded) => 150,
            Some(
                Fault::ArenaClosedAtOnce
                | Fault::FreedAtOnce
                | Fault::TracedUnshaded
                | Fault::PlainUnshaded
                | Fault::PlainSnapshotLost,
            ) => 48,
            _ => 12,
        };
        let outcome = program.run(markings, 500);
        all.add(&program.world.heap, outcome.map(|_| ()));
    }
    all
}

#[test]
fn with_nothing_planted_nothing_is_caught() {
    assert_eq!(caught(None, 1, Generational::Always), Caught::default());
    assert_eq!(caught(None, 1, Generational::Off), Caught::default());
}

macro_rules! planted {
    ($($name:ident = $fault:ident, $every:literal, $generational:ident;)*) => { $(
        #[test]
        fn $name() {
            caught(Some(Fault::$fault), $every, Generational::$generational).at_least(4, 100);
        }
    )* };
}

planted! {
    stores_that_shade_nothing_are_caught = ShadeSkipped, 3, Always;
    tagged_pointers_that_are_not_shaded_are_caught = ShadedTagIgnored, 1, Always;
    stores_that_shade_nothing_are_caught_without_young_collections = ShadeSkipped, 3, Off;
    stores_that_shade_too_late_are_caught = ShadeAfterStore, 1, Always;
    traced_objects_that_are_not_shaded_are_caught = TracedUnshaded, 1, Always;
    survivors_that_are_not_marked_are_caught = SurvivorUnmarked, 40, Always;
    promotion_that_does_not_mark_is_caught = PromotedUnmarked, 1, Off;
    reuse_that_does_not_mark_is_caught = ReusedUnmarked, 1, Always;
    freeing_at_once_is_caught = FreedAtOnce, 1, Always;
    announced_stores_that_shade_nothing_are_caught = DirtyUnshaded, 1, Always;
    shaded_objects_that_no_pause_takes_are_caught = ShadedLost, 1, Always;
    shaded_objects_that_no_pause_takes_are_caught_without_young_collections = ShadedLost, 1, Off;
}

#[test]
fn arenas_closed_at_once_are_caught() {
    caught(Some(Fault::ArenaClosedAtOnce), 1, Generational::Off).at_least(4, 75);
}

/// Whether one of sixty programs objects, each of which the error strikes. What a plain store overwrites is mostly found on another path,
/// too, by the addresses of the run: three programs of four object without young collections, and one of four where an object
/// begins unshaded (2026-11-27). The tests of `plain` catch each such error each time.
fn is_caught(what: Fault, generational: Generational) -> bool {
    (1..=60).any(|seed| {
        let caught = caught_in(seed..=seed, Some(what), 1, generational);
        assert_eq!(caught.struck, 1, "program {seed}");
        caught.caught == 1
    })
}

#[test]
fn stacks_of_which_nothing_is_copied_are_caught() {
    for generational in [Generational::Always, Generational::Off] {
        assert!(is_caught(Fault::PlainSnapshotLost, generational), "{generational:?}");
    }
}

#[test]
fn stacks_that_begin_unshaded_are_caught() {
    assert!(is_caught(Fault::PlainUnshaded, Generational::Always));
}
