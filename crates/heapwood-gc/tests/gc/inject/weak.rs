//! Ephemerons that are cleared too early or too late, or lose their values, are caught by the random programs of `weak`.

use crate::weak::{PLAYED, links, play};
use heapwood_gc::inject::Fault;
use heapwood_gc::{Config, Heap};
use heapwood_gc_testing::planted::{first_caught, said};
use heapwood_gc_testing::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Plays four seeds on heaps of all kinds but verify mode, which ends the process, with every N-th occasion of a fault, until one finds
/// something wrong.
fn caught(configs: &[Config], fault: Fault, every: u64, play: impl Fn(&Heap, u64)) -> Option<String> {
    let heaps = configs.iter().enumerate().filter(|(_, config)| !config.verify);
    let all = heaps.flat_map(|heap| (0..4).map(move |seed| (heap, seed)));
    first_caught(all, |((i, config), seed)| {
        let heap = heap(*config);
        heap.pace_by_bytes();
        // In some of them young collections keep all they have not marked.
        heap.set_young_time((seed % 3 == 1).then_some(core::time::Duration::ZERO));
        heap.faults().inject(fault, every);
        let outcome = said(|| play(&heap, 1 + seed + 100 * i as u64));
        (heap.faults().injected(), outcome)
    })
}

macro_rules! planted {
    ($($name:ident = $fault:ident, $every:literal;)*) => { $(
        #[test]
        fn $name() {
            assert!(caught(&PLAYED, Fault::$fault, $every, |heap, seed| _ = play(heap, seed, 3000)).is_some());
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
        assert!(caught(&links::PLAYED, fault, every, play).is_some(), "{fault:?}");
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
