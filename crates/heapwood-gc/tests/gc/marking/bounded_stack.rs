//! A deep structure with a tiny mark stack: nothing is lost however often it overflows. A million nodes in the list by default;
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
