//! Objects of which some words may be pointers, tagged or to the inside, and may be anything: what they lead to lives, what they do
//! not lead to does not, and no word ends the process.

use heapwood_gc::settings::options::Concurrent;
use heapwood_gc::{Config, ObjectType};
use heapwood_gc_testing::*;
use heapwood_heap::Scan;

const WAYS: [Config; 8] = [
    FULL,
    FULL.mark_threads(3),
    FULL.mark_stack(8),
    FULL.mark_stack(8).mark_threads(2),
    YOUNG.concurrent(Concurrent::Off),
    PRECISE.verify(true),
    BY_SIGNALS,
    BY_SIGNALS.verify(true),
];

/// Fills holders of `words` words with words of all sorts: those at `at` keep their objects, the others do not.
fn check(config: Config, words: usize, scan: Scan, is_held: impl Fn(usize) -> bool, every: usize) {
    // More long ones than ranges wait on a small stack; and so few bytes that no collection comes before they are whole.
    let holders = if words > 10_000 { 12 } else { 3 };
    let heap = heap(config.min_heap(64 << 20));
    let m = attach(&heap);
    let ty: ObjectType = heap.types().register_scan(words * WORD, scan).unwrap();
    assert_eq!(m.types().type_for(words * WORD, scan).unwrap(), ty);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 1);
    let mut targets = vec![];
    for holder in 0..holders {
        let object = new(&m, ty);
        // The holders are a list that leads through a node.
        let link_node = new(&m, node);
        put(link_node, 0, roots.get(0));
        put(link_node, 1, object);
        roots.set(0, link_node);
        for i in (0..words).step_by(every) {
            let target = new(&m, node);
            put(target, 2, i);
            let tag = [0, 1, 7, 8, 17, 31][(i + holder) % 6];
            match i % 5 {
                // Inside the heap, and no object; outside; and small numbers.
                3 => put(object, i, target + (1 << 30)),
                4 => put(object, i, [usize::MAX, 1, 1 << 46, 4096][i % 4]),
                _ => put(object, i, target + tag),
            }
            targets.push((!target, i % 5 < 3 && is_held(i)));
        }
    }
    if m.incremental_marking().begin().unwrap() {
        while m.incremental_marking().step(100).unwrap() {}
        m.incremental_marking().finish().unwrap();
    }
    for _ in 0..2 {
        m.collect_young().unwrap();
        m.collect().unwrap();
        for &(target, is_held) in &targets {
            // A stack may keep what it likes.
            if is_held || !config.conservative_stacks {
                assert_eq!(is_alive(&heap, !target), is_held, "{config:?}");
            }
        }
    }
    assert_valid(&heap);
}

#[test]
fn a_mask_of_ambiguous_words_keeps_what_they_lead_to() {
    for config in WAYS {
        for (words, mask) in [
            (2, [0b01, 0, 0, 0]),
            (6, [0b101_101, 0, 0, 0]),
            (64, [0x8000_F0F0_0000_0003, 0, 0, 0]),
            (256, [7, 1 << 63 | 1, 0, 1 << 63]),
            (2000, [!0, 0, !0, 0xFFFF]),
        ] {
            let bit = |i: usize| i < 256 && mask[i / 64] >> (i % 64) & 1 == 1;
            check(config, words, Scan::AmbiguousMask(mask), bit, 1);
        }
    }
}

#[test]
fn a_prefix_of_ambiguous_words_keeps_what_they_lead_to() {
    for config in WAYS {
        for (words, prefix) in [(2, 1), (8, 3), (100, 99), (300, 270), (2000, 1024)] {
            check(config, words, Scan::AmbiguousPrefix(prefix), |i| i < prefix, 1);
        }
        check(config, 20_000, Scan::AmbiguousPrefix(15_001), |i| i < 15_001, 97);
        // Longer than the object.
        check(config, 100, Scan::AmbiguousPrefix(usize::MAX), |_| true, 1);
    }
}

#[test]
fn without_a_word_there_is_nothing_to_scan() {
    let heap = heap(FULL);
    for scan in [Scan::AmbiguousMask([0; 4]), Scan::AmbiguousPrefix(0)] {
        assert_eq!(heap.types().register_scan(64, scan).unwrap(), ObjectType::no_pointers(64));
    }
}
