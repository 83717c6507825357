//! Collections that the program has switched off: nobody's need, nor a request, brings one; and they come again.

use heapwood_gc::{AllocError, Config, Misuse};
use heapwood_gc_testing::*;
use std::sync::Barrier;

const MIB: usize = 1 << 20;

/// Thread A switches them off, and B allocates many times what the heap would be collected for.
fn nobody_collects(config: Config) {
    let heap = heap(config.min_heap(MIB));
    let collections = || heap.inspect().stats().collections;
    let ty = pointer_free(&heap, 4096);
    let (off, allocated, on) = (Barrier::new(2), Barrier::new(2), Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mutator = attach(&heap);
            let wait = |barrier: &Barrier| _ = mutator.blocking(|| barrier.wait()).unwrap();
            wait(&off);
            let before = collections();
            (0..32 * MIB / 4096).for_each(|_| _ = mutator.allocate(ty).unwrap());
            let refused = Err(Misuse::CollectionsOff(2));
            assert_eq!((mutator.collect(), mutator.collect_young()), (refused, refused));
            assert_eq!(mutator.start_collection().err(), Some(Misuse::CollectionsOff(2)));
            assert_eq!(collections(), before, "a collection came");
            assert_eq!(heap.inspect().stats().collections_off, 2);
            wait(&allocated);
            wait(&on);
            // What was allocated meanwhile has used the budget up.
            (0..MIB / 4096).for_each(|_| _ = mutator.allocate(ty).unwrap());
            assert!(collections() > before, "no collection came");
            mutator.collect().unwrap();
        });
        let mutator = attach(&heap);
        let wait = |barrier: &Barrier| _ = mutator.blocking(|| barrier.wait()).unwrap();
        assert_eq!(heap.disable_collections(), Ok(1));
        assert_eq!(heap.disable_collections(), Ok(2));
        wait(&off);
        wait(&allocated);
        // Once is not enough.
        assert_eq!(heap.enable_collections(), Ok(1));
        assert_eq!(mutator.collect(), Err(Misuse::CollectionsOff(1)));
        assert_eq!(heap.enable_collections(), Ok(0));
        assert_eq!(heap.enable_collections(), Err(Misuse::CollectionsOn));
        wait(&on);
    });
    assert_eq!(heap.inspect().stats().collections_off, 0);
    assert_swept_and_valid(&heap);
}

#[test]
fn no_collection_comes_while_they_are_off() {
    nobody_collects(FULL);
    nobody_collects(YOUNG);
    nobody_collects(BY_SIGNALS);
    nobody_collects(FULL.stress(true));
}

/// All threads of the heap are in blocking regions, and it would be collected.
#[test]
fn an_idle_heap_is_left_alone_while_they_are_off() {
    for config in [FULL, PRECISE] {
        let heap = heap(config.min_heap(MIB));
        let mutator = attach(&heap);
        mutator.allocate(pointer_free(&heap, 4096)).unwrap();
        let is_collected = || mutator.blocking(|| heap.collect_as_if_idle()).unwrap();
        heap.disable_collections().unwrap();
        assert!(!is_collected());
        heap.enable_collections().unwrap();
        assert!(is_collected());
    }
}

/// A limit that is met while they are off is an error that says so.
#[test]
fn a_limit_is_refused_while_they_are_off() {
    let heap = heap(FULL.limit(8 * MIB).min_heap(MIB));
    let mutator = attach(&heap);
    heap.disable_collections().unwrap();
    let before = heap.inspect().stats().collections;
    let ty = pointer_free(&heap, 1024);
    let refused = (0..).find_map(|_| mutator.allocate(ty).err()).unwrap();
    assert_eq!(refused, AllocError::CollectionsOff { bytes: 1024, limit: Some(8 * MIB), count: 1 });
    assert!(refused.to_string().contains("switched collections off 1 times"), "{refused}");
    let large = mutator.allocate(pointer_free(&heap, 4 * MIB)).unwrap_err();
    assert!(matches!(large, AllocError::CollectionsOff { count: 1, .. }), "{large}");
    assert_eq!(heap.inspect().stats().collections, before);
    assert!(heap.inspect().stats().in_use_bytes > 7 * MIB);
    heap.enable_collections().unwrap();
    mutator.allocate(ty).unwrap();
    assert!(heap.inspect().stats().collections > before);
}

/// A thread that is not attached switches them off while another collects all the time: when it has, none is under way.
#[test]
fn a_collection_under_way_ends_first() {
    for config in [FULL, BY_SIGNALS] {
        let heap = heap(config);
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mutator = attach(&heap);
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    match mutator.collect() {
                        Ok(()) | Err(Misuse::CollectionsOff(_)) => {}
                        Err(other) => panic!("{other}"),
                    }
                }
            });
            for _ in 0..200 {
                heap.disable_collections().unwrap();
                let before = heap.inspect().stats().collections;
                std::thread::yield_now();
                assert_eq!(heap.inspect().stats().collections, before);
                heap.enable_collections().unwrap();
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }
}

/// A marking beside the program ends as they are switched off, and none begins.
#[test]
fn a_marking_beside_the_program_ends_first() {
    let heap = heap(PRECISE);
    let mutator = attach(&heap);
    let marking = mutator.incremental_marking();
    assert!(marking.begin().unwrap());
    let full = heap.full_collections();
    heap.disable_collections().unwrap();
    assert_eq!(heap.full_collections(), full + 1);
    assert!(!marking.finish().unwrap(), "it has ended");
    heap.enable_collections().unwrap();
    mutator.collect().unwrap();
}
