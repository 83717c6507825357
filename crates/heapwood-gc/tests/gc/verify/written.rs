//! Stores into dead objects: verify mode says what was there, whether the memory is still free, was handed out again, or is another
//! object's by then; and says nothing of a program that makes none.

use heapwood_gc::settings::options::{Generational, Stop};
use heapwood_gc::{Config, Heap, Mutator};
use heapwood_gc_testing::*;

const VERIFY: Config = PRECISE.verify(true).background_release(false);

/// Objects of a size, of which the first and the last live: the address of one between.
fn dead_among(heap: &Heap, m: &Mutator, roots: &mut Slots<'_>, bytes: usize, pointers: bool) -> usize {
    let ty = if pointers { masked(heap, bytes / WORD, &[0]) } else { pointer_free(heap, bytes) };
    let all: Vec<usize> = (0..5).map(|_| new(m, ty)).collect();
    roots.set(0, all[0]);
    roots.set(1, all[4]);
    m.collect().unwrap();
    // The span is no longer the mutator's, so that its free cells are used.
    m.collect().unwrap();
    all[2]
}

fn says_so(config: Config, bytes: usize, pointers: bool, after: impl Fn(&Heap, &Mutator, usize), text: &str) {
    let child = Child::new().called((bytes, pointers, text)).run(|| {
        let heap = heap(config);
        let m = attach(&heap);
        let mut roots = Slots::new(&heap, 2);
        let dead = dead_among(&heap, &m, &mut roots, bytes, pointers);
        put(dead, bytes / WORD - 1, 0x2a);
        after(&heap, &m, dead);
        m.collect().unwrap();
        assert!(heap.objects().find(dead).is_none_or(|found| found.base.get() == dead));
    });
    let word = bytes / WORD - 1;
    child
        .well()
        .says(&format!("heapwood: verify: word {word} of the memory of the object at 0x"))
        .says(&format!("({bytes} bytes{text}) was written after the object was gone: it holds 0x2a"));
}

#[test]
fn a_store_into_a_dead_object_is_told_at_the_next_collection() {
    for (bytes, pointers) in [(32, true), (32, false), (1024, true), (40 << 10, true), (100 << 10, false)] {
        says_so(VERIFY, bytes, pointers, |_, _, _| (), ", found dead by collection 1");
    }
}

/// The cell is another object's before a collection looks.
#[test]
fn a_store_into_a_dead_object_is_told_when_its_memory_is_used_again() {
    for (bytes, pointers) in [(32, true), (32, false), (1024, true)] {
        let again = |heap: &Heap, m: &Mutator, dead| {
            let ty = if pointers { masked(heap, bytes / WORD, &[0]) } else { pointer_free(heap, bytes) };
            assert!((0..1000).any(|_| new(m, ty) == dead), "the cell is used again");
        };
        for config in [VERIFY, VERIFY.sites(false), VERIFY.generational(Generational::Always)] {
            says_so(config, bytes, pointers, again, ", found dead by collection 1");
        }
    }
}

/// A large object's pages are another object's, of another size.
#[test]
fn a_store_into_a_dead_large_object_is_told_when_its_pages_are_used_again() {
    let again = |heap: &Heap, m: &Mutator, dead| {
        let ty = masked(heap, 6000, &[1]);
        let inside = |at| (at..at + 48_000).contains(&(dead + (100 << 10) - 1));
        assert!((0..20).any(|_| inside(new(m, ty))), "the pages are used again");
    };
    says_so(VERIFY, 100 << 10, false, again, ", found dead by collection 1");
}

#[test]
fn a_store_into_memory_that_is_released_is_told() {
    let release = |heap: &Heap, _: &Mutator, _| _ = heap.memory().release_free();
    says_so(VERIFY, 100 << 10, false, release, ", found dead by collection 1");
}

/// All objects of a span are dead: its pages are nobody's.
#[test]
fn a_store_into_free_pages_is_told() {
    let child = Child::new().run(|| {
        let heap = heap(VERIFY);
        let m = attach(&heap);
        let dead = new(&m, node_type(&heap));
        m.collect().unwrap();
        put(dead, 1, 0x2a);
        m.collect().unwrap();
        m.collect().unwrap();
    });
    let child = child
        .well()
        .says("word 1 of the memory of the object at 0x")
        .says("found dead by collection 1) was written");
    assert_eq!(child.err.matches("was written").count(), 1, "each is told once");
}

#[test]
fn a_store_into_an_object_that_the_program_has_freed_is_told() {
    for (bytes, again) in [(64, false), (64, true), (100 << 10, false)] {
        let child = Child::new().called((bytes, again)).run(|| {
            let heap = heap(VERIFY);
            let m = attach(&heap);
            for ty in [pointer_free(&heap, bytes), masked(&heap, bytes / WORD, &[3])] {
                let object = new(&m, ty);
                free(&m, object);
                put(object, bytes / WORD - 2, 0x2a);
                if again {
                    assert!((0..1000).any(|_| new(&m, ty) == object));
                }
                m.collect().unwrap();
            }
        });
        let child =
            child.well().says(", freed by the program) was written after the object was gone: it holds 0x2a");
        assert_eq!(child.err.matches("was written").count(), 2);
    }
}

/// Programs that store nowhere else, with all ways to hand memory out: nothing is told.
#[test]
fn nothing_is_told_of_a_right_program() {
    let configs = [
        VERIFY,
        VERIFY.sites(false),
        VERIFY.generational(Generational::Always).sites(false),
        VERIFY.conservative_stacks(true).stop(Stop::Signals).sites(false),
        VERIFY.background_release(true),
    ];
    let child = Child::new().run(|| configs.into_iter().for_each(churn));
    assert!(!child.well().err.contains("was written"));
}

fn churn(config: Config) {
    let heap = heap(config.min_heap(1 << 20));
    let m = attach(&heap);
    let mut roots = Slots::new(&heap, 40);
    let types: Vec<_> = [2, 3, 7, 16, 60, 300, 2000, 9000]
        .into_iter()
        .flat_map(|words| [masked(&heap, words, &[1]), pointer_free(&heap, words * WORD)])
        .collect();
    let mut rng = Rng::new(7);
    for round in 0..6000 {
        let ty = types[rng.below(types.len())];
        let (object, at) = (new(&m, ty), rng.below(40));
        put(object, 0, round | 1);
        if rng.below(6) == 0 && roots.get(at) != 0 {
            let gone = roots.get(at);
            roots.set(at, 0);
            free(&m, gone);
        }
        roots.set(at, object);
        match round % 500 {
            100 => m.collect().unwrap(),
            300 => m.collect_young().unwrap(),
            400 => _ = heap.memory().release_free(),
            _ => {}
        }
    }
    assert_valid(&heap);
}
