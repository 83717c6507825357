//! A thread that collects in a region without collections is caught by the test of those.

use crate::threads::no_collection::visit;
use heapwood_gc::inject::Fault;
use heapwood_gc_testing::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn a_collection_in_a_region_is_caught() {
    for config in [FULL.verify(true), FULL.verify(true).min_heap(1 << 20)] {
        let heap = heap(config.conservative_stacks(false).min_heap(1 << 20));
        heap.faults().inject(Fault::CollectedInRegion, 1);
        let m = attach(&heap);
        m.rest();
        let visited = catch_unwind(AssertUnwindSafe(|| visit(&heap, &m, 1)));
        assert!(heap.faults().injected() > 0 && visited.is_err());
    }
}
