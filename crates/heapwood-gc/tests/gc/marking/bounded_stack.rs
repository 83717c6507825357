//! Deep and wide structures with a tiny mark stack: nothing is lost however often it overflows. A million nodes in the list by default;
//! `HEAPWOOD_LONG=1` asks for ten times as many.

use heapwood_gc::Config;
use heapwood_gc_testing::*;

fn scale(full: usize) -> usize {
    if is_long() { full } else { full / 10 }
}

fn config(mark_stack: u32) -> Config {
    PRECISE.min_heap(1 << 30).mark_stack(mark_stack)
}

#[test]
fn a_long_list_is_marked_with_a_tiny_stack() {
    let n = scale(10_000_000);
    let heap = heap(config(64));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 1);
    roots.extend_list(0, &mutator, node, n, 3);
    for _ in 0..2 {
        mutator.collect().unwrap();
        assert_eq!(heap.inspect().stats().live_objects, n);
    }
    check_list(roots.get(0), n, 3);
    roots.set(0, 0);
    mutator.collect().unwrap();
    assert_eq!(heap.inspect().stats().live_objects, 0);
}

/// A complete tree, whose edges come faster than they are followed.
#[test]
fn a_complete_tree_is_marked_with_a_tiny_stack() {
    for edges in [1, 3, 64] {
        let heap = heap(config(edges));
        let mutator = attach(&heap);
        let node = node_type(&heap);
        let n = scale(1 << 20);
        let mut roots = Slots::new(&heap, 1);
        // Number 0 is the root; the children of i are 2i+1 and 2i+2. Kept by the root only, found by the path.
        roots.set(0, new(&mutator, node));
        for i in 1..n {
            let mut at = roots.get(0);
            let path = i + 1;
            for bit in (1..path.ilog2()).rev() {
                at = get(at, path >> bit & 1);
            }
            let child = new(&mutator, node);
            put(child, 2, i);
            link(&mutator, at, path & 1, child);
        }
        mutator.collect().unwrap();
        assert_eq!(heap.inspect().stats().live_objects, n);
        assert!(heap.inspect().stats().mark_overflows > 0);
    }
}

/// More large arrays than the range stack holds, each in several pieces.
#[test]
fn more_large_arrays_are_marked_than_the_stack_of_ranges_holds() {
    let heap = heap(config(4));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let wide: Vec<usize> = (0..256).collect();
    let top = heapwood_gc::slice_scan(&heapwood_layout::TypeDescriptor::masked(WORD, &[1]).unwrap(), 0);
    let size = 3000 * WORD;
    let slice = mutator.types().type_for(size, top.unwrap()).unwrap();
    let inner = masked(&heap, 256, &wide);
    let mut roots = Slots::new(&heap, 2);
    roots.set(0, new(&mutator, slice));
    let mut made = 1;
    for i in 0..60 {
        let child = new(&mutator, slice);
        link(&mutator, roots.get(0), i * 50, child);
        for j in 0..40 {
            let grandchild = new(&mutator, if j % 4 == 0 { inner } else { node });
            link(&mutator, child, j * 75 + 1, grandchild);
            let leaf = new(&mutator, node);
            link(&mutator, grandchild, 1, leaf);
            made += 2;
        }
        made += 1;
    }
    mutator.collect().unwrap();
    assert_eq!(heap.inspect().stats().live_objects, made);
    assert!(heap.inspect().stats().mark_overflows > 0);
}
