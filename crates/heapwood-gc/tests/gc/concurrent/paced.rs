//! Mutators that wait for a marking which is behind. How long they wait depends on the machine; that they go on does not.

use super::*;

/// A marking that never comes further slows allocation of each kind down, and stops none.
#[test]
fn allocation_goes_on_beside_a_marker_that_stands_still() {
    // More than a thread takes at a time.
    const BYTES: usize = 5 << 20;
    let heap = heap(BESIDE.generational(Generational::Off).min_heap(1 << 30));
    heap.wait_for_marker_always();
    let mutator = attach(&heap);
    let word = TypeDescriptor::masked(WORD, &[1]).unwrap();
    let large = mutator.types().type_for(BYTES / 40, slice_scan(&word, 0).unwrap()).unwrap();
    let node = node_type(&heap);
    let allocate: [&dyn Fn(); 2] =
        [&|| (0..BYTES / node.size()).for_each(|_| _ = new(&mutator, node)), &|| {
            (0..40).for_each(|_| _ = new(&mutator, large))
        }];
    for allocate in allocate {
        assert_eq!(mutator.incremental_marking().begin(), Ok(true));
        new(&mutator, node);
        let before = stats(&heap);
        allocate();
        let after = stats(&heap);
        let waits = after.mark_waits - before.mark_waits;
        assert!(waits > 0 && after.mark_wait_ns - before.mark_wait_ns >= waits * 100_000, "{after:?}");
        assert_eq!(after.collections, before.collections);
        // The end lets all go on. When the next one starts depends on how long this one took: none does.
        assert_eq!(mutator.incremental_marking().finish(), Ok(true));
        heap.disable_collections().unwrap();
        (0..2).for_each(|_| allocate());
        assert_eq!(stats(&heap).mark_waits, after.mark_waits);
        heap.enable_collections().unwrap();
    }
}
