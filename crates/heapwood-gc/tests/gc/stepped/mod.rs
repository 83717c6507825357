//! The write barrier's half of a marking that goes on while the program runs: with the program's steps and the marking's in turns, and
//! with threads that store at the same time. `HEAPWOOD_LONG=1` plays fifty times as many.
//!
//! During the steps of a random program ([`driver`]) a full marking goes on, a few edges after each, beside the model of the program's
//! graph. What it stores, it stores through the barrier, now and then on a second thread ([`second`]); it moves the only pointer to
//! something from where the marking has not been to where it has, or into a root, or into an object made since, frees what led to it, and
//! lets young collections come between ([`ops`]). When the marking ends, all that can be reached must be there, and what was dead
//! when it began must be gone.

pub(crate) mod driver;
mod ops;
mod second;
mod shaded;

use core::sync::atomic::{AtomicBool, Ordering};
use driver::{Done, Play, Program};
use heapwood_gc::settings::options::Generational;
use heapwood_gc::{Config, Heap, HeapBox, Mutator, Tracer, slice_scan};
use heapwood_gc_testing::*;
use heapwood_heap::{Address, ArenaKind, ObjectRef};
use heapwood_layout::{TraceContext, TypeDescriptor};
use heapwood_os_testing::faulty::Faulty;

fn rounds(usual: u64) -> u64 {
    match (is_long(), is_thorough()) {
        (true, _) => usual * 50,
        (false, true) => usual,
        (false, false) => usual.div_ceil(3),
    }
}

fn play(play: Play, seeds: u64) -> Done {
    let mut all = Done::default();
    for seed in 1..=rounds(seeds) {
        let done = Program::new(play, seed).run(6, 500).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        all.markings += done.markings;
        all.between += done.between;
        all.floating += done.floating;
        all.moved += done.moved;
        all.freed += done.freed;
        all.arenas_ended += done.arenas_ended;
        all.dead += done.dead;
        all.young_dead += done.young_dead;
        all.overflows += done.overflows;
    }
    println!("{all:?}");
    // With a second mutator what comes depends on the machine.
    if !is_thorough() {
        return all;
    }
    assert!(all.markings as u64 >= 4 * rounds(seeds), "most markings ended when they were asked to");
    assert!(all.arenas_ended as u64 > rounds(seeds));
    assert!(all.floating > 0 && all.moved > 0 && all.dead > 0);
    assert_eq!(all.freed > 0, play.frees);
    // What is promoted wholesale is not looked at.
    assert_eq!((all.young_dead > 0, all.between > 0), (play.is_generational(), play.is_generational()));
    assert_eq!(all.overflows > 0, play.config.mark_stack.is_some());
    all
}

const ALWAYS: Generational = Generational::Always;
const OFF: Generational = Generational::Off;

#[test]
fn a_marking_in_steps_keeps_what_it_must_beside_young_collections() {
    play(Play::new(ALWAYS), 12);
}

#[test]
fn a_marking_in_steps_keeps_what_it_must_without_young_collections() {
    play(Play::new(OFF), 8);
}

#[test]
fn a_marking_in_steps_keeps_what_it_must_edge_by_edge() {
    play(Play { edges: 2, ..Play::new(ALWAYS) }, 4);
    play(Play { edges: 2, frees: false, ..Play::new(OFF) }, 4);
}

#[test]
fn a_marking_in_steps_keeps_what_it_must_in_long_steps() {
    play(Play { edges: 100, ..Play::new(ALWAYS) }, 4);
}

#[test]
fn a_marking_in_steps_keeps_what_it_must_with_a_second_mutator() {
    play(Play { two: true, ..Play::new(ALWAYS) }, 4);
}

#[test]
fn a_marking_in_steps_keeps_what_it_must_where_layouts_share_spans() {
    play(Play { mixed: true, ..Play::new(ALWAYS) }, 4);
    play(Play { mixed: true, ..Play::new(OFF) }, 2);
}

#[test]
fn a_marking_in_steps_keeps_what_it_must_with_a_mark_stack_that_overflows() {
    for edges in [1, 8] {
        let usual = Play::new(ALWAYS);
        play(Play { config: usual.config.mark_stack(edges), ..usual }, 4);
    }
}

#[test]
fn a_marking_in_steps_keeps_what_it_must_in_verify_mode() {
    for (generational, frees) in [(ALWAYS, false), (ALWAYS, true), (OFF, true)] {
        let usual = Play::new(generational);
        play(Play { config: usual.config.verify(true), two: true, frees, ..usual }, 1);
    }
}

/// A heap whose full collections come when they are asked for.
fn quiet(generational: Generational) -> HeapBox {
    heap(PRECISE.min_heap(256 << 20).background_release(false).generational(generational))
}

#[test]
fn a_full_collection_ends_a_marking_first_and_a_young_one_does_not() {
    let heap = quiet(ALWAYS);
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 1);
    let kept = new(&mutator, node);
    roots.set(0, kept);
    assert!(
        !mutator.incremental_marking().finish().unwrap() && !mutator.incremental_marking().step(1).unwrap()
    );
    assert!(mutator.incremental_marking().begin().unwrap());
    assert!(!mutator.incremental_marking().begin().unwrap(), "one is under way");
    let before = heap.inspect().stats().collections;
    mutator.collect_young().unwrap();
    assert_eq!(heap.inspect().stats().collections, before + 1);
    roots.set(0, 0);
    mutator.collect().unwrap();
    assert_eq!(heap.inspect().stats().collections, before + 3, "the marking's end, and a collection");
    assert!(mutator.find(kept).is_none(), "the marking has kept it, and the collection not");
    assert!(!mutator.incremental_marking().finish().unwrap());
    // A thread that has gone leaves nothing behind, and one that comes takes part.
    roots.set(0, new(&mutator, node));
    link(&mutator, roots.get(0), 0, new(&mutator, node));
    assert!(mutator.incremental_marking().begin().unwrap());
    let (from, to) = (roots.get(0), get(roots.get(0), 0));
    let thread = |f: &(dyn Fn(&heapwood_gc::Mutator) + Sync)| {
        mutator.blocking(|| std::thread::scope(|s| s.spawn(|| f(&attach(&heap))).join().unwrap())).unwrap();
    };
    thread(&|other| link(other, from, 0, 0));
    roots.set(0, to);
    assert!(mutator.incremental_marking().finish().unwrap());
    assert!(mutator.find(to).is_some() && mutator.find(from).is_some());
    mutator.collect().unwrap();
    assert!(mutator.find(to).is_some() && mutator.find(from).is_none());
}

/// What it needs is mapped before its first pause, and is there for the next one: no pause maps or unmaps.
#[test]
fn markings_after_the_first_ask_the_kernel_for_nothing() {
    let kernel: &'static Faulty = Box::leak(Box::default());
    let config = PRECISE.min_heap(256 << 20).background_release(false).generational(ALWAYS);
    let heap = Heap::create(kernel, config).unwrap();
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 1);
    roots.set(0, new(&mutator, node));
    let mark = || {
        assert!(mutator.incremental_marking().begin().unwrap());
        while mutator.incremental_marking().step(8).unwrap() {}
        assert!(mutator.incremental_marking().finish().unwrap());
    };
    let before = kernel.requests();
    mark();
    let first = kernel.requests();
    (0..8).for_each(|_| mark());
    assert!(first > before, "the first marking needs memory");
    assert_eq!(kernel.requests() - first, 0, "requests of eight more");
}

/// What a large array refers to moves to where the marking has been, piece by piece; and what does is freed before all of it was
/// marked.
#[test]
fn a_large_object_is_marked_as_it_was_whatever_becomes_of_it() {
    const LEN: usize = 50_000;
    for (generational, frees) in [(ALWAYS, false), (OFF, false), (ALWAYS, true), (OFF, true)] {
        let heap = quiet(generational);
        let mutator = attach(&heap);
        let element = TypeDescriptor::masked(WORD, &[1]).unwrap();
        let table = mutator.types().type_for(LEN * WORD, slice_scan(&element, 0).unwrap()).unwrap();
        let node = node_type(&heap);
        let mut roots = Slots::new(&heap, 2);
        roots.set(0, new(&mutator, table));
        roots.set(1, new(&mutator, table));
        let (from, to) = (roots.get(0), roots.get(1));
        for i in 0..LEN {
            link(&mutator, from, i, new(&mutator, node));
        }
        assert!(mutator.incremental_marking().begin().unwrap());
        // The table on top of the stack first: in either order pieces of both are left.
        assert!(mutator.incremental_marking().step(20_000).unwrap());
        let all: Vec<usize> = (0..LEN).map(|i| get(from, i)).collect();
        if frees {
            for (i, &object) in all.iter().enumerate() {
                link(&mutator, to, i, object);
            }
            roots.set(0, 0);
            free(&mutator, from);
            assert!(mutator.find(from).is_none());
            // Nothing takes its pages before the marking has gone through it.
            let other = new(&mutator, table);
            assert_ne!(other, from);
            roots.set(0, other);
        } else {
            for (i, &object) in all.iter().enumerate().rev() {
                link(&mutator, to, i, object);
                link(&mutator, from, i, 0);
                if i % 1000 == 0 {
                    mutator.incremental_marking().step(100).unwrap();
                }
            }
        }
        mutator.incremental_marking().step(30_000).unwrap();
        assert!(mutator.incremental_marking().finish().unwrap());
        heap.memory().finish_sweep();
        assert!(all.iter().all(|&object| mutator.find(object).is_some()));
        assert_eq!(mutator.find(from).is_some(), !frees);
        assert_valid(&heap);
        mutator.collect().unwrap();
        assert_eq!(heap.inspect().stats().live_objects, LEN + 2);
    }
}

/// Threads that rotate pointers among objects they share while the marking goes on, each in its own time.
#[test]
fn threads_that_store_at_the_same_time_lose_nothing() {
    const THREADS: usize = 3;
    const NODES: usize = 400;
    let heap = heap(PRECISE.min_heap(8 << 20).generational(ALWAYS).verify(true));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, THREADS * NODES);
    let anchors: Vec<usize> = (0..THREADS * NODES)
        .map(|i| {
            let anchor = new(&mutator, node);
            roots.set(i, anchor);
            link(&mutator, anchor, 0, new(&mutator, node));
            put(get(anchor, 0), 2, i);
            anchor
        })
        .collect();
    let end = AtomicBool::new(false);
    std::thread::scope(|s| {
        let start = |thread: usize| {
            let (anchors, end, heap) = (&anchors[thread * NODES..][..NODES], &end, &*heap);
            s.spawn(move || {
                let mutator = attach(heap);
                let mut hand = Framed::<1>::new(&mutator);
                let mut at = thread;
                while !end.load(Ordering::Relaxed) {
                    // The only pointer to what one anchor has goes to another, by way of a frame.
                    let (a, b) = (anchors[at % NODES], anchors[(at * 7 + 13) % NODES]);
                    at += 1;
                    let (x, y) = (get(a, 0), get(b, 0));
                    hand.set(0, x);
                    link(&mutator, a, 0, y);
                    mutator.safepoint();
                    link(&mutator, b, 0, hand.get(0));
                    // And something that lives for a while.
                    link(&mutator, a, 1, new(&mutator, node));
                }
            })
        };
        let threads: Vec<_> = (0..THREADS).map(start).collect();
        for _ in 0..rounds(6) {
            assert!(mutator.incremental_marking().begin().unwrap());
            for _ in 0..30 {
                mutator.incremental_marking().step(20).unwrap();
                mutator.blocking(std::thread::yield_now).unwrap();
            }
            mutator.incremental_marking().finish().unwrap();
        }
        end.store(true, Ordering::Relaxed);
        mutator.blocking(|| threads.into_iter().for_each(|thread| thread.join().unwrap())).unwrap();
    });
    let mut seen: Vec<usize> = anchors.iter().map(|&anchor| get(get(anchor, 0), 2)).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..THREADS * NODES).collect::<Vec<_>>());
    assert_eq!(heap.inspect().stats().barrier_violations, 0);
    assert_valid(&heap);
}

/// A word that may be a pointer is one to what it points into.
#[test]
fn what_points_into_objects_is_resolved() {
    let heap = quiet(ALWAYS);
    let mutator = attach(&heap);
    let words = heap.types().register(&TypeDescriptor::conservative(4 * WORD).unwrap()).unwrap();
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 1);
    let (bag, inside) = (new(&mutator, words), new(&mutator, node));
    put(bag, 1, inside + 9);
    roots.set(0, bag);
    assert!(mutator.incremental_marking().begin().unwrap());
    let store = |value: usize| {
        // SAFETY: the object has this word, which may hold anything.
        unsafe {
            mutator.barrier().write(ObjectRef::new(bag), (bag as *mut usize).add(1), Address::new(value))
        };
    };
    store(0);
    // Before any step: the only pointer is here.
    assert!(mutator.incremental_marking().finish().unwrap());
    heap.memory().finish_sweep();
    assert!(mutator.find(inside).is_some());
    mutator.collect().unwrap();
    assert!(mutator.find(inside).is_none());
}

/// A root, and an object that it refers to.
fn held<'h>(heap: &'h Heap, mutator: &Mutator) -> (Slots<'h>, usize) {
    let (mut roots, holder) = (Slots::new(heap, 1), new(mutator, node_type(heap)));
    roots.set(0, holder);
    (roots, holder)
}

/// Values of an arena that are two pointers.
fn pair() -> Values {
    Values::new(8, 2, [0b11, 0, 0, 0])
}

/// A stale pointer to an arena that was closed beside a marking, after it was given something, and a young collection before that ends.
#[test]
fn an_arena_closed_beside_a_marking_leads_to_nothing_that_is_freed() {
    for empties in [false, true] {
        let heap = quiet(ALWAYS);
        let mutator = attach(&heap);
        let node = node_type(&heap);
        let (_roots, holder) = held(&heap, &mutator);
        let arena = Arena::open(&mutator, ArenaKind::Escaping);
        let first = arena.value(&mutator, pair(), &[0, 0]);
        link(&mutator, holder, 0, first);
        assert!(mutator.incremental_marking().begin().unwrap());
        // Into the old piece, and into a new one that nothing else leads to.
        let young = new(&mutator, node);
        put(young, 2, 17);
        let second = arena.value(&mutator, pair(), &[young, 0]);
        arena.data(&mutator, 100_000, 8).unwrap();
        match empties {
            true => arena.empty(&mutator),
            false => arena.close(&mutator),
        }
        mutator.collect_young().unwrap();
        heap.memory().finish_sweep();
        // What takes its place if it is freed.
        let others: Vec<usize> = (0..100).map(|_| new(&mutator, node)).collect();
        assert!(!others.contains(&young), "what a piece under marking refers to was freed");
        while mutator.incremental_marking().step(10).unwrap() {}
        assert!(mutator.incremental_marking().finish().unwrap());
        assert_valid(&heap);
        for _ in 0..2 {
            mutator.collect().unwrap();
            assert_valid(&heap);
            assert_eq!((get(second, 0), get(young, 2)), (young, 17), "the stale pointer still leads there");
        }
        link(&mutator, holder, 0, 0);
        mutator.collect().unwrap();
        heap.memory().finish_sweep();
        assert!(heap.objects().find(young).is_none());
        assert_valid(&heap);
    }
}

/// Pointers into what an arena was given beside a marking and gave up before it ends: the marking looks at none of them, so the
/// addresses rest, as they do after a young collection, and verify mode has nothing to say.
fn give_up_beside_a_marking(config: Config, opened_before: bool, closes: bool) {
    let heap = heap(config);
    let mutator = attach(&heap);
    let (mut roots, holder) = held(&heap, &mutator);
    let open = || Arena::open(&mutator, ArenaKind::Escaping);
    // An old piece that refers to the new one, where there is one.
    let before = opened_before.then(|| {
        let arena = open();
        (arena, arena.value(&mutator, pair(), &[0, 0]))
    });
    // From here on what is found dead is free pages at once, since the heap has a limit.
    mutator.collect().unwrap();
    assert!(mutator.incremental_marking().begin().unwrap());
    let arena = before.map_or_else(open, |(arena, _)| arena);
    arena.data(&mutator, 100_000, 8).unwrap();
    let second = arena.value(&mutator, pair(), &[0, 0]);
    let place = || heap.space().arenas().find(Address::new(second));
    assert!(!heap.space().is_old(Address::new(place().unwrap().chunk.0)));
    before.inspect(|(_, first)| link(&mutator, *first, 0, second));
    link(&mutator, holder, 0, second);
    match closes {
        true => arena.close(&mutator),
        false => arena.empty(&mutator),
    }
    assert!(mutator.incremental_marking().finish().unwrap());
    heap.memory().finish_sweep();
    assert_eq!(get(holder, 0), second, "the pointer is stale, and there");
    for _ in 0..2 {
        assert!(place().is_some_and(|place| !place.is_there), "{:?} is where a pointer leads", place());
        // What would lie there else.
        for _ in 0..2000 {
            new(&mutator, node_type(&heap));
        }
        mutator.collect().unwrap();
        assert_valid(&heap);
    }
    if !closes {
        arena.close(&mutator);
    }
    roots.set(0, 0);
    mutator.collect().unwrap();
    heap.memory().finish_sweep();
    assert!(place().is_none());
    assert_valid(&heap);
}

#[test]
fn what_an_arena_gives_up_beside_a_marking_rests() {
    let usual = PRECISE.limit(64 << 20).min_heap(32 << 20).background_release(false).generational(ALWAYS);
    for verify in [false, true] {
        for (opened_before, closes) in [(true, true), (true, false), (false, true), (false, false)] {
            give_up_beside_a_marking(usual.verify(verify), opened_before, closes);
        }
    }
}

/// Word 1 is a pointer.
unsafe extern "C" fn trace_second(object: *mut u8, _size: usize, context: *mut TraceContext) {
    // SAFETY: the context is passed on as it came; the object has that word.
    unsafe { Tracer::from_context(context).visit(object.cast::<usize>().add(1).read()) };
}

/// What a value of an arena that lives in the heap refers to is part of the snapshot, whether or not the marking has been there when
/// the arena ends.
#[test]
fn what_an_emptied_value_referred_to_is_marked() {
    for generational in [ALWAYS, OFF] {
        let heap = quiet(generational);
        let mutator = attach(&heap);
        let element = TypeDescriptor::masked(WORD, &[1]).unwrap();
        let types = [
            masked(&heap, 4, &[1]),
            heap.types().register(&TypeDescriptor::conservative(300 * WORD).unwrap()).unwrap(),
            heap.types().register(&TypeDescriptor::traced(8 * WORD, trace_second).unwrap()).unwrap(),
            mutator.types().type_for(40_000 * WORD, slice_scan(&element, 0).unwrap()).unwrap(),
        ];
        for ty in types {
            let mut roots = Slots::new(&heap, 1);
            let arena = Arena::open(&mutator, ArenaKind::Escaping);
            // SAFETY: the arena is open, and of this heap.
            let value =
                unsafe { mutator.arenas().allocate_external(arena.header(), || mutator.allocate(ty)) }
                    .unwrap();
            let value = value.as_ptr() as usize;
            link(&mutator, value, 1, new(&mutator, node_type(&heap)));
            assert!(mutator.incremental_marking().begin().unwrap());
            let object = get(value, 1);
            arena.close(&mutator);
            assert_eq!(get(value, 1), 0);
            // The marking has read the roots already.
            roots.set(0, object);
            assert!(mutator.incremental_marking().finish().unwrap());
            assert!(mutator.find(object).is_some());
            assert_valid(&heap);
            mutator.collect().unwrap();
            assert!(mutator.find(object).is_some() && mutator.find(value).is_none());
        }
    }
}
