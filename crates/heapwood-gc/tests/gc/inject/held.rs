//! Held objects that keep nothing are caught by the random programs of `roots`.

use crate::roots::held::{PLAYED, play};
use heapwood_gc::inject::Fault;
use heapwood_gc_testing::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn held_objects_that_are_no_roots_are_caught() {
    for (config, seed) in PLAYED.iter().filter(|config| !config.verify).zip(1..) {
        let heap = heap(*config);
        heap.faults().inject(Fault::HeldNoRoot, 1);
        let played = catch_unwind(AssertUnwindSafe(|| play(&heap, seed, 500)));
        assert!(heap.faults().injected() > 0 && played.is_err(), "{config:?}");
    }
}
