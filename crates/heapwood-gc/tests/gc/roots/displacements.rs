//! Which words that may be pointers count: interior pointers switched off but for registered displacements, and words of stacks that
//! small objects end at.

use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc::{ClientRoots, CollectionPhases, Config, Heap, Mutator, ObjectType, Refusal};
use heapwood_gc_testing::*;
use heapwood_heap::Scan;
use std::hint::black_box;

const WAYS: [Config; 8] = [
    FULL,
    FULL.mark_threads(3),
    FULL.mark_stack(8),
    YOUNG.concurrent(Concurrent::Off),
    YOUNG.concurrent(Concurrent::Off).verify(true),
    PRECISE.verify(true).concurrent(Concurrent::Off),
    BY_SIGNALS,
    BY_SIGNALS.verify(true),
];

/// Words that a client names as those of a stack.
struct Stack(Vec<AtomicUsize>);

// SAFETY: it allocates nothing and has no lock.
unsafe impl CollectionPhases for Stack {
    fn roots(&self, roots: &mut ClientRoots<'_>) {
        let start = self.0.as_ptr() as usize;
        // SAFETY: they are never freed.
        unsafe { roots.stack(start..start + self.0.len() * WORD) };
    }
}

fn stack(words: usize) -> &'static Stack {
    Box::leak(Box::new(Stack((0..words).map(|_| AtomicUsize::new(0)).collect())))
}

fn collect(m: &Mutator) {
    m.collect_young().unwrap();
    m.collect().unwrap();
    if m.incremental_marking().begin().unwrap() {
        while m.incremental_marking().step(100).unwrap() {}
        m.incremental_marking().finish().unwrap();
    }
    m.collect().unwrap();
}

/// An object, hidden.
fn hidden(m: &Mutator, ty: ObjectType) -> usize {
    black_box(!new(m, ty))
}

/// What word leads to an object, and whether that keeps it if only 0, 1, 8 and 40 are registered.
const DISPLACEMENTS: [(usize, bool); 10] = [
    (0, true),
    (1, true),
    (2, false),
    (7, false),
    (8, true),
    (16, false),
    (17, false),
    (24, false),
    (40, true),
    (47, false),
];

/// Whether words count, by a collection in one stop, or by a marking in steps of objects that are old by then.
fn displacements_count(heap: &Heap, config: Config, is_off: bool, in_steps: bool) {
    let m = attach(heap);
    let node = masked(heap, 6, &[0]);
    let holders: [ObjectType; 4] = [
        ObjectType::conservative(DISPLACEMENTS.len() * WORD),
        heap.types().register_scan(DISPLACEMENTS.len() * WORD, Scan::AmbiguousMask([!0; 4])).unwrap(),
        heap.types().register_scan(DISPLACEMENTS.len() * WORD, Scan::AmbiguousPrefix(99)).unwrap(),
        // Long enough for slices.
        ObjectType::conservative(2000 * WORD),
    ];
    let range: Vec<AtomicUsize> = (0..DISPLACEMENTS.len()).map(|_| AtomicUsize::new(0)).collect();
    let client = stack(DISPLACEMENTS.len());
    heap.set_phases(Some(client)).unwrap();
    let start = range.as_ptr() as usize;
    // SAFETY: it is removed below.
    let token = unsafe { heap.roots().add_range(start, start + range.len() * WORD) }.unwrap();
    let mut roots = Slots::new(heap, holders.len());
    let mut wanted = vec![];
    for (i, &(displacement, is_registered)) in DISPLACEMENTS.iter().enumerate() {
        for (n, ty) in holders.iter().enumerate() {
            if i == 0 {
                roots.set(n, new(&m, *ty));
            }
            let target = hidden(&m, node);
            put(roots.get(n), i, !target + displacement);
            wanted.push((target, is_registered || !is_off, (n, displacement)));
        }
        let (of_range, of_stack) = (hidden(&m, node), hidden(&m, node));
        range[i].store(!of_range + displacement, Ordering::Relaxed);
        client.0[i].store(!of_stack + displacement, Ordering::Relaxed);
        wanted.push((of_range, is_registered || !is_off, (9, displacement)));
        wanted.push((of_stack, true, (10, displacement)));
    }
    if in_steps {
        heap.ambiguous_words().set_interior(true);
        m.collect().unwrap();
        heap.ambiguous_words().set_interior(!is_off);
    }
    if in_steps && m.incremental_marking().begin().unwrap() {
        while m.incremental_marking().step(100).unwrap() {}
        m.incremental_marking().finish().unwrap();
    } else {
        // One collection, so that each way is found out.
        m.collect().unwrap();
    }
    for &(target, is_kept, what) in &wanted {
        // A stack may keep what it likes.
        if is_kept || !config.conservative_stacks {
            assert_eq!(is_alive(heap, !target), is_kept, "{what:?} {config:?}");
        }
    }
    assert!(heap.roots().remove(token));
    heap.set_phases(None).unwrap();
}

#[test]
fn interior_words_count_or_only_registered_displacements_do() {
    for config in WAYS {
        let heap = heap(config.min_heap(64 << 20));
        let counts =
            |is_off| [false, true].map(|in_steps| displacements_count(&heap, config, is_off, in_steps));
        counts(false);
        let rules = heap.ambiguous_words();
        let _ = [1, 8, 40].map(|displacement| rules.register_displacement(displacement).unwrap());
        // Registered, and not yet needed.
        counts(false);
        rules.set_interior(false);
        counts(true);
        rules.set_interior(true);
        counts(false);
        assert_valid(&heap);
    }
}

#[test]
fn a_displacement_that_is_too_large_is_refused_with_a_sentence() {
    let heap = heap(FULL);
    let refused = heap.ambiguous_words().register_displacement(4096);
    assert_eq!(refused, Err(Refusal::Displacement { bytes: 4096, most: 4095 }));
    assert!(refused.unwrap_err().to_string().starts_with("a pointer 4096 bytes behind"));
}

/// From a stack a word keeps the small object that ends there, wherever that lies; from elsewhere it does not.
#[test]
fn a_word_behind_a_small_object_counts_on_stacks() {
    for config in WAYS {
        for ends in [true, false] {
            let heap = heap(config.min_heap(64 << 20));
            let m = attach(&heap);
            heap.ambiguous_words().set_ends(ends);
            assert_eq!(
                (heap.ambiguous_words().has_ends(), heap.ambiguous_words().has_interior()),
                (ends, true)
            );
            for (bytes, is_small) in
                [(16, true), (32, true), (48, true), (64, true), (80, false), (4096, false)]
            {
                let ty = ObjectType::no_pointers(bytes);
                // They fill their spans: the last of one ends where the next begins. Every second counts.
                for on_stack in [true, false] {
                    let words = stack(3000);
                    let objects: Vec<_> = (0..3000).map(|_| hidden(&m, ty)).collect();
                    for i in (0..3000).step_by(2) {
                        words.0[i].store(!objects[i] + bytes, Ordering::Relaxed);
                    }
                    let start = words.0.as_ptr() as usize;
                    // SAFETY: it is never freed.
                    let range = || unsafe { heap.roots().add_range(start, start + 3000 * WORD) }.unwrap();
                    let token = (!on_stack).then(range);
                    heap.set_phases(on_stack.then_some(words as _)).unwrap();
                    collect(&m);
                    let kept = (0..3000).step_by(2).filter(|&i| is_alive(&heap, !objects[i])).count();
                    if on_stack && ends && is_small {
                        assert_eq!(kept, 1500, "{bytes} {config:?}");
                    } else if !config.conservative_stacks {
                        // One that another begins behind: that one's word is the other's.
                        assert!(kept < 300, "{kept} of {bytes} {config:?}");
                    }
                    assert!(token.is_none_or(|token| heap.roots().remove(token)));
                }
                heap.set_phases(None).unwrap();
            }
            assert_valid(&heap);
        }
    }
}

/// A thread's own stack counts, and its words may lead inside with interior pointers off.
#[test]
fn a_threads_stack_has_interior_words_and_ends() {
    for config in [FULL.conservative_stacks(true), BY_SIGNALS] {
        let heap = heap(config);
        let m = attach(&heap);
        heap.ambiguous_words().set_interior(false);
        heap.ambiguous_words().set_ends(true);
        let inside = black_box(new(&m, node_type(&heap)) + 24);
        let behind = black_box(new(&m, node_type(&heap)) + 32);
        for _ in 0..3 {
            m.collect().unwrap();
            (0..2000).for_each(|_| put(new(&m, node_type(&heap)), 2, usize::MAX));
        }
        assert!(is_alive(&heap, black_box(inside) - 24) && is_alive(&heap, black_box(behind) - 32));
    }
}

/// A queue whose nodes hold where the node before them ends stays as short as it is.
#[test]
fn a_queue_of_end_pointers_stays_flat() {
    for config in WAYS {
        let heap = heap(config);
        let m = attach(&heap);
        heap.ambiguous_words().set_ends(true);
        let node = ObjectType::conservative(2 * WORD);
        let mut roots = Slots::new(&heap, 1);
        for _ in 0..300_000 {
            let next = new(&m, node);
            // The cell behind is the next one's, or nobody's.
            put(next, 0, if roots.get(0) == 0 { 0 } else { roots.get(0) + 2 * WORD });
            roots.set(0, next);
        }
        m.collect().unwrap();
        m.collect().unwrap();
        let live = heap.inspect().stats().live_objects;
        assert!(live < 3000, "{live} {config:?}");
    }
}
