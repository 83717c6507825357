//! Small programs that make lists and check them.

use crate::heaps::attach;
use crate::objects::{check_list, masked, new, node_type, pointer_free, put};
use crate::roots::{Framed, Slots};
use heapwood_gc::{Heap, Mutator};

/// A list of a GiB, which nothing refers to any more.
pub fn a_dropped_gibibyte(heap: &Heap, mutator: &Mutator) {
    let node = masked(heap, 8, &[0]);
    let mut roots = Slots::new(heap, 1);
    for _ in 0..(1 << 30) / 64 {
        let object = new(mutator, node);
        put(object, 0, roots.get(0));
        roots.set(0, object);
    }
}

/// Builds lists and checks them, polling and collecting on the way.
pub fn build_and_check(heap: &Heap, seed: usize, rounds: usize, collect_every: usize) {
    let mutator = attach(heap);
    let node = node_type(heap);
    let wide = masked(heap, 90, &[0, 70]);
    let data = pointer_free(heap, 40 + seed % 100);
    let mut frame = Framed::<2>::new(&mutator);
    for round in 0..rounds {
        frame.set(0, 0);
        let n = 200 + (seed * 31 + round * 17) % 300;
        frame.extend_list(0, if round % 4 == 0 { wide } else { node }, n, seed << 32 | round);
        new(&mutator, data);
        mutator.safepoint();
        if round % collect_every == 0 {
            mutator.collect().unwrap();
        }
        // The list before stays for one round more, reached from the other slot.
        check_list(frame.get(0), n, seed << 32 | round);
        frame.set(1, frame.get(0));
        assert_eq!(heap.objects().find(0), None);
    }
}
