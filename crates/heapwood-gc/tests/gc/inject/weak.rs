//! Ephemerons that are cleared too early or too late, or lose their values, are caught by the random programs of `weak`.

use crate::weak::{PLAYED, links, play};
use heapwood_gc::inject::Fault;
use heapwood_gc_testing::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How many of the programs, of heaps of all kinds but verify mode, which ends the process, find something wrong with every N-th
/// occasion of a fault.
fn caught(fault: Fault, every: u64) -> (usize, usize) {
    let (mut caught, mut injected) = (0, 0);
    for (i, config) in PLAYED.iter().enumerate().filter(|(_, config)| !config.verify) {
        for seed in 0..4 {
            let heap = heap(*config);
            // In some of them young collections keep all they have not marked.
            heap.set_young_time((seed % 3 == 1).then_some(core::time::Duration::ZERO));
            heap.faults().inject(fault, every);
            let played = catch_unwind(AssertUnwindSafe(|| play(&heap, 1 + seed + 100 * i as u64, 3000)));
            if heap.faults().injected() > 0 {
                injected += 1;
                caught += usize::from(played.is_err());
            }
        }
    }
    (caught, injected)
}

#[test]
fn an_ephemeron_that_is_cleared_early_is_caught() {
    let (caught, injected) = caught(Fault::EphemeronEarly, 1);
    assert!(injected >= 12 && caught * 4 >= injected * 3, "{caught} of {injected}");
}

#[test]
fn an_ephemeron_that_is_cleared_late_is_caught() {
    let (caught, injected) = caught(Fault::EphemeronLate, 3);
    assert!(injected >= 20 && caught * 10 >= injected * 9, "{caught} of {injected}");
}

#[test]
fn a_value_that_does_not_ask_for_its_key_is_caught() {
    let (caught, injected) = caught(Fault::EphemeronKeyTaken, 3);
    assert!(injected >= 20 && caught * 10 >= injected * 9, "{caught} of {injected}");
}

#[test]
fn a_value_that_is_lost_though_its_key_is_found_is_caught() {
    let (caught, injected) = caught(Fault::EphemeronForgotten, 1);
    assert!(injected >= 20 && caught * 10 >= injected * 9, "{caught} of {injected}");
}

#[test]
fn what_a_marker_has_listed_and_lost_is_caught() {
    let (caught, injected) = caught(Fault::UndecidedLost, 5);
    assert!(injected >= 20 && caught * 10 >= injected * 9, "{caught} of {injected}");
}

#[test]
fn a_read_that_is_not_shaded_is_caught() {
    let (caught, injected) = caught(Fault::WeakReadUnshaded, 1);
    // Most keys that are read are alive anyway.
    assert!(injected >= 12 && caught * 2 >= injected, "{caught} of {injected}");
}

#[test]
fn links_that_are_cleared_early_or_late_are_caught() {
    for (fault, every) in [(Fault::LinkEarly, 10), (Fault::LinkLate, 3)] {
        let (mut caught, mut injected) = (0, 0);
        for (config, seed) in links::PLAYED.iter().filter(|config| !config.verify).zip(1..) {
            for round in 0..4 {
                let heap = heap(*config);
                heap.faults().inject(fault, every);
                let play = || links::play(&heap, seed + 100 * round, 5000);
                let played = catch_unwind(AssertUnwindSafe(play));
                injected += usize::from(heap.faults().injected() > 0);
                caught += usize::from(heap.faults().injected() > 0 && played.is_err());
            }
        }
        assert!(injected >= 12 && caught * 10 >= injected * 9, "{fault:?}: {caught} of {injected}");
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
