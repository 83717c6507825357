//! Ephemerons that are cleared too early or too late, or lose their values, are caught by the random programs of `weak`.

use crate::weak::{PLAYED, links, play};
use heapwood_gc::Heap;
use heapwood_gc::inject::Fault;
use heapwood_gc_testing::planted::first_caught_on;
use heapwood_gc_testing::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

macro_rules! planted {
    ($($name:ident = $fault:ident, $every:literal;)*) => { $(
        #[test]
        fn $name() {
            let play = |heap: &Heap, seed| play(heap, seed, 3000);
            assert!(first_caught_on(&PLAYED, 4, (Fault::$fault, $every), play).is_some());
        }
    )* };
}

planted! {
    an_ephemeron_that_is_cleared_early_is_caught = EphemeronEarly, 1;
    an_ephemeron_that_is_cleared_late_is_caught = EphemeronLate, 3;
    a_value_that_does_not_ask_for_its_key_is_caught = EphemeronKeyTaken, 3;
    a_value_that_is_lost_though_its_key_is_found_is_caught = EphemeronForgotten, 1;
    what_a_marker_has_listed_and_lost_is_caught = UndecidedLost, 5;
    // Most keys that are read are alive anyway.
    a_read_that_is_not_shaded_is_caught = WeakReadUnshaded, 1;
}

#[test]
fn links_that_are_cleared_early_or_late_are_caught() {
    for (fault, every) in [(Fault::LinkEarly, 10), (Fault::LinkLate, 3)] {
        let play = |heap: &Heap, seed| links::play(heap, seed, 5000);
        assert!(first_caught_on(&links::PLAYED, 4, (fault, every), play).is_some(), "{fault:?}");
    }
}

#[test]
fn links_that_stay_in_dead_objects_are_caught() {
    for config in links::HOLDERS.iter().filter(|config| !config.verify) {
        let heap = heap(*config);
        heap.faults().inject(Fault::LinkKept, 1);
        let played = catch_unwind(AssertUnwindSafe(|| links::goes_with_its_holder(&heap)));
        assert!(heap.faults().injected() > 0 && played.is_err(), "a link has outlived its slot unnoticed");
    }
}
