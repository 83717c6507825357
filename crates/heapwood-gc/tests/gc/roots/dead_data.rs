//! With conservative stacks what is dead must still go: nothing of the collector's own (its registers, its frames,
//! the heap's base) may keep a dropped structure alive. And what is alive but half made must stay.

use core::hint::black_box;
use heapwood_gc::{Config, Heap, Mutator, ObjectType, slice_scan};
use heapwood_gc_testing::*;

const CONSERVATIVE: Config = PRECISE.conservative_stacks(true);
const NODES: usize = 50_000;

#[inline(never)]
fn build_list(mutator: &Mutator, node: ObjectType) -> usize {
    let mut head = 0;
    extend_list(mutator, node, NODES, 0, |h| {
        head = h.unwrap_or(head);
        head
    });
    mutator.collect().unwrap();
    check_list(head, NODES, 0);
    // Close the ring: now any pointer to any node keeps all.
    let mut last = head;
    while get(last, 0) != 0 {
        last = get(last, 0);
    }
    link(mutator, last, 0, head);
    NODES
}

fn dies(build: impl Fn(&Heap, &Mutator)) {
    let heap = heap(CONSERVATIVE);
    let mutator = attach(&heap);
    for _ in 0..3 {
        build(&heap, &mutator);
        assert!(heap.inspect().stats().live_objects > 1000, "it was there");
        wipe_stack();
        mutator.collect().unwrap();
        let stats = heap.inspect().stats();
        assert!(stats.live_bytes < 64 << 10, "{} objects are kept", stats.live_objects);
    }
}

#[test]
fn a_dropped_ring_goes() {
    dies(|heap, m| {
        black_box(build_list(m, node_type(heap)));
    });
}

#[test]
fn a_dropped_large_array_goes() {
    #[inline(never)]
    fn build(heap: &Heap, m: &Mutator) {
        let element = heapwood_layout::TypeDescriptor::masked(WORD, &[1]).unwrap();
        let size = 20_000 * WORD;
        let array = black_box(new(m, m.types().type_for(size, slice_scan(&element, 0).unwrap()).unwrap()));
        let node = node_type(heap);
        for i in 0..20_000 {
            let child = new(m, node);
            link(m, array, i, child);
            link(m, child, 0, array);
        }
        m.collect().unwrap();
        assert_eq!(get(get(array, 19_999), 0), black_box(array));
    }
    dies(build);
}

/// The heap's first page is never used, so that pointers to its start keep nothing.
#[test]
fn pointers_to_the_start_of_the_heap_keep_nothing() {
    let heap = heap(PRECISE);
    let mutator = attach(&heap);
    let base = heap.space().base().get();
    let words =
        [base, base + 8, base + heapwood_pages::PAGE_SIZE - 1, base + heap.space().committed_end() - 1, !0];
    // SAFETY: the words outlive the root.
    let token = unsafe {
        heap.roots().add_range(words.as_ptr() as usize, words.as_ptr() as usize + size_of_val(&words))
    };
    // Of a heap that has never grown, and of one with pages.
    for objects in [0, 1000] {
        (0..objects).for_each(|_| _ = new(&mutator, node_type(&heap)));
        mutator.collect().unwrap();
        assert_eq!(heap.inspect().stats().live_objects, 0);
    }
    assert!(heap.roots().remove(black_box(token).unwrap()));
    black_box(words);
}

/// An unaligned range covers the whole words in it, and no others.
#[test]
fn unaligned_ranges_cover_their_whole_words() {
    let heap = heap(PRECISE);
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let words: Box<[usize]> = (0..4).map(|_| new(&mutator, node)).collect();
    let start = words.as_ptr() as usize;
    for (from, to, alive) in
        [(0, 32, 4), (4, 32, 3), (4, 16, 1), (1, 31, 2), (8, 23, 1), (3, 7, 0), (16, 16, 0)]
    {
        let again: Vec<usize> = (0..4).map(|_| new(&mutator, node)).collect();
        for (i, object) in again.into_iter().enumerate() {
            // SAFETY: a word of the box; volatile, since the collector reads it.
            unsafe { words.as_ptr().cast_mut().add(i).write_volatile(object) };
        }
        // SAFETY: the words outlive the root.
        let token = unsafe { heap.roots().add_range(start + from, start + to) }.unwrap();
        mutator.collect().unwrap();
        assert_eq!(heap.inspect().stats().live_objects, alive, "{from}..{to}");
        assert!(heap.roots().remove(token));
    }
}

#[inline(never)]
fn parent_before_children(mutator: &Mutator, parent: ObjectType, node: ObjectType) -> usize {
    let object = black_box(new(mutator, parent));
    for i in 0..parent.size() / WORD {
        // Collects: the parent is caught with i children, and is not new afterwards.
        let child = new(mutator, node);
        put(child, 2, i * 3 + 1);
        link(mutator, object, i, child);
    }
    object
}

#[test]
fn a_parent_caught_half_initialised_loses_nothing() {
    for verify in [false, true] {
        let heap = heap(CONSERVATIVE.verify(verify).stress(true));
        let mutator = attach(&heap);
        let node = node_type(&heap);
        for words in [2, 10, 64, 100, 256] {
            let parent = masked(&heap, words, &(0..words).collect::<Vec<_>>());
            let object = black_box(parent_before_children(&mutator, parent, node));
            wipe_stack();
            mutator.collect().unwrap();
            for i in 0..words {
                assert_eq!(get(get(object, i), 2), i * 3 + 1);
            }
            black_box(object);
        }
        assert_eq!(heap.inspect().stats().barrier_violations, 0);
        assert!(heap.inspect().stats().collections > 400);
    }
}
