//! Threads that free objects of each other at the same time: no free is lost, whoever else frees a neighbour, and a second free is
//! an error whichever thread tries it.

use core::ptr::NonNull;
use heapwood_gc::{Heap, Mutator};
use heapwood_gc_testing::*;
use std::sync::Barrier;

/// Frees an object that nobody uses.
fn free(mutator: &Mutator, object: usize) -> bool {
    // SAFETY: nothing refers to it, and nobody uses it.
    unsafe { mutator.free(NonNull::new(object as *mut u8).unwrap()) }.is_ok()
}

fn objects(heap: &Heap, mutator: &Mutator) -> Vec<usize> {
    let ty = pointer_free(heap, 16);
    // 64 of them share a word of bits.
    (0..64 * 1024).map(|_| mutator.allocate(ty).unwrap().as_ptr() as usize).collect()
}

/// The first mutator of a heap frees without a read-modify-write as long as it is alone.
#[test]
fn threads_may_free_neighbours_at_the_same_time() {
    for round in 0..16 {
        let heap = heap(FULL.min_heap(64 << 20));
        let (first, begin, end) = (attach(&heap), Barrier::new(2), Barrier::new(2));
        let objects = objects(&heap, &first);
        // Its record of what was freed lately has begun.
        assert!(free(&first, objects[0]));
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                // The first has begun to free when the other attaches, or begins at the same time.
                let attached_early = (round % 2 == 0).then(|| attach(&heap));
                begin.wait();
                let mutator = attached_early.unwrap_or_else(|| attach(&heap));
                let freed =
                    objects.iter().skip(1).step_by(2).filter(|&&object| free(&mutator, object)).count();
                end.wait();
                // What the first has freed is freed for this thread, too.
                assert!(objects.iter().all(|&object| !free(&mutator, object)), "a free was lost");
                freed
            });
            first.blocking(|| begin.wait()).unwrap();
            let freed = objects.iter().step_by(2).skip(1).filter(|&&object| free(&first, object)).count();
            first.blocking(|| end.wait()).unwrap();
            let freed_by_other = first.blocking(|| other.join().unwrap()).unwrap();
            assert_eq!((freed + 1, freed_by_other), (objects.len() / 2, objects.len() / 2));
        });
        drop(first);
        assert_swept_and_valid(&heap);
    }
}
