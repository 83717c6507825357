//! Marking by several threads: whatever the graph, all that can be reached is found, each object once, with stacks that
//! overflow, too; workers that the kernel refuses are done without.

use heapwood_gc::{Heap, Mutator, slice_scan};
use heapwood_gc_testing::*;
use heapwood_layout::TypeDescriptor;
use heapwood_os_testing::faulty::Faulty;

/// The numbers of markers that are tried: more than most machines that run this have cores, too.
const MARKERS: [usize; 4] = [1, 2, 4, 9];

/// Each heap that a graph is tried on.
fn heaps(mut f: impl FnMut(&Heap, &Mutator)) {
    for markers in MARKERS {
        for mark_stack in [None, Some(3), Some(64)] {
            for verify in [false, true] {
                let mut config = FULL.min_heap(1 << 30).mark_threads(markers).verify(verify);
                config.mark_stack = mark_stack;
                let heap = heap(config);
                let mutator = attach(&heap);
                f(&heap, &mutator);
                assert_eq!(heap.inspect().stats().barrier_violations, 0);
                assert_valid(&heap);
            }
        }
    }
}

/// So many objects are found alive, several times; and none after the roots have gone.
fn collects(heap: &Heap, mutator: &Mutator, objects: usize) {
    for _ in 0..4 {
        mutator.collect().unwrap();
        let stats = heap.inspect().stats();
        assert_eq!(stats.live_objects, objects);
    }
}

#[test]
fn a_wide_array_and_what_it_leads_to_is_marked_once() {
    heaps(|heap, mutator| {
        const WIDE: usize = 40_000;
        let scan = slice_scan(&TypeDescriptor::masked(WORD, &[1]).unwrap(), 0).unwrap();
        let array = mutator.types().type_for(WIDE * WORD, scan).unwrap();
        let mut roots = Slots::new(heap, 1);
        roots.set(0, new(mutator, array));
        let node = node_type(heap);
        for i in 0..WIDE {
            let object = new(mutator, node);
            put(object, 2, i);
            // Every seventh leads to the one before.
            if i % 7 == 0 && i > 0 {
                put(object, 0, get(roots.get(0), i - 1));
            }
            put(roots.get(0), i, object);
        }
        collects(heap, mutator, WIDE + 1);
        assert!((0..WIDE).all(|i| get(get(roots.get(0), i), 2) == i));
        // The array alone leads to most: without it they are dead.
        roots.set(0, get(roots.get(0), 7));
        collects(heap, mutator, 2);
    });
}

#[test]
fn one_list_or_many_are_marked_once() {
    heaps(|heap, mutator| {
        let node = node_type(heap);
        for (lists, nodes) in [(1, 20_000), (3, 4000), (40, 400), (700, 30)] {
            let mut roots = Slots::new(heap, lists);
            for list in 0..lists {
                roots.extend_list(list, mutator, node, nodes, list);
            }
            collects(heap, mutator, lists * nodes);
            (0..lists).for_each(|list| check_list(roots.get(list), nodes, list));
            drop(roots);
            collects(heap, mutator, 0);
        }
    });
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
