//! Words of objects without a layout, which lead to objects of every size class, to their first bytes and to others, to objects that
//! are old and to new ones. What a word leads to or into stays, its neighbours go; words that lead to nothing do no harm.

use heapwood_gc::settings::options::{Concurrent, Generational};
use heapwood_gc::{Config, Heap, Mutator};
use heapwood_gc_testing::*;
use heapwood_layout::TypeDescriptor;

/// Objects of each size: in several spans, where a span has few.
const EACH: usize = 24;

/// An object, and what is to become of it.
struct Target {
    object: usize,
    /// The words that lead to it.
    words: Vec<usize>,
}

fn sizes() -> Vec<usize> {
    let linear = (1..=16).map(|granules| granules * 16);
    let others =
        [8, 24, 40, 288, 500, 520, 1008, 1024, 2000, 2048, 3000, 5000, 8192, 20_000, 32_768, 33_000, 100_000];
    linear.chain(others).collect()
}

/// Makes the objects; a third of them gets a word, a third several, and nothing leads to the others.
fn targets(heap: &Heap, mutator: &Mutator, roots: &mut Slots<'_>, rng: &mut Rng) -> Vec<Target> {
    let mut targets = Vec::new();
    for bytes in sizes() {
        let ty = pointer_free(heap, bytes);
        for i in 0..EACH {
            let object = new(mutator, ty);
            roots.set(targets.len(), object);
            let offsets = [0, 1, 7, bytes / 2, bytes - 1, rng.below(bytes)];
            let words = match i % 3 {
                0 => vec![object + offsets[rng.below(6)]],
                1 => offsets.iter().map(|offset| object + offset).collect(),
                _ => vec![],
            };
            targets.push(Target { object, words });
        }
    }
    targets
}

/// Puts the words into conservative objects of so many words, which `holders` lead to, each with a word that leads nowhere.
fn hold(heap: &Heap, mutator: &Mutator, holders: &mut Slots<'_>, words: usize, targets: &[Target]) {
    let ty = heap.types().register(&TypeDescriptor::conservative(words * WORD).unwrap()).unwrap();
    let all: Vec<usize> = targets.iter().flat_map(|target| target.words.iter().copied()).collect();
    // Within the heap's addresses, and not in use.
    let unused = targets[0].object + (1 << 30);
    let nowhere = [1, usize::MAX, 1 << 63, unused, unused + 1, targets[0].object - (4 << 30)];
    for (i, part) in all.chunks(words - 1).enumerate() {
        holders.set(i, new(mutator, ty));
        for (word, &value) in part.iter().enumerate() {
            link(mutator, holders.get(i), word, value);
        }
        // It stays there for good: `link` says which objects may be stored.
        // SAFETY: a word of the object, whose type allows anything.
        unsafe { (holders.get(i) as *mut usize).add(words - 1).write(nowhere[i % nowhere.len()]) };
    }
}

fn play(config: Config, words: usize, are_old: bool, collect: impl Fn(&Mutator)) {
    // Nothing is collected before the words are there.
    let heap = heap(config.min_heap(256 << 20));
    let mutator = attach(&heap);
    let mut rng = Rng::new(words as u64);
    let mut roots = Slots::new(&heap, sizes().len() * EACH);
    let targets = targets(&heap, &mutator, &mut roots, &mut rng);
    let all: usize = targets.iter().map(|target| target.words.len()).sum();
    let mut holders = Slots::new(&heap, all.div_ceil(words - 1));
    hold(&heap, &mutator, &mut holders, words, &targets);
    if are_old {
        mutator.collect().unwrap();
    }
    (0..targets.len()).for_each(|i| roots.set(i, 0));
    for _ in 0..2 {
        collect(&mutator);
        for target in &targets {
            let is_kept = !target.words.is_empty();
            assert_eq!(
                lives(&heap, target.object),
                is_kept,
                "{words} words, old {are_old}: {:x?}",
                target.words
            );
        }
    }
    assert_swept_and_valid(&heap);
}

/// Holders that the marking loop scans itself, that it scans at once, and that wait as ranges.
const HOLDERS: [usize; 6] = [2, 3, 8, 64, 100, 1500];

#[test]
fn words_keep_what_they_lead_into_in_a_stop() {
    let many = FULL.mark_threads(2);
    for config in [FULL, FULL.mark_stack(4), FULL.verify(true), many, many.mark_stack(4)] {
        for words in HOLDERS {
            for are_old in [false, true] {
                play(config, words, are_old, |mutator| mutator.collect().unwrap());
            }
        }
    }
}

#[test]
fn words_keep_what_they_lead_into_beside_the_program() {
    let config = PRECISE.concurrent(Concurrent::Always);
    for config in [config, config.generational(Generational::Off), config.mark_stack(4)] {
        for words in HOLDERS {
            for are_old in [false, true] {
                play(config, words, are_old, |mutator| {
                    let ticket = mutator.start_collection().unwrap();
                    mutator.wait_for(ticket).unwrap();
                });
            }
        }
    }
}

#[test]
fn words_keep_what_they_lead_into_in_steps() {
    for config in [FULL, FULL.mark_stack(4)] {
        for words in HOLDERS {
            for are_old in [false, true] {
                play(config, words, are_old, |mutator| {
                    let marking = mutator.incremental_marking();
                    marking.begin().unwrap();
                    while marking.step(7).unwrap() {}
                    marking.finish().unwrap();
                });
            }
        }
    }
}

#[test]
fn words_keep_what_they_lead_into_in_young_collections() {
    for words in HOLDERS {
        play(YOUNG, words, false, |mutator| mutator.collect_young().unwrap());
    }
}
