//! Tests of the tests of the write barrier's half of marking: an error planted there must be caught by the program that runs beside
//! a marking in steps, and by verify mode.

#![cfg(heapwood_inject)]

mod stepped;

use heapwood_gc::inject::Fault;
use heapwood_gc::settings::options::Generational;
use stepped::driver::{Play, Program};

/// Plays with an error planted until the program objects; returns in how many runs it struck, and in how many that was noticed.
fn caught(what: Option<Fault>, every: u64, generational: Generational) -> (usize, usize) {
    let (mut struck, mut caught) = (0, 0);
    for seed in 1..=4 {
        let frees_all = what != Some(Fault::FreedAtOnce);
        let mut program = Program::new(Play { frees_all, ..Play::new(generational) }, seed);
        if let Some(what) = what {
            program.world.heap.faults().inject(what, every);
        }
        // What is gone at once does harm only where the marking has to go through it.
        let needs_chance = matches!(what, Some(Fault::ArenaClosedAtOnce | Fault::FreedAtOnce));
        let markings = if needs_chance { 48 } else { 12 };
        let outcome = program.run(markings, 500);
        struck += (program.world.heap.faults().injected() > 0) as usize;
        caught += outcome.is_err() as usize;
        if let Err(what) = outcome {
            println!("seed {seed}: {what}");
        }
    }
    (struck, caught)
}

#[test]
fn nothing_planted_nothing_caught() {
    assert_eq!(caught(None, 1, Generational::Always), (0, 0));
    assert_eq!(caught(None, 1, Generational::Off), (0, 0));
}

macro_rules! planted {
    ($($name:ident = $fault:ident, $every:literal, $generational:ident;)*) => { $(
        #[test]
        fn $name() {
            assert_eq!(caught(Some(Fault::$fault), $every, Generational::$generational), (4, 4));
        }
    )* };
}

planted! {
    stores_that_shade_nothing_are_caught = ShadeSkipped, 3, Always;
    stores_that_shade_nothing_are_caught_without_young_collections = ShadeSkipped, 3, Off;
    stores_that_shade_too_late_are_caught = ShadeAfterStore, 1, Always;
    traced_objects_that_are_not_shaded_are_caught = TracedUnshaded, 1, Always;
    survivors_that_are_not_marked_are_caught = SurvivorUnmarked, 40, Always;
    promotion_that_does_not_mark_is_caught = PromotedUnmarked, 1, Off;
    reuse_that_does_not_mark_is_caught = ReusedUnmarked, 1, Always;
    freeing_at_once_is_caught = FreedAtOnce, 1, Always;
}

#[test]
fn arenas_closed_at_once_are_caught() {
    let (struck, caught) = caught(Some(Fault::ArenaClosedAtOnce), 1, Generational::Off);
    assert!(struck == 4 && caught >= 3, "{caught} of {struck}");
}
