//! Objects that the program frees, beside dead ones that no collection has found yet. What is dead may refer to what is freed
//! later: no program can know what a word of a stack keeps alive, and what was dropped is nobody's to clear.

use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_gc::settings::options::Generational;
use heapwood_gc::{Config, Heap, Mutator};
use heapwood_gc_testing::*;
use heapwood_layout::{TraceContext, TypeDescriptor};

static TRACED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn count(_: *mut u8, _: usize, _: *mut TraceContext) {
    TRACED.fetch_add(1, Ordering::Relaxed);
}

/// An object that refers to one with a trace function.
fn pair_of(heap: &Heap, mutator: &Mutator) -> (usize, usize) {
    let traced = heap.types().register(&TypeDescriptor::traced(32, count).unwrap()).unwrap();
    let (x, y) = (new(mutator, node_type(heap)), new(mutator, traced));
    link(mutator, x, 0, y);
    (x, y)
}

/// What a stray word alone keeps refers to a large object that is freed, whose pages are others' then.
fn keep_by_a_stray_word_and_free_what_it_refers_to(config: Config) {
    let heap = heap(config);
    let mutator = attach(&heap);
    let node = masked(&heap, 5000, &[0]);
    let stray = Box::new(AtomicUsize::new(0));
    let at = stray.as_ptr() as usize;
    // SAFETY: the word is in a box of its own until its root is removed.
    let token = unsafe { heap.roots().add_range(at, at + WORD) }.unwrap();
    for reused in [0, 1, 3, 7, 200] {
        let (x, y) = (new(&mutator, node_type(&heap)), new(&mutator, node));
        link(&mutator, x, 0, y);
        stray.store(x, Ordering::Relaxed);
        mutator.collect().unwrap();
        free(&mutator, y);
        for _ in 0..reused {
            new(&mutator, masked(&heap, 2000, &[0, 255]));
            new(&mutator, node_type(&heap));
        }
        mutator.collect().unwrap();
        mutator.collect().unwrap();
        assert_valid(&heap);
    }
    assert!(heap.roots().remove(token));
}

#[test]
fn what_a_stray_word_keeps_may_refer_to_what_is_freed() {
    for config in [FULL, FULL.mark_threads(3), FULL.mark_stack(1), FULL.verify(true), PRECISE] {
        keep_by_a_stray_word_and_free_what_it_refers_to(config);
    }
}

/// What can be reached from a precise root refers to an object that is freed nevertheless, small or large: verify mode says so,
/// though it cannot say it of whatever else refers to one.
#[test]
fn verify_mode_finds_what_refers_to_a_freed_object() {
    for bytes in [16, 1 << 20] {
        let ended = Child::new().called(bytes).run(|| keep_what_refers_to_a_freed_object(bytes));
        ended.corrupt("which the program has freed");
    }
}

fn keep_what_refers_to_a_freed_object(bytes: usize) {
    let heap = heap(PRECISE.verify(true));
    let mutator = attach(&heap);
    let (mut kept, node) = (Slots::new(&heap, 1), node_type(&heap));
    // Behind others, which are right.
    for _ in 0..1000 {
        let newer = new(&mutator, node);
        link(&mutator, newer, 1, kept.get(0));
        kept.set(0, newer);
    }
    // SAFETY: the first five hundred of a list of a thousand.
    let at = (0..500).fold(kept.get(0), |at, _| unsafe { (at as *const usize).add(1).read() });
    let x = new(&mutator, node);
    link(&mutator, at, 0, x);
    let y = new(&mutator, pointer_free(&heap, bytes));
    link(&mutator, x, 0, y);
    mutator.collect().unwrap();
    free(&mutator, y);
    mutator.collect().unwrap();
}

/// A word that may or may not be a pointer keeps a dead object, but what that refers to and was freed is not looked into: the
/// trace function was called with a freed object's memory.
#[test]
fn what_an_ambiguous_word_keeps_may_refer_to_what_is_freed() {
    let heap = heap(PRECISE);
    let mutator = attach(&heap);
    let (x, y) = pair_of(&heap, &mutator);
    let words = Box::new([x]);
    let start = words.as_ptr() as usize;
    // SAFETY: the range is in a box of its own until the root is removed.
    let root = unsafe { heap.roots().add_range(start, start + WORD) }.unwrap();
    mutator.collect().unwrap();
    assert_eq!(TRACED.load(Ordering::Relaxed), 1);
    free(&mutator, y);
    mutator.collect().unwrap();
    mutator.collect().unwrap();
    assert_eq!(TRACED.load(Ordering::Relaxed), 1, "what was freed is not looked into");
    assert_valid(&heap);
    assert!(heap.roots().remove(root));
}

/// What is freed and made again, small and large, of many shapes, takes no more memory than it took once, and no collection.
#[test]
fn a_program_that_frees_what_it_makes_does_not_grow_and_does_not_collect() {
    let heap = heap(PRECISE);
    let mutator = attach(&heap);
    let types: Vec<_> = [2, 5, 16, 100, 800, 5000]
        .into_iter()
        .flat_map(|words| [masked(&heap, words, &[1]), pointer_free(&heap, words * WORD)])
        .collect();
    let (mut most, mut kept) = (0, Slots::new(&heap, 60));
    for round in 0..2000 {
        (0..60).for_each(|i| kept.set(i, new(&mutator, types[(i + round) % types.len()])));
        for i in 0..60 {
            let at = kept.get(i);
            kept.set(i, 0);
            free(&mutator, at);
        }
        let stats = heap.inspect().stats();
        if round == 100 {
            most = stats.committed_bytes;
        }
        assert!(round <= 100 || stats.committed_bytes == most, "it grew in round {round}");
        assert_eq!(stats.collections, 0, "it collected in round {round}");
    }
    assert_valid(&heap);
}

/// What is dead may refer to what the program has freed, and a young collection looks at what is dead where it is old: what
/// lies there now is not taken for an object, nor is it no object's fault.
#[test]
fn a_young_collection_is_not_misled_by_what_is_dead() {
    // The memory of what was freed is another object's, in the middle; or nobody's.
    for (again, traced) in [(true, true), (false, true), (true, false), (false, false)] {
        let heap = heap(PRECISE.generational(Generational::Always));
        let mutator = attach(&heap);
        let traced_type = TypeDescriptor::traced(4 * WORD, trace_word::<0>).unwrap();
        let (node, traced_type) = (node_type(&heap), heap.types().register(&traced_type).unwrap());
        let large = |pages: usize| pointer_free(&heap, pages << 13);
        let mut roots = Slots::new(&heap, 2);
        roots.set(0, new(&mutator, if traced { traced_type } else { node }));
        mutator.collect().unwrap();
        let (first, second) = (new(&mutator, large(6)), new(&mutator, large(6)));
        match traced {
            // An old one refers to it itself, by words that only its function knows;
            true => link(&mutator, roots.get(0), 0, second),
            // or to a young one that does.
            false => {
                let between = new(&mutator, node);
                put(between, 0, second);
                link(&mutator, roots.get(0), 0, between);
            }
        }
        // All that refers to the large ones dies, and then they are freed.
        roots.set(0, 0);
        for object in [first, second] {
            free(&mutator, object);
        }
        if again {
            let wide = masked(&heap, 12 << 10, &[0, 1, 255]);
            roots.set(1, new(&mutator, wide));
            let inside = roots.get(1)..roots.get(1) + (12 << 13);
            assert!(inside.contains(&second) && inside.start != second);
            (0..12 << 10).for_each(|word| put(roots.get(1), word, if word < 256 { 0 } else { word }));
        }
        let before = heap.inspect().stats();
        mutator.collect_young().unwrap();
        assert_eq!(heap.inspect().stats().young_collections, before.young_collections + 1);
        assert_swept_and_valid(&heap);
        assert_eq!(mutator.find(second).map(|found| found.base.get()), again.then_some(roots.get(1)));
        mutator.collect().unwrap();
        assert_eq!(heap.inspect().stats().live_objects, again as usize);
    }
}
