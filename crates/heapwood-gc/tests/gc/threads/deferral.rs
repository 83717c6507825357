//! Collections that a mutator defers: what no root leads to stays until it takes that back, and what was due comes then.

use heapwood_gc::{AllocError, Config};
use heapwood_gc_testing::*;

const MIB: usize = 1 << 20;

/// Unrooted objects, many times what the heap would be collected for, keep what was written to them.
fn nothing_is_collected(config: Config) {
    let heap = heap(config.min_heap(MIB));
    let mutator = attach(&heap);
    let (node, large) = (node_type(&heap), pointer_free(&heap, MIB));
    let collections = || heap.inspect().stats().collections;
    let words = node.size() / size_of::<usize>();
    for round in 1..4 {
        let before = collections();
        mutator.defer_collections();
        assert!(!mutator.is_collection_due());
        let objects: Vec<_> = (0..4 * MIB / node.size())
            .map(|i| {
                let object = new(&mutator, node) as *mut usize;
                // SAFETY: the object has this many words, and the last of them is none that is scanned.
                unsafe { object.add(words - 1).write(i * round) };
                object
            })
            .collect();
        (0..4).for_each(|_| _ = new(&mutator, large));
        assert!(mutator.is_collection_due());
        assert_eq!(collections(), before, "a collection came");
        for (i, object) in objects.iter().enumerate() {
            // SAFETY: as above; nothing was collected.
            assert_eq!(unsafe { object.add(words - 1).read() }, i * round);
        }
        mutator.resume_collections().unwrap();
        assert!(collections() > before, "what was due did not come");
        assert!(!mutator.is_collection_due());
    }
    // What was kept meanwhile is dead.
    mutator.collect().unwrap();
    assert_eq!(heap.inspect().stats().live_bytes, 0);
    assert_swept_and_valid(&heap);
}

#[test]
fn nothing_is_collected_until_collections_are_resumed() {
    nothing_is_collected(FULL);
    nothing_is_collected(YOUNG);
    nothing_is_collected(FULL.verify(true));
}

/// Nothing is due after a little; under stress something always is.
#[test]
fn what_is_not_due_does_not_come() {
    for (config, came) in [(FULL, 0), (FULL.stress(true), 1)] {
        let heap = heap(config);
        let mutator = attach(&heap);
        let node = node_type(&heap);
        mutator.defer_collections();
        (0..100).for_each(|_| _ = new(&mutator, node));
        mutator.resume_collections().unwrap();
        assert_eq!(heap.inspect().stats().collections, came);
    }
}

/// A limit is refused, and can be met again after a collection.
#[test]
fn a_limit_ends_the_deferral_by_an_error() {
    let heap = heap(FULL.limit(8 * MIB).min_heap(MIB));
    let mutator = attach(&heap);
    let ty = pointer_free(&heap, 1024);
    mutator.defer_collections();
    let refused = (0..).find_map(|_| mutator.allocate(ty).err()).unwrap();
    assert!(matches!(refused, AllocError::Limit { bytes: 1024, .. }), "{refused}");
    assert!(mutator.allocate(pointer_free(&heap, 4 * MIB)).is_err());
    assert_eq!(heap.inspect().stats().collections, 0);
    mutator.resume_collections().unwrap();
    (0..32 * MIB / 1024).for_each(|_| _ = mutator.allocate(ty).unwrap());
}
