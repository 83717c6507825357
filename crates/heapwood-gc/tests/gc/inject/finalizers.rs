//! Finalisers that come too early or too late are caught by the random programs of `finalizers`.

use crate::finalizers::{PLAYED, graphs, play};
use heapwood_gc::inject::Fault;
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc_testing::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How many of the programs, of heaps of all kinds, find something wrong with every N-th occasion of a fault.
fn caught(fault: Fault, every: u64) -> (usize, usize) {
    let (mut caught, mut injected) = (0, 0);
    for (i, config) in PLAYED.iter().enumerate() {
        // Verify mode ends the process.
        if config.verify {
            continue;
        }
        for seed in 0..5 {
            let heap = heap(*config);
            // In a third of them young collections keep all they have not marked.
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
fn an_early_finaliser_is_caught() {
    let (caught, injected) = caught(Fault::FinalizedByMark, 1);
    assert!(injected >= 5 && caught == injected, "{caught} of {injected}");
}

#[test]
fn a_late_finaliser_is_caught() {
    let (caught, injected) = caught(Fault::FinalizerMissed, 50);
    assert!(injected >= 20 && caught * 10 >= injected * 9, "{caught} of {injected}");
}

/// The same for the random graphs of objects that come back.
fn caught_in_graphs(fault: Fault, every: u64) -> (usize, usize) {
    let (mut caught, mut injected) = (0, 0);
    for (i, config) in PLAYED.iter().enumerate() {
        // As above.
        if config.verify {
            continue;
        }
        for seed in 0..4 {
            let heap = heap(*config);
            heap.faults().inject(fault, every);
            let played =
                catch_unwind(AssertUnwindSafe(|| graphs::play(&heap, 1 + seed + 100 * i as u64, 2000)));
            if heap.faults().injected() > 0 {
                injected += 1;
                caught += usize::from(played.is_err());
            }
        }
    }
    (caught, injected)
}

#[test]
fn an_object_that_comes_twice_is_caught() {
    let (caught, injected) = caught_in_graphs(Fault::FinalizedTwice, 1);
    assert!(injected >= 15 && caught == injected, "{caught} of {injected}");
}

#[test]
fn an_object_that_comes_before_what_leads_to_it_is_caught() {
    let (caught, injected) = caught_in_graphs(Fault::FinalizerUnordered, 1);
    assert!(injected >= 15 && caught == injected, "{caught} of {injected}");
}

#[test]
fn an_object_that_comes_early_is_caught() {
    let (caught, injected) = caught_in_graphs(Fault::FinalizedByMark, 1);
    assert!(injected >= 5 && caught == injected, "{caught} of {injected}");
}

#[test]
fn an_object_that_comes_late_is_caught() {
    let (caught, injected) = caught_in_graphs(Fault::FinalizerMissed, 20);
    assert!(injected >= 15 && caught * 10 >= injected * 9, "{caught} of {injected}");
}

#[test]
fn an_object_that_is_not_revived_is_caught() {
    let (caught, injected) = caught_in_graphs(Fault::RevivedUnmarked, 5);
    assert!(injected >= 15 && caught * 10 >= injected * 9, "{caught} of {injected}");
}

#[test]
fn a_queue_that_keeps_nothing_is_caught() {
    let (caught, injected) = caught_in_graphs(Fault::QueueNoRoot, 2);
    assert!(injected >= 15 && caught * 10 >= injected * 7, "{caught} of {injected}");
}

#[test]
fn data_of_what_comes_back_is_caught() {
    let (caught, injected) = caught_in_graphs(Fault::RevivedDataQueued, 1);
    assert!(injected >= 15 && caught == injected, "{caught} of {injected}");
}

#[test]
fn verify_mode_tells_of_early_finalisers() {
    let child = Child::new().run(|| {
        let heap = heap(YOUNG.concurrent(Concurrent::Off).verify(true));
        heap.faults().inject(Fault::FinalizedByMark, 1);
        graphs::play(&heap, 1, 3000);
    });
    assert!(!child.status.success() && child.err.contains("was taken for dead"), "{child}");
}
