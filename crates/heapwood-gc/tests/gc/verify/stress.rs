//! Stress mode: a collection at every allocation, and proof that it was so.

use heapwood_gc::Config;
use heapwood_gc_testing::*;

const STRESS: Config = PRECISE.stress(true);

#[test]
fn every_allocation_collects_under_stress() {
    let heap = heap(STRESS);
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

#[test]
fn a_list_survives_being_built_under_stress() {
    for verify in [false, true] {
        let heap = heap(STRESS.verify(verify));
        let mutator = attach(&heap);
        let node = node_type(&heap);
        let mut frame = Framed::<1>::new(&mutator);
        frame.extend_list(0, node, 700, 7);
        mutator.collect().unwrap();
        check_list(frame.get(0), 700, 7);
        assert_eq!(heap.inspect().stats().live_objects, 700);
        assert!(heap.inspect().stats().collections > 700);
        assert_eq!(heap.inspect().stats().barrier_violations, 0);
    }
}

#[test]
fn two_threads_lose_nothing_under_stress() {
    let heap = heap(STRESS);
    std::thread::scope(|scope| {
        for t in 0..2 {
            let heap = &heap;
            scope.spawn(move || {
                let mutator = attach(heap);
                let node = node_type(heap);
                let mut frame = Framed::<1>::new(&mutator);
                frame.extend_list(0, node, 300, t * 1000);
                check_list(frame.get(0), 300, t * 1000);
            });
        }
    });
    assert!(heap.inspect().stats().collections >= 600);
}
