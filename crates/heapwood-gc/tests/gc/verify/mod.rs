//! Verify and stress mode, misuse, and explicit frees.

mod frees;
mod misuse;
mod quarantine;
mod reports;
mod stores;

use heapwood_gc_testing::*;

#[test]
fn every_allocation_collects_under_stress() {
    let heap = heap(PRECISE.stress(true));
    let mutator = attach(&heap);
    let types =
        [node_type(&heap), masked(&heap, 2, &[0, 1]), pointer_free(&heap, 5000), pointer_free(&heap, 50_000)];
    let mut allocations = 0;
    for _ in 0..300 {
        for ty in types {
            let before = heap.inspect().stats().collections;
            new(&mutator, ty);
            allocations += 1;
            assert!(heap.inspect().stats().collections > before);
        }
    }
    assert!(heap.inspect().stats().collections >= allocations);
}
