//! Functions that name roots: objects and words, in every kind of collection, until they are removed.

use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_gc::settings::options::{Concurrent, Generational};
use heapwood_gc::{Config, Mutator, RootFunction, RootToken, Tracer};
use heapwood_gc_testing::*;
use heapwood_layout::TraceContext;

/// A table of the program's own: slots with a tag of their own, and ambiguous words.
pub(crate) struct Table {
    slots: Vec<AtomicUsize>,
    words: Vec<AtomicUsize>,
    calls: AtomicUsize,
}

const TAG: usize = 0xFFFC << 48;

unsafe extern "C" fn name(argument: *mut c_void, context: *mut TraceContext) {
    // SAFETY: who registered it passed a table; the context is passed on as it came.
    let (table, mut tracer) = unsafe { (&*argument.cast::<Table>(), Tracer::from_context(context)) };
    table.calls.fetch_add(1, Ordering::Relaxed);
    for slot in &table.slots {
        let value = slot.load(Ordering::Relaxed);
        if value & TAG == TAG {
            // SAFETY: it holds objects.
            unsafe { tracer.visit(value & !TAG) };
        }
    }
    table.words.iter().for_each(|word| tracer.visit_ambiguous(word.load(Ordering::Relaxed)));
}

impl Table {
    pub(crate) fn new(n: usize) -> Box<Self> {
        let words = || (0..n).map(|_| AtomicUsize::new(0)).collect();
        Box::new(Table { slots: words(), words: words(), calls: AtomicUsize::new(0) })
    }

    pub(crate) fn register(&self, heap: &heapwood_gc::Heap) -> RootToken {
        let argument = core::ptr::from_ref(self).cast_mut().cast();
        // SAFETY: the tests remove it before the table goes, or the heap goes first.
        unsafe { heap.roots().add_function(RootFunction { function: name, argument }) }.unwrap()
    }

    fn set(&self, i: usize, object: usize) {
        self.slots[i].store(object | TAG, Ordering::Relaxed);
        self.words[i].store(0, Ordering::Relaxed);
    }

    fn set_word(&self, i: usize, word: usize) {
        self.slots[i].store(0, Ordering::Relaxed);
        self.words[i].store(word, Ordering::Relaxed);
    }
}

const N: usize = 40;

/// Lists that only a function leads to stay whole while collections of all kinds come.
pub(crate) fn play(config: Config, seed: u64, fault: impl Fn(&Mutator)) {
    let heap = heap(config);
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let table = Table::new(N);
    let token = table.register(&heap);
    fault(&mutator);
    let mut rng = Rng::new(seed);
    let mut seeds = [usize::MAX; N];
    let head = |i: usize| match table.slots[i].load(Ordering::Relaxed) {
        0 => table.words[i].load(Ordering::Relaxed).saturating_sub(8 * (i % 4)),
        tagged => tagged & !TAG,
    };
    for step in 0..3000 {
        let i = rng.below(N);
        if rng.one_in(3) {
            table.set_word(i, 0);
            extend_list(&mutator, node, 1 + rng.below(5), step, |new| {
                new.inspect(|&new| match i % 2 {
                    0 => table.set(i, new),
                    _ => table.set_word(i, new + 8 * (i % 4)),
                });
                head(i)
            });
            seeds[i] = step;
        }
        match rng.below(60) {
            0 => mutator.collect().unwrap(),
            1 | 2 => mutator.collect_young().unwrap(),
            3 => _ = mutator.incremental_marking().begin().unwrap(),
            4 => _ = mutator.incremental_marking().step(3).unwrap(),
            5 => _ = mutator.incremental_marking().finish().unwrap(),
            // What a function named may move to where the marking does not look.
            6 if head(i) != 0 => {
                let moved = (i + 2 * rng.below(N / 2)) % N;
                if moved != i {
                    table.set(moved & !1, head(i));
                    seeds[moved & !1] = seeds[i];
                    table.set_word(i, 0);
                    seeds[i] = usize::MAX;
                }
            }
            _ => {
                let at = head(i);
                if at != 0 {
                    let n = (0..).scan(at, |at, _| (*at != 0).then(|| *at = get(*at, 0))).count();
                    check_list(at, n, seeds[i]);
                    assert!(mutator.find(at).is_some());
                }
            }
        }
    }
    while mutator.incremental_marking().finish().unwrap() {}
    assert!(heap.roots().remove(token) && !heap.roots().remove(token));
    let calls = table.calls.load(Ordering::Relaxed);
    assert!(calls > 0);
    mutator.collect().unwrap();
    assert_eq!((heap.inspect().stats().live_objects, table.calls.load(Ordering::Relaxed)), (0, calls));
    assert_valid(&heap);
}

pub(crate) const PLAYED: [Config; 5] = [
    FULL,
    YOUNG,
    YOUNG.verify(true),
    YOUNG.stress(true),
    PRECISE.generational(Generational::Always).concurrent(Concurrent::Always),
];

#[test]
fn what_a_function_names_lives() {
    for (config, seed) in PLAYED.into_iter().zip(1..) {
        play(config.min_heap(64 << 20), seed, |_| ());
    }
}

/// The heap's own threads call it, and the marker's pauses do.
#[test]
fn a_function_is_called_where_nobody_of_the_program_runs() {
    let heap = heap(YOUNG);
    let mutator = attach(&heap);
    let table = Table::new(N);
    let token = table.register(&heap);
    for i in 0..N {
        let object = new(&mutator, node_type(&heap));
        put(object, 2, i);
        table.set(i, object);
    }
    mutator.blocking(|| assert!(heap.collect_as_if_idle())).unwrap();
    assert!(table.calls.load(Ordering::Relaxed) > 0);
    assert!((0..N).all(|i| get(table.slots[i].load(Ordering::Relaxed) & !TAG, 2) == i));
    assert_eq!(heap.inspect().stats().live_objects, N);
    heap.roots().remove(token);
}

#[test]
fn a_walk_names_each_object_once() {
    let heap = heap(YOUNG);
    let mutator = attach(&heap);
    let (node, bytes) = (node_type(&heap), pointer_free(&heap, 100_000));
    let mut roots = Slots::new(&heap, 2);
    roots.extend_list(0, &mutator, node, 1000, 5);
    mutator.collect().unwrap();
    roots.extend_list(0, &mutator, node, 500, 1005);
    roots.set(1, new(&mutator, bytes));
    let mut seen = std::collections::BTreeMap::new();
    let walked = mutator.walk(&mut |object, bytes, shape| {
        assert!(mutator.check().is_err() && mutator.collect().is_err());
        assert_eq!(seen.insert(object.get(), (bytes, shape)), None);
    });
    assert_eq!(walked, Ok(()));
    assert_eq!(seen.len(), 1501);
    assert_eq!(seen[&roots.get(1)].0, mutator.find(roots.get(1)).unwrap().bytes);
    let mut at = roots.get(0);
    while at != 0 {
        assert_eq!(seen[&at], (32, Some(node.shape())));
        at = get(at, 0);
    }
    assert_eq!(heap.inspect().stats().collections, 1);
    // What is dead goes when a collection has found it.
    roots.set(0, 0);
    mutator.collect().unwrap();
    let mut left = 0;
    mutator.walk(&mut |_, _, _| left += 1).unwrap();
    assert_eq!(left, 1);
    mutator.blocking(|| assert!(mutator.walk(&mut |_, _, _| ()).is_err())).unwrap();
}

unsafe extern "C" fn look(argument: *mut c_void, context: *mut TraceContext) {
    // SAFETY: who registered it passed a number; the context is passed on as it came.
    let (bytes, mut tracer) = unsafe { (*argument.cast::<usize>(), Tracer::from_context(context)) };
    tracer.looked_at(bytes);
}

/// What a function looks at costs time in each collection, so a full one is not due before as much was allocated.
#[test]
fn collections_are_rare_where_functions_look_at_much() {
    let collections = |bytes: usize| {
        let config = PRECISE.generational(Generational::Off).concurrent(Concurrent::Off);
        let heap = heap(config.min_heap(1 << 20).small_heap(1 << 20));
        let (mutator, node, bytes) = (attach(&heap), node_type(&heap), Box::new(bytes));
        let argument = core::ptr::from_ref(&*bytes).cast_mut().cast();
        // SAFETY: the heap goes before the number.
        unsafe { heap.roots().add_function(RootFunction { function: look, argument }) }.unwrap();
        for _ in 0..2_000_000 {
            core::hint::black_box(new(&mutator, node));
        }
        heap.inspect().stats().collections
    };
    let (often, seldom) = (collections(0), collections(32 << 20));
    assert!(seldom >= 1 && seldom * 4 < often, "{seldom} and {often}");
}
