//! Settings that change while the heap is in use: the growth percentage, the least size, the limit, the number of markers.

use heapwood_gc::{AllocError, Config, HeapError};
use heapwood_gc_testing::*;

const MIB: usize = 1 << 20;

#[test]
fn a_limit_that_changes_is_the_limit() {
    let heap = heap(FULL.min_heap(MIB));
    let mutator = attach(&heap);
    let mut roots = Slots::new(&heap, 1);
    let node = masked(&heap, 128, &[0]);
    // Fills the heap until it refuses, or N MiB are alive; the bytes that fitted.
    let mut fill = |most: usize| {
        roots.set(0, 0);
        for made in 0..most * MIB / 1024 {
            match mutator.allocate(node) {
                Ok(object) => {
                    put(object.as_ptr() as usize, 0, roots.get(0));
                    roots.set(0, object.as_ptr() as usize);
                }
                Err(AllocError::Limit { limit, .. }) => return (made * 1024, limit),
                Err(other) => panic!("{other}"),
            }
        }
        (most * MIB, 0)
    };
    assert_eq!((heap.limit(), fill(24)), (None, (24 * MIB, 0)));
    for limit in [8 * MIB, 16 * MIB, 10 * MIB] {
        // More is in use now than is allowed: what is dead goes first.
        std::thread::scope(|scope| _ = scope.spawn(|| heap.set_limit(Some(limit)).unwrap()));
        assert_eq!(heap.limit(), Some(limit));
        let (fitted, said) = fill(64);
        assert_eq!(said, limit);
        assert!((limit - limit / 4..=limit).contains(&fitted), "{fitted} of {limit}");
        assert!(heap.inspect().stats().in_use_bytes <= limit);
        let stats = heap.inspect().stats();
        assert!(stats.goal_bytes <= limit, "the goal is {} of {limit}", stats.goal_bytes);
    }
    heap.set_limit(None).unwrap();
    assert_eq!(fill(24), (24 * MIB, 0));
    assert!(matches!(heap.set_limit(Some(1)), Err(HeapError::OutOfRange { .. })));
    assert_eq!(heap.limit(), None);
}

#[test]
fn a_percentage_that_changes_holds_from_the_next_collection_on() {
    let heap = heap(FULL.min_heap(MIB).percent(300));
    let mutator = attach(&heap);
    let mut roots = Slots::new(&heap, 1);
    roots.extend_list(0, &mutator, node_type(&heap), 128 * MIB / 32, 1);
    let room = || {
        mutator.collect().unwrap();
        let stats = heap.inspect().stats();
        (stats.goal_bytes - stats.live_bytes) as f64 / stats.live_bytes as f64
    };
    let most = |percent: u32| {
        std::thread::scope(|scope| _ = scope.spawn(|| heap.set_percent(percent).unwrap()));
        assert_eq!(heap.percent(), percent);
        room()
    };
    for percent in [40, 100, 31] {
        let room = most(percent);
        assert!(room <= percent as f64 / 100.0 + 0.01, "{room} with {percent} percent");
    }
    assert!(matches!(heap.set_percent(0), Err(HeapError::OutOfRange { .. })));
}

#[test]
fn a_least_size_that_changes_holds_at_once() {
    let heap = heap(FULL.min_heap(MIB).background_release(false));
    let mutator = attach(&heap);
    let node = masked(&heap, 128, &[0]);
    let collections = |bytes: usize| {
        let before = heap.inspect().stats().collections;
        (0..bytes / 1024).for_each(|_| _ = mutator.allocate(node).unwrap());
        heap.inspect().stats().collections - before
    };
    assert!(collections(32 * MIB) > 0, "garbage of 32 MiB was collected");
    std::thread::scope(|scope| _ = scope.spawn(|| heap.set_min_heap(64 * MIB)));
    assert_eq!(collections(32 * MIB), 0);
    assert!(collections(64 * MIB) > 0, "more than the least size was collected");
}

#[test]
fn the_number_of_markers_changes() {
    let heap = heap(FULL.min_heap(MIB));
    let mutator = attach(&heap);
    let mut roots = Slots::new(&heap, 1);
    roots.extend_list(0, &mutator, node_type(&heap), 100_000, 1);
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let before = threads();
    for markers in [Some(4), Some(1), Some(3), Some(3), None, Some(2)] {
        std::thread::scope(|scope| _ = scope.spawn(|| heap.set_mark_threads(markers).unwrap()));
        assert_eq!(heap.mark_threads(), markers);
        mutator.collect().unwrap();
        let live = heap.inspect().stats().live_objects;
        assert_eq!(live, 100_000, "with {markers:?} markers");
        if let Some(markers) = markers {
            assert!(threads() + 1 >= markers, "{} threads, {before} before", threads());
        }
        assert_swept_and_valid(&heap);
    }
    let many = Config::MOST_MARK_THREADS as usize + 1;
    assert!(matches!(heap.set_mark_threads(Some(many)), Err(HeapError::OutOfRange { .. })));
}
