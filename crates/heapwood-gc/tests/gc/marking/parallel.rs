//! Marking by several threads: whatever the graph, all that can be reached is found, each object once, with stacks that
//! overflow, too; workers that the kernel refuses or a fork has left behind are done without; trace functions run on them.

use heapwood_gc::{Config, Heap, Misuse, Mutator, Tracer, slice_scan};
use heapwood_gc_testing::*;
use heapwood_layout::program::Builder;
use heapwood_layout::{TraceContext, TypeDescriptor};
use heapwood_os_testing::faulty::Faulty;
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// The numbers of markers that are tried: more than most machines that run this have cores, too.
const MARKERS: [usize; 4] = [1, 2, 4, 9];

/// Each heap that a graph is tried on.
fn heaps(mut f: impl FnMut(&Heap, &Mutator)) {
    for markers in MARKERS {
        for mark_stack in [None, Some(3), Some(64)] {
            for verify in [false, true] {
                let mut config = FULL.min_heap(1 << 30).mark_threads(markers).verify(verify);
                config.mark_stack = mark_stack;
                let heap = heap(config);
                let mutator = attach(&heap);
                f(&heap, &mutator);
                assert_eq!(heap.inspect().stats().barrier_violations, 0);
                assert_valid(&heap);
            }
        }
    }
}

/// So many objects are found alive, several times; and none after the roots have gone.
fn collects(heap: &Heap, mutator: &Mutator, objects: usize) {
    for _ in 0..4 {
        mutator.collect().unwrap();
        let stats = heap.inspect().stats();
        assert_eq!(stats.live_objects, objects);
    }
}

#[test]
fn a_wide_array_and_what_it_leads_to_is_marked_once() {
    heaps(|heap, mutator| {
        const WIDE: usize = 40_000;
        let scan = slice_scan(&TypeDescriptor::masked(WORD, &[1]).unwrap(), 0).unwrap();
        let array = mutator.types().type_for(WIDE * WORD, scan).unwrap();
        let mut roots = Slots::new(heap, 1);
        roots.set(0, new(mutator, array));
        let node = node_type(heap);
        for i in 0..WIDE {
            let object = new(mutator, node);
            put(object, 2, i);
            // Every seventh leads to the one before.
            if i % 7 == 0 && i > 0 {
                put(object, 0, get(roots.get(0), i - 1));
            }
            put(roots.get(0), i, object);
        }
        collects(heap, mutator, WIDE + 1);
        assert!((0..WIDE).all(|i| get(get(roots.get(0), i), 2) == i));
        // The array alone leads to most: without it they are dead.
        roots.set(0, get(roots.get(0), 7));
        collects(heap, mutator, 2);
    });
}

#[test]
fn one_list_or_many_are_marked_once() {
    heaps(|heap, mutator| {
        let node = node_type(heap);
        for (lists, nodes) in [(1, 20_000), (3, 4000), (40, 400), (700, 30)] {
            let mut roots = Slots::new(heap, lists);
            for list in 0..lists {
                roots.extend_list(list, mutator, node, nodes, list);
            }
            collects(heap, mutator, lists * nodes);
            (0..lists).for_each(|list| check_list(roots.get(list), nodes, list));
            drop(roots);
            collects(heap, mutator, 0);
        }
    });
}

/// A complete tree in which every leaf leads to the root, so that all markers come to what all others have marked.
#[test]
fn a_tree_with_edges_back_is_marked_once() {
    heaps(|heap, mutator| {
        const NODES: usize = (1 << 15) - 1;
        let node = node_type(heap);
        let mut roots = Slots::new(heap, 1);
        let all: Vec<usize> = (0..NODES).map(|_| new(mutator, node)).collect();
        for (i, &object) in all.iter().enumerate() {
            put(object, 2, i);
            for child in 0..2 {
                put(object, child, *all.get(2 * i + 1 + child).unwrap_or(&all[0]));
            }
        }
        roots.set(0, all[0]);
        collects(heap, mutator, NODES);
        assert!(all.iter().enumerate().all(|(i, &object)| get(object, 2) == i));
        roots.set(0, all[NODES / 2 + 5]);
        collects(heap, mutator, NODES);
        roots.set(0, 0);
        collects(heap, mutator, 0);
    });
}

#[test]
fn objects_of_programs_small_and_large_are_marked_once() {
    heaps(|heap, mutator| {
        // One element of many words, of which every fourth is a pointer.
        let words = 4 * 6000;
        let four = Builder::<64>::new().scalars(3).pointer();
        let program = Builder::<64>::new().array(four.body(), 4, 6000).finish();
        let (large, _) = heap.types().register_program(words * WORD, program.bytes()).unwrap();
        let program = Builder::<64>::new().scalars(300).pointers(1).finish();
        let (small, _) = heap.types().register_program(301 * WORD, program.bytes()).unwrap();
        let mut roots = Slots::new(heap, 1);
        roots.set(0, new(mutator, large));
        for i in 0..6000 {
            let object = new(mutator, small);
            put(object, 0, i);
            put(object, 300, if i % 2 == 1 { get(roots.get(0), 4 * i - 1) } else { 0 });
            put(roots.get(0), 4 * i + 3, object);
        }
        collects(heap, mutator, 6001);
        assert!((0..6000).all(|i| get(get(roots.get(0), 4 * i + 3), 0) == i));
    });
}

#[test]
fn roots_of_every_sort_are_marked_from() {
    for markers in MARKERS {
        let heap = heap(FULL.min_heap(1 << 30).mark_threads(markers).conservative_stacks(true));
        let mutator = attach(&heap);
        let node = node_type(&heap);
        let mut slots = Slots::new(&heap, 5000);
        (0..5000).for_each(|i| slots.set(i, new(&mutator, node)));
        let mut words = vec![0usize; 5000].into_boxed_slice();
        let range = words.as_ptr_range();
        // SAFETY: the words outlive the root.
        let token = unsafe { heap.roots().add_range(range.start as usize, range.end as usize) }.unwrap();
        // To the inside of objects, and to none.
        for i in 0..5000 {
            let word = if i % 2 == 0 { new(&mutator, node) + 9 } else { i };
            // SAFETY: a word of the box; volatile, since the collector reads it.
            unsafe { (&raw mut words[i]).write_volatile(word) };
        }
        let handles: Vec<_> = (0..5000).map(|_| handle(&heap, new(&mutator, node)).unwrap()).collect();
        for _ in 0..4 {
            mutator.collect().unwrap();
            let live = heap.inspect().stats().live_objects;
            // The stack may hold a few more.
            assert!((12_500..12_600).contains(&live), "{live} objects with {markers} markers");
        }
        assert!(handles.into_iter().all(|h| heap.roots().free_handle(h)) && heap.roots().remove(token));
    }
}

/// The threads that a trace function has run on, and what it was told when it wanted to allocate.
static THREADS: Mutex<Option<HashSet<std::thread::ThreadId>>> = Mutex::new(None);
static MUTATOR: AtomicPtr<Mutator> = AtomicPtr::new(core::ptr::null_mut());
static REFUSED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn trace(object: *mut u8, size: usize, context: *mut TraceContext) {
    // SAFETY: the mutator is attached as long as the pointer is not null; that it may not be used is what is asked.
    let refused = unsafe { (*MUTATOR.load(Ordering::Relaxed)).check() };
    assert_eq!(refused, Err(Misuse::Tracing));
    REFUSED.fetch_add(1, Ordering::Relaxed);
    THREADS.lock().unwrap().get_or_insert_default().insert(std::thread::current().id());
    // SAFETY: the first two words of a traced node are null or lead to objects; the context is the one that was given.
    unsafe {
        let mut tracer = Tracer::from_context(context);
        tracer.visit((object as *const usize).read());
        tracer.visit_ambiguous((object as *const usize).add(1).read() + size / 2);
    }
    // Long enough for all to get some.
    std::thread::sleep(std::time::Duration::from_micros(20));
}

#[test]
#[ignore = "of the long suite: several threads have to get something"]
fn trace_functions_run_on_workers_and_may_not_allocate_there() {
    let heap = heap(FULL.min_heap(1 << 30).mark_threads(3));
    let mutator = attach(&heap);
    MUTATOR.store((&raw const *mutator).cast_mut(), Ordering::Relaxed);
    let ty = heap.types().register(&TypeDescriptor::traced(32, trace).unwrap()).unwrap();
    const NODES: usize = (1 << 11) - 1;
    let all: Vec<usize> = (0..NODES).map(|_| new(&mutator, ty)).collect();
    for (i, &object) in all.iter().enumerate() {
        (0..2).for_each(|child| put(object, child, *all.get(2 * i + 1 + child).unwrap_or(&all[0])));
        put(object, 2, i);
    }
    let mut roots = Slots::new(&heap, 1);
    roots.set(0, all[0]);
    collects(&heap, &mutator, NODES);
    assert!(REFUSED.load(Ordering::Relaxed) >= 4 * NODES);
    let threads = THREADS.lock().unwrap().take().unwrap().len();
    assert!((2..=3).contains(&threads), "trace functions ran on {threads} threads");
    assert_eq!(mutator.check(), Ok(()));
}

fn tree_in(heap: &Heap, mutator: &Mutator, roots: &mut Slots<'_>) {
    let node = node_type(heap);
    let all: Vec<usize> = (0..4095).map(|_| new(mutator, node)).collect();
    for (i, &object) in all.iter().enumerate() {
        (0..2).for_each(|child| put(object, child, *all.get(2 * i + 1 + child).unwrap_or(&0)));
    }
    roots.set(0, all[0]);
}

/// Whatever the kernel refuses from some request on, threads among them: marking goes on with those there are, or alone.
#[test]
fn a_heap_that_gets_no_workers_marks_alone() {
    static KERNEL: Faulty = Faulty::new();
    for granted in 0..40 {
        let config = FULL.min_heap(1 << 30).mark_threads(4).background_release(false);
        let heap = Heap::create(&KERNEL, config).unwrap();
        let mutator = attach(&heap);
        let mut roots = Slots::new(&heap, 1);
        tree_in(&heap, &mutator, &mut roots);
        KERNEL.refuse_from(granted);
        collects(&heap, &mutator, 4095);
        KERNEL.relent();
        collects(&heap, &mutator, 4095);
    }
}

#[test]
fn a_forked_child_marks_alone_and_so_does_its_parent_go_on() {
    in_child(|| {
        let heap = heap(FULL.min_heap(1 << 30).mark_threads(3).background_release(false));
        let mutator = attach(&heap);
        let mut roots = Slots::new(&heap, 1);
        tree_in(&heap, &mutator, &mut roots);
        collects(&heap, &mutator, 4095);
        let ended = forked(|| {
            let collected = mutator.collect().is_ok() && heap.inspect().stats().live_objects == 4095;
            roots.set(0, 0);
            let emptied = mutator.collect().is_ok() && heap.inspect().stats().live_objects == 0;
            if collected && emptied { 7 } else { 1 }
        });
        assert_eq!(ended, 7 << 8, "the child ended by itself, and found what there was");
        collects(&heap, &mutator, 4095);
    });
}

/// Threads that allocate and collect at will, on heaps that are made and dropped with their workers asleep or at work.
#[test]
fn many_heaps_with_workers_come_and_go() {
    for round in 0..20 {
        let config =
            Config::DEFAULT.address_space(1 << 30).min_heap(1 << 20).percent(50).mark_threads(2 + round % 3);
        let heap = heap(config);
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let heap = &heap;
                scope.spawn(move || {
                    let mutator = attach(heap);
                    let node = node_type(heap);
                    let mut roots = Slots::new(heap, 1);
                    roots.extend_list(0, &mutator, node, 60_000, thread);
                    check_list(roots.get(0), 60_000, thread);
                });
            }
        });
        assert!(heap.inspect().stats().collections > 0);
    }
}
