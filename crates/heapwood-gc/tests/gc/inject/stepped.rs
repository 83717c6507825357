//! The stepped oracle catches errors planted in the write barrier's half of a concurrent marking.

use crate::stepped::driver::{Play, Program};
use heapwood_gc::inject::Fault;
use heapwood_gc::settings::options::Generational;
use heapwood_gc_testing::planted::{first_caught, plant};

/// Plays four programs with an error planted, until one objects.
fn caught(what: Option<Fault>, every: u64, generational: Generational) -> Option<String> {
    first_caught(1..=4, |seed| {
        let frees_all = what != Some(Fault::FreedAtOnce);
        let mut program = Program::new(Play { frees_all, ..Play::new(generational) }, seed);
        plant(&program.world.heap, what.map(|what| (what, every)));
        // What is gone at once does harm only where the marking has to go through it, and few objects have trace functions.
        let needs_chance =
            matches!(what, Some(Fault::ArenaClosedAtOnce | Fault::FreedAtOnce | Fault::TracedUnshaded));
        let outcome = program.run(if needs_chance { 48 } else { 12 }, 500);
        (program.world.heap.faults().injected(), outcome.map(|_| ()))
    })
}

#[test]
fn with_nothing_planted_nothing_is_caught() {
    assert_eq!(caught(None, 1, Generational::Always), None);
    assert_eq!(caught(None, 1, Generational::Off), None);
}

macro_rules! planted {
    ($($name:ident = $fault:ident, $every:literal, $generational:ident;)*) => { $(
        #[test]
        fn $name() {
            assert!(caught(Some(Fault::$fault), $every, Generational::$generational).is_some());
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
    shaded_objects_that_no_pause_takes_are_caught = ShadedLost, 1, Always;
    shaded_objects_that_no_pause_takes_are_caught_without_young_collections = ShadedLost, 1, Off;
    arenas_closed_at_once_are_caught = ArenaClosedAtOnce, 1, Off;
}
