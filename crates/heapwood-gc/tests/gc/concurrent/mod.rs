//! Full markings beside the program, by the heap's own marker thread: that they come and end, that nothing is lost, and the
//! cliffs: a mark stack that overflows, a goal that is met first, a heap that goes while it is marked, a fork in the middle. The
//! oracle of threads (`threads_oracle`) plays half of its programs so; the barrier's half is tested step by step in `stepped`.
//!
//! What is counted is exact on any machine. How far the marker has come when a program looks is not, so no test asserts that.

mod bounded;
mod idle;
mod requests;
mod traced;

use heapwood_gc::settings::options::{Concurrent, Generational, Stop};
use heapwood_gc::{Config, HeapBox, Mutator, Stats, slice_scan};
use heapwood_gc_testing::*;
use heapwood_layout::TypeDescriptor;
use heapwood_os::SYSTEM;

const BESIDE: Config = PRECISE.concurrent(Concurrent::Always).min_heap(4 << 20);

fn stats(heap: &HeapBox) -> Stats {
    heap.inspect().stats()
}

/// A binary tree of nodes, whose leaves hold their numbers.
fn tree(mutator: &Mutator, roots: &mut Slots<'_>, at: usize, depth: usize) {
    let node = node_type(mutator.heap());
    roots.set(at, new(mutator, node));
    if depth > 0 {
        for child in 0..2 {
            tree(mutator, roots, at + 1, depth - 1);
            link(mutator, roots.get(at), child, roots.get(at + 1));
        }
    }
    put(roots.get(at), 2, depth);
}

/// The nodes of a tree; each is there, and has its number.
fn count(heap: &HeapBox, node: usize, depth: usize) -> usize {
    assert!(heap.objects().find(node).is_some_and(|found| found.base.get() == node));
    assert_eq!(get(node, 2), depth);
    let below = |child| if depth == 0 { 0 } else { count(heap, get(node, child), depth - 1) };
    1 + below(0) + below(1)
}

/// Allocates garbage until N markings beside the program have ended; changes a table meanwhile, whose nodes only it refers to.
fn churn(heap: &HeapBox, mutator: &Mutator, markings: u64) {
    // Many, so that young collections promote much, and full ones are due often.
    const NODES: usize = 20_000;
    let element = TypeDescriptor::masked(WORD, &[1]).unwrap();
    let ty = mutator.types().type_for(NODES * WORD, slice_scan(&element, 0).unwrap()).unwrap();
    let node = node_type(heap);
    let mut roots = Slots::new(heap, 2);
    roots.set(0, new(mutator, ty));
    let until = stats(heap).concurrent_markings + markings;
    let mut rng = Rng::new(7);
    for step in 0.. {
        let (from, to) = (rng.below(NODES), rng.below(NODES));
        match step % 3 {
            0 => link(mutator, roots.get(0), to, new(mutator, node)),
            // The only pointer moves, perhaps from where the marking has not been to where it has.
            1 => {
                let moved = get(roots.get(0), from);
                link(mutator, roots.get(0), from, 0);
                link(mutator, roots.get(0), to, moved);
            }
            _ => _ = new(mutator, node),
        }
        if step % 10_000 == 0 {
            assert!(step < 200_000_000, "no marking ends: {:?}", stats(heap));
            for i in 0..NODES {
                let node = get(roots.get(0), i);
                assert!(node == 0 || heap.objects().find(node).is_some() || mutator.find(node).is_some());
            }
            if stats(heap).concurrent_markings >= until {
                return;
            }
            mutator.blocking(std::thread::yield_now).unwrap();
        }
    }
}

#[test]
fn markings_beside_the_program_come_and_end_and_keep_what_can_be_reached() {
    for generational in [Generational::Always, Generational::Auto, Generational::Off] {
        let heap = heap(BESIDE.generational(generational));
        let mutator = attach(&heap);
        let mut roots = Slots::new(&heap, 20);
        tree(&mutator, &mut roots, 0, 14);
        churn(&heap, &mutator, 5);
        assert_eq!(count(&heap, roots.get(0), 14), (1 << 15) - 1);
        let stats = stats(&heap);
        assert!(stats.concurrent_mark_bytes > 0 && stats.concurrent_mark_ns > 0, "{stats:?}");
        assert!(stats.mark_start_max_ns > 0 && stats.concurrent_degenerated <= stats.concurrent_markings);
        // What was dead goes with the next collection that the program asks for.
        (0..20).for_each(|i| roots.set(i, 0));
        mutator.collect().unwrap();
        assert_eq!(heap.inspect().stats().live_objects, 0);
    }
}

#[test]
fn a_mark_stack_that_overflows_beside_the_program_loses_nothing() {
    for edges in [1, 8, 100] {
        let heap = heap(BESIDE.mark_stack(edges));
        let mutator = attach(&heap);
        let mut roots = Slots::new(&heap, 20);
        tree(&mutator, &mut roots, 0, 12);
        churn(&heap, &mutator, 3);
        assert_eq!(count(&heap, roots.get(0), 12), (1 << 13) - 1);
        assert!(stats(&heap).mark_overflows > 0);
    }
}

/// Each list is one chain of edges: the marker has nothing but the next object.
#[test]
fn a_long_list_is_marked_beside_the_program() {
    const LEN: usize = 200_000;
    let heap = heap(BESIDE);
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 1);
    for i in 0..LEN {
        let next = new(&mutator, node);
        link(&mutator, next, 0, roots.get(0));
        put(next, 2, i);
        roots.set(0, next);
    }
    churn(&heap, &mutator, 3);
    let mut at = roots.get(0);
    for i in (0..LEN).rev() {
        assert_eq!(get(at, 2), i);
        at = get(at, 0);
    }
    assert_eq!(at, 0);
}

#[test]
fn under_a_limit_a_marking_ends_in_a_stop_before_an_allocation_fails() {
    let heap = heap(BESIDE.limit(16 << 20));
    let mutator = attach(&heap);
    let mut roots = Slots::new(&heap, 20);
    tree(&mutator, &mut roots, 0, 17);
    churn(&heap, &mutator, 2);
    assert_eq!(count(&heap, roots.get(0), 17), (1 << 18) - 1);
}

/// A heap goes while its marker may be at work: it waits for a slice, not for the marking.
#[test]
fn a_heap_may_go_while_it_is_marked() {
    for _ in 0..10 {
        let heap = heap(BESIDE);
        let mutator = attach(&heap);
        let mut roots = Slots::new(&heap, 20);
        tree(&mutator, &mut roots, 0, 15);
        for _ in 0..200_000 {
            new(&mutator, node_type(&heap));
        }
    }
}

/// The child has no marker thread: it starts its own when a marking is next wanted, or ends the one that was under way.
#[test]
fn a_process_may_fork_in_the_middle_of_a_marking() {
    in_child(|| {
        let heap = heap(BESIDE);
        let mutator = attach(&heap);
        let mut roots = Slots::new(&heap, 20);
        tree(&mutator, &mut roots, 0, 14);
        for _ in 0..if is_thorough() { 20 } else { 5 } {
            churn(&heap, &mutator, 1);
            let check = || {
                churn(&heap, &mutator, 2);
                assert_eq!(count(&heap, roots.get(0), 14), (1 << 15) - 1);
                mutator.collect().unwrap();
                assert_eq!(count(&heap, roots.get(0), 14), (1 << 15) - 1);
                7
            };
            assert_eq!(forked(check), 7 << 8);
        }
        assert_eq!(count(&heap, roots.get(0), 14), (1 << 15) - 1);
    });
}

#[test]
fn markings_beside_the_program_pass_the_checks_of_verify_mode() {
    for generational in [Generational::Always, Generational::Off] {
        let heap = heap(BESIDE.verify(true).generational(generational));
        let mutator = attach(&heap);
        let mut roots = Slots::new(&heap, 20);
        tree(&mutator, &mut roots, 0, 11);
        churn(&heap, &mutator, 3);
        assert_eq!(count(&heap, roots.get(0), 11), (1 << 12) - 1);
        assert_eq!(stats(&heap).barrier_violations, 0);
    }
}

#[test]
fn off_means_never_and_always_is_refused_where_it_cannot_be() {
    let off = heap(BESIDE.concurrent(Concurrent::Off));
    let mutator = attach(&off);
    (0..2_000_000).for_each(|_| _ = new(&mutator, node_type(&off)));
    let stats = stats(&off);
    assert!(stats.collections > 0 && stats.concurrent_markings == 0 && stats.mark_start_max_ns == 0);
    let refused = |config: Config| heapwood_gc::Heap::create(&SYSTEM, config).err().unwrap().to_string();
    let signals = BESIDE.conservative_stacks(true).stop(Stop::Signals);
    assert!(refused(signals).contains("leave concurrent out, or stop threads by polls"));
    assert!(refused(BESIDE.background_release(false)).contains("leave one of them out"));
    // Auto is off there.
    for config in [signals, BESIDE.background_release(false)] {
        assert!(heapwood_gc::Heap::create(&SYSTEM, config.concurrent(Concurrent::Auto)).is_ok());
    }
}

#[test]
fn what_a_root_was_set_to_during_a_marking_is_kept() {
    let heap = heap(BESIDE);
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 3);
    roots.set(0, new(&mutator, node));
    let ended = || stats(&heap).concurrent_markings;
    let until = ended() + 5;
    while ended() < until {
        // The only path to an object moves into a root, and back.
        link(&mutator, roots.get(0), 0, new(&mutator, node));
        put(get(roots.get(0), 0), 2, 99);
        roots.set(1, get(roots.get(0), 0));
        link(&mutator, roots.get(0), 0, 0);
        (0..1000).for_each(|_| _ = new(&mutator, node));
        assert_eq!(get(roots.get(1), 2), 99);
        mutator.blocking(std::thread::yield_now).unwrap();
    }
}

/// Helpers take over what a marking has left that ends in a stop.
#[test]
fn a_marking_that_ends_late_is_ended_by_several_markers() {
    const NODES: usize = 20_000;
    for generational in [Generational::Always, Generational::Off] {
        let config = PRECISE.min_heap(256 << 20).background_release(false).mark_threads(3);
        let heap = heap(config.generational(generational));
        let mutator = attach(&heap);
        let (node, element) = (node_type(&heap), TypeDescriptor::masked(WORD, &[1]).unwrap());
        let ty = mutator.types().type_for(NODES * WORD, slice_scan(&element, 0).unwrap()).unwrap();
        let mut roots = Slots::new(&heap, 1);
        roots.set(0, new(&mutator, ty));
        for i in 0..NODES {
            link(&mutator, roots.get(0), i, new(&mutator, node));
            link(&mutator, get(roots.get(0), i), 0, new(&mutator, node));
            put(get(get(roots.get(0), i), 0), 2, i);
        }
        let nodes: Vec<usize> = (0..NODES).map(|i| get(roots.get(0), i)).collect();
        let marking = mutator.incremental_marking();
        assert!(marking.begin().unwrap() && marking.step(3).unwrap());
        // What was reachable when it began is kept, though a third of the paths are cut.
        (0..NODES).step_by(3).for_each(|i| link(&mutator, roots.get(0), i, 0));
        assert!(marking.finish().unwrap());
        heap.memory().finish_sweep();
        for (i, &node) in nodes.iter().enumerate() {
            assert!(heap.objects().find(node).is_some() && get(get(node, 0), 2) == i);
            assert!(heap.objects().find(get(node, 0)).is_some());
        }
        assert_eq!(stats(&heap).live_objects, 2 * NODES + 1);
        mutator.collect().unwrap();
        assert_eq!(stats(&heap).live_objects, 2 * (NODES - NODES.div_ceil(3)) + 1);
        assert_valid(&heap);
    }
}

/// A program that overwrites much fills chunks of the log, which the marker takes while it goes on. A list keeps the marker
/// busy meanwhile: it is the last root, so its first node is marked first. It becomes longer where the program stores too slowly
/// beside the marker, as under ThreadSanitizer.
#[test]
fn what_barriers_note_comes_to_the_marker_while_the_program_goes_on() {
    const NODES: usize = 20_000;
    const LIST: usize = 50_000;
    let heap = heap(BESIDE);
    let mutator = attach(&heap);
    let (node, element) = (node_type(&heap), TypeDescriptor::masked(WORD, &[1]).unwrap());
    let ty = mutator.types().type_for(NODES * WORD, slice_scan(&element, 0).unwrap()).unwrap();
    let mut roots = Slots::new(&heap, 3);
    (0..2).for_each(|table| roots.set(table, new(&mutator, ty)));
    for i in 0..NODES {
        link(&mutator, roots.get(0), i, new(&mutator, node));
        link(&mutator, get(roots.get(0), i), 0, new(&mutator, node));
        put(get(get(roots.get(0), i), 0), 2, i);
    }
    roots.extend_list(2, &mutator, node, LIST, 0);
    let mut list = LIST;
    let marking = mutator.incremental_marking();
    // Pauses hand in a chunk each, too, full or not: of one mutator at most five in a marking.
    const MANY: u64 = 10;
    let mut from = 0;
    for _ in 0..5 {
        for pass in 1.. {
            if marking.counts().chunks >= MANY {
                break;
            }
            if pass % 4 == 0 && list < 32 * LIST {
                roots.extend_list(2, &mutator, node, list, list);
                list *= 2;
            }
            assert!(marking.ask_marker());
            for i in 0..NODES {
                let moved = get(roots.get(from), i);
                link(&mutator, roots.get(1 - from), i, moved);
                link(&mutator, roots.get(from), i, 0);
                mutator.safepoint();
            }
            from = 1 - from;
        }
        // The marking ends, and the next begins to count anew.
        while marking.counts().chunks >= MANY {
            assert!(marking.ask_marker());
            mutator.blocking(std::thread::yield_now).unwrap();
        }
    }
    assert!((0..NODES).all(|i| get(get(get(roots.get(from), i), 0), 2) == i));
    check_list(roots.get(2), list, 0);
    mutator.collect().unwrap();
    assert_eq!(stats(&heap).live_objects, 2 * NODES + list + 2);
}

/// Words of a conservative object lead anywhere: also to spans that are being made and ended while the marker looks there.
#[test]
fn stray_words_lead_the_marker_to_spans_that_come_and_go() {
    const STRAY: usize = 20_000;
    const KEPT: usize = 100;
    let heap = heap(BESIDE);
    let mutator = attach(&heap);
    let table = TypeDescriptor::conservative((STRAY + KEPT) * WORD).unwrap();
    let table = heap.types().register(&table).unwrap();
    let types: Vec<_> = [40, 700, 9_000, 70_000].iter().map(|&bytes| pointer_free(&heap, bytes)).collect();
    let (mut roots, mut rng) = (Slots::new(&heap, 1), Rng::new(3));
    roots.set(0, new(&mutator, table));
    let base = heap.space().base().get();
    (0..STRAY).for_each(|i| put(roots.get(0), KEPT + i, base + rng.below(32 << 20)));
    let until = stats(&heap).concurrent_markings + 30;
    let mut kept = [0; KEPT];
    for step in 0.. {
        if step % 100 == 0 && stats(&heap).concurrent_markings >= until {
            break;
        }
        let i = rng.below(KEPT);
        if kept[i] != 0 {
            assert_eq!((get(roots.get(0), i), get(kept[i], 0)), (kept[i], i));
        }
        kept[i] = new(&mutator, types[rng.below(types.len())]);
        put(kept[i], 0, i);
        link(&mutator, roots.get(0), i, kept[i]);
        if rng.one_in(50) {
            assert!(mutator.incremental_marking().ask_marker());
            mutator.blocking(std::thread::yield_now).unwrap();
        }
    }
    assert!(kept.iter().enumerate().all(|(i, &object)| object == 0 || get(object, 0) == i));
    mutator.collect().unwrap();
    assert_swept_and_valid(&heap);
}

/// A marker that scans deferred objects is stopped again and again, and leaves some of them for later.
#[test]
fn a_marker_that_is_stopped_while_it_scans_deferred_objects_forgets_none() {
    const NODES: usize = 3000;
    let heap = heap(BESIDE.mark_stack(1).generational(Generational::Always).min_heap(256 << 20));
    let mutator = attach(&heap);
    // Some to a page, so that they lie in many words of the set: each refers to two leaves, which lie elsewhere.
    let (big, node) = (masked(&heap, 128, &[0, 100]), node_type(&heap));
    let element = TypeDescriptor::masked(WORD, &[1]).unwrap();
    let table = mutator.types().type_for(NODES * WORD, slice_scan(&element, 0).unwrap()).unwrap();
    let mut roots = Slots::new(&heap, 1);
    roots.set(0, new(&mutator, table));
    for i in 0..NODES {
        let at = new(&mutator, big);
        link(&mutator, roots.get(0), i, at);
        (0..2).for_each(|leaf| link(&mutator, at, 100 * leaf, new(&mutator, node)));
    }
    let live = 1 + 3 * NODES;
    for _ in 0..rounds() {
        let until = stats(&heap).concurrent_markings + 1;
        while stats(&heap).concurrent_markings < until {
            mutator.incremental_marking().ask_marker();
            mutator.collect_young().unwrap();
        }
        assert_eq!(stats(&heap).live_objects, live);
    }
    assert!(stats(&heap).mark_overflows > 0);
}

fn rounds() -> u32 {
    if is_long() { 2000 } else { 60 }
}
