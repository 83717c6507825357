//! Plain stores, and stores without an owner, that the collector is not told of are caught by the tests of `plain`; root functions that
//! are not called and reserves that are not taken by theirs.

use crate::limits::reserve;
use crate::plain::begun::{self, Begins};
use crate::plain::stores::{self, Store};
use crate::plain::{KINDS, quiet};
use crate::roots::functions;
use heapwood_gc::Mutator;
use heapwood_gc::inject::Fault;
use heapwood_gc::settings::options::Generational;
use heapwood_gc_testing::YOUNG;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Plays with a fault each time; whether it was caught each time that it struck, and whether it struck.
fn caught(fault: Fault, mut play: impl FnMut(&dyn Fn(&Mutator)) -> Result<(), String>) -> bool {
    let armed = Cell::new(0u32);
    let arm = |mutator: &Mutator| {
        mutator.heap().faults().inject(fault, 1);
        armed.set(armed.get() + 1);
    };
    let played = catch_unwind(AssertUnwindSafe(|| play(&arm)));
    assert!(armed.get() > 0, "{fault:?} was never armed");
    !matches!(played, Ok(Ok(())))
}

#[test]
fn stores_that_are_not_told_of_are_caught() {
    let always = quiet(Generational::Always);
    for kind in KINDS {
        for (fault, how) in
            [(Fault::StoreNotRecorded, Store::Inside), (Fault::DirtyNotRecorded, Store::Dirty)]
        {
            assert!(caught(fault, |arm| stores::young(always, how, kind, arm)), "{fault:?} {kind:?}");
        }
        for (fault, how) in [(Fault::ShadeSkipped, Store::Inside), (Fault::DirtyUnshaded, Store::Dirty)] {
            assert!(caught(fault, |arm| stores::marking(always, how, kind, arm)), "{fault:?} {kind:?}");
        }
    }
}

#[test]
fn stacks_that_are_not_looked_at_are_caught() {
    let always = quiet(Generational::Always);
    for kind in KINDS {
        for fault in [Fault::PlainUnscanned, Fault::PlainEndNotRecorded] {
            assert!(caught(fault, |arm| begun::young(always, kind, arm)), "{fault:?} {kind:?}");
        }
        for generational in [Generational::Always, Generational::Off] {
            for (fault, begins) in
                [(Fault::PlainSnapshotLost, Begins::Before), (Fault::PlainUnshaded, Begins::After)]
            {
                let config = quiet(generational);
                assert!(
                    caught(fault, |arm| begun::marking(config, begins, kind, arm)),
                    "{fault:?} {kind:?} {generational:?}"
                );
            }
        }
    }
    assert!(caught(Fault::PlainKept, |arm| begun::reused(always, arm)));
}

#[test]
fn root_functions_that_are_not_called_are_caught() {
    for fault in [Fault::RootFunctionSkipped, Fault::RootFunctionNotYoung] {
        assert!(caught(fault, |arm| {
            functions::play(YOUNG.min_heap(64 << 20), 3, arm);
            Ok(())
        }));
    }
}

#[test]
fn a_reserve_that_is_not_taken_is_caught() {
    for config in reserve::PLAYED {
        assert!(caught(Fault::ReserveKept, |arm| reserve::play(config, arm)), "{config:?}");
    }
}
