//! Marking by several threads, which the kernel may refuse.

use heapwood_gc::{Heap, Mutator};
use heapwood_gc_testing::*;
use heapwood_os_testing::faulty::Faulty;

/// So many objects are found alive, several times; and none after the roots have gone.
fn collects(heap: &Heap, mutator: &Mutator, objects: usize) {
    for _ in 0..4 {
        mutator.collect().unwrap();
        let stats = heap.inspect().stats();
        assert_eq!(stats.live_objects, objects);
    }
}

fn tree_in(heap: &Heap, mutator: &Mutator, roots: &mut Slots<'_>) {
    let node = node_type(heap);
    let all: Vec<usize> = (0..4095).map(|_| new(mutator, node)).collect();
    for (i, &object) in all.iter().enumerate() {
        (0..2).for_each(|child| put(object, child, *all.get(2 * i + 1 + child).unwrap_or(&0)));
    }
    roots.set(0, all[0]);
}

/// Whatever the kernel refuses from some request on, threads among them: marking goes on with those there are, or alone.
#[test]
fn a_heap_that_gets_no_workers_marks_alone() {
    static KERNEL: Faulty = Faulty::new();
    for granted in 0..40 {
        let config = FULL.min_heap(1 << 30).mark_threads(4).background_release(false);
        let heap = Heap::create(&KERNEL, config).unwrap();
        let mutator = attach(&heap);
        let mut roots = Slots::new(&heap, 1);
        tree_in(&heap, &mutator, &mut roots);
        KERNEL.refuse_from(granted);
        collects(&heap, &mutator, 4095);
        KERNEL.relent();
        collects(&heap, &mutator, 4095);
    }
}
