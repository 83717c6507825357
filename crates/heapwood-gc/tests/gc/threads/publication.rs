//! Publication on real threads: each makes objects of every kind and stores them, with no lock, where the others find them, follow
//! them, and keep them. What a reader finds must be whole, and what it keeps must live. Beside them the heap is collected, in stops,
//! young or in full, or marked a few edges at a time. On x86-64, which keeps the order of stores, it is the compiler's order that
//! this tests, and the write barrier's questions about the objects of other threads; on aarch64 the processor's, too. The models of
//! the same are heapwood-heap's `model/publication.rs`. Invariant: a node says its kind, its number, and the number turned over.

use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_gc::settings::options::Generational;
use heapwood_gc::{Config, Heap, Mutator, ObjectType};
use heapwood_gc_testing::*;
use heapwood_heap::ObjectRef;
use heapwood_layout::{TypeDescriptor, WORD};

const THREADS: usize = 4;
/// Words of the large object that all threads share.
const SHARED: usize = 4500;
/// Its slots in use, few, so that threads meet.
const IN_USE: usize = 64;
/// What each thread keeps of others' objects.
const KEPT: usize = 32;

/// Words of every node: a pointer to another, its kind, its number, and that turned over, at the end.
const NEXT: usize = 0;
const KIND: usize = 1;
const NUMBER: usize = 2;

/// A sort of node, of so many words.
#[derive(Clone, Copy)]
struct Kind {
    ty: ObjectType,
    words: usize,
}

/// Small cells, layouts that share spans, a trace function, conservative words, and objects with pages of their own.
fn kinds(heap: &Heap) -> Vec<Kind> {
    let masks = [4, 5, 17, 100, 6000].map(|words| (masked(heap, words, &[NEXT]), words));
    let others = [
        (TypeDescriptor::traced(12 * WORD, trace_word::<NEXT>).unwrap(), 12),
        (TypeDescriptor::conservative(9 * WORD).unwrap(), 9),
    ];
    let others = others.map(|(described, words)| (heap.types().register(&described).unwrap(), words));
    masks.into_iter().chain(others).map(|(ty, words)| Kind { ty, words }).collect()
}

/// A new node that leads to `next`.
fn node(m: &Mutator, kinds: &[Kind], kind: usize, number: usize, next: usize) -> usize {
    let Kind { ty, words } = kinds[kind];
    let object = new(m, ty);
    put(object, NEXT, next);
    put(object, KIND, kind);
    put(object, NUMBER, number);
    put(object, words - 1, !number);
    object
}

/// Follows a node that another thread may just have made.
fn check(kinds: &[Kind], object: usize) -> usize {
    let (kind, number) = (get(object, KIND), get(object, NUMBER));
    assert!(kind < kinds.len(), "{object:#x} is no node: its kind is {kind:#x}");
    let last = get(object, kinds[kind].words - 1);
    assert_eq!(last, !number, "node {object:#x} of kind {kind} is not whole");
    get(object, NEXT)
}

fn slot(object: usize, word: usize) -> &'static AtomicUsize {
    // SAFETY: a slot of an object that a handle keeps.
    unsafe { AtomicUsize::from_ptr((object as *mut usize).add(word)) }
}

/// What one thread does.
fn exchange(m: &Mutator, kinds: &[Kind], (shared, kept): (usize, usize), seed: usize, rounds: usize) {
    let mut rng = Rng::new(seed as u64);
    let mut random = |below: usize| rng.below(below);
    for round in 0..rounds {
        // No poll comes between the load and the last use.
        let found = slot(shared, random(IN_USE)).load(Ordering::Relaxed);
        if found != 0 {
            let next = check(kinds, found);
            if next != 0 {
                check(kinds, next);
            }
            link(m, kept, random(KEPT), found);
            // What another thread has made since the last collection need not be known.
            assert!(
                m.find(found).is_none_or(|object| object.base.get() == found),
                "{found:#x} is in another"
            );
        }
        for at in [random(KEPT), random(KEPT)] {
            let mine = get(kept, at);
            if mine != 0 {
                check(kinds, mine);
            }
        }
        let number = round * THREADS + seed;
        // Large ones are rarer.
        let kind = if round % 50 == 0 { 4 } else { [0, 1, 2, 3, 5, 6][random(6)] };
        let inner = node(m, kinds, random(2), number, 0);
        // It is in the keeping of this thread until the other refers to it.
        link(m, kept, KEPT, inner);
        let outer = node(m, kinds, kind, number, get(kept, KEPT));
        let at = random(IN_USE);
        match random(3) {
            0 => {
                let source = [outer];
                // SAFETY: the slot is one of the shared object, and the value an object.
                unsafe {
                    m.barrier().copy(ObjectRef::new(shared), slot(shared, at).as_ptr(), source.as_ptr(), 1)
                };
            }
            _ => link(m, shared, at, outer),
        }
        m.safepoint();
    }
}

fn rounds() -> usize {
    let usual = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };
    match (is_long(), is_thorough()) {
        (true, _) => usual * 50,
        (false, true) => usual,
        (false, false) => usual / 4,
    }
}

/// Lets threads exchange nodes while `beside` goes on until they are done.
fn play(config: Config, rounds: usize, beside: impl Fn(&Mutator)) {
    let heap = heap(config);
    let mutator = attach(&heap);
    let kinds = kinds(&heap);
    // Slots are their first words, as many as a mask has bits.
    let all = |words: usize| {
        let slots = [u64::MAX; 4].map(|bits| if words >= 64 { bits } else { bits >> (64 - words) });
        let blocks = if words >= 256 { 4 } else { 1 };
        heap.types().register(&TypeDescriptor::masked(words * WORD, &slots[..blocks]).unwrap()).unwrap()
    };
    let held = |words| {
        let held = handle(&heap, new(&mutator, all(words))).unwrap();
        // SAFETY: the handle is held.
        (held, unsafe { held.get() })
    };
    let (shared, (owner, kept)) =
        (held(SHARED), (0..THREADS).map(|_| held(KEPT + 1)).unzip::<_, _, Vec<_>, Vec<_>>());
    std::thread::scope(|scope| {
        let (heap, kinds) = (&heap, &kinds);
        let threads: Vec<_> = (0..THREADS)
            .map(|t| {
                let kept = kept[t];
                scope.spawn(move || exchange(&attach(heap), kinds, (shared.1, kept), t, rounds))
            })
            .collect();
        while !threads.iter().all(|thread| thread.is_finished()) {
            beside(&mutator);
            mutator.blocking(std::thread::yield_now).unwrap();
        }
        let ends =
            mutator.blocking(|| threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()).unwrap();
        ends.into_iter().for_each(|end| end.unwrap());
    });
    let stats = heap.inspect().stats();
    assert!(!is_thorough() || stats.collections > 20, "{stats:?}");
    mutator.incremental_marking().finish().unwrap();
    mutator.collect().unwrap();
    for &object in &kept {
        (0..=KEPT).map(|word| get(object, word)).filter(|&at| at != 0).for_each(|at| _ = check(&kinds, at));
    }
    let kept_any = kept.iter().any(|&object| (0..KEPT).any(|word| get(object, word) != 0));
    assert!(!is_thorough() || kept_any, "no thread met an object of another");
    assert_swept_and_valid(&heap);
    assert_eq!(heap.inspect().stats().barrier_violations, 0);
    owner.into_iter().chain([shared.0]).for_each(|held| assert!(heap.roots().free_handle(held)));
}

#[test]
fn objects_are_published_whole_beside_full_collections() {
    play(FULL, rounds(), |_| ());
}

#[test]
fn objects_are_published_whole_beside_young_collections() {
    play(PRECISE.generational(Generational::Always), rounds(), |_| ());
}

#[test]
fn objects_are_published_whole_in_verify_mode() {
    // A nursery has 4 MiB for each thread, of which a round takes a KiB.
    play(PRECISE.verify(true).generational(Generational::Always), rounds() / 5, |_| ());
}

#[test]
fn objects_are_published_whole_beside_a_marking_in_steps() {
    for generational in [Generational::Off, Generational::Always] {
        play(PRECISE.generational(generational), rounds() / 4, |m| {
            if !m.incremental_marking().begin().unwrap() && !m.incremental_marking().step(50).unwrap() {
                m.incremental_marking().finish().unwrap();
            }
        });
    }
}
