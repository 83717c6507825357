//! Full markings beside the program, by the heap's own marker thread: that they come and end, that nothing is lost, and the
//! cliffs: a mark stack that overflows, a goal that is met first, a heap that goes while it is marked, a fork in the middle. The
//! oracle of threads (`threads_oracle`) plays half of its programs so; the oracle (`oracle/steps.rs`) plays beside markings
//! in steps.
//!
//! What is counted is exact on any machine. How far the marker has come when a program looks is not, so no test asserts that.

mod bounded;
mod idle;
mod paced;
mod requests;
mod traced;

use heapwood_gc::settings::options::{Concurrent, Generational, Stop};
use heapwood_gc::{Config, HeapBox, Mutator, Stats, slice_scan};
use heapwood_gc_testing::*;
use heapwood_layout::TypeDescriptor;
use heapwood_os::SYSTEM;

const BESIDE: Config = PRECISE.concurrent(Concurrent::On).max_pause(0).min_heap(4 << 20);

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

/// Heaps with a tree of so many levels, that outlives so many markings.
#[test]
fn markings_beside_the_program_come_and_end_and_keep_what_can_be_reached() {
    let all = [Generational::Always, Generational::Auto, Generational::Off];
    let usual = all.map(|generational| (BESIDE.generational(generational), 14, 5));
    let overflows = [1, 8, 100].map(|edges| (BESIDE.mark_stack(edges), 12, 3));
    let verified = [all[0], all[2]].map(|young| (BESIDE.verify(true).generational(young), 11, 3));
    // Under a limit a marking ends in a stop before an allocation fails.
    let limited = (BESIDE.limit(16 << 20), 17, 2);
    for (config, depth, markings) in usual.into_iter().chain(overflows).chain(verified).chain([limited]) {
        let heap = heap(config);
        let mutator = attach(&heap);
        let mut roots = Slots::new(&heap, 20);
        tree(&mutator, &mut roots, 0, depth);
        churn(&heap, &mutator, markings);
        assert_eq!(count(&heap, roots.get(0), depth), (2 << depth) - 1);
        let stats = stats(&heap);
        assert!(stats.concurrent_mark_bytes > 0 && stats.barrier_violations == 0, "{stats:?}");
        assert!(stats.mark_overflows > 0 || config.mark_stack.is_none());
        // What was dead goes with the next collection that the program asks for.
        (0..20).for_each(|i| roots.set(i, 0));
        mutator.collect().unwrap();
        assert_eq!(heap.inspect().stats().live_objects, 0);
    }
}

/// The child has no marker thread: it starts its own when a marking is next wanted, or ends the one that was under way.
#[test]
fn a_process_may_fork_in_the_middle_of_a_marking() {
    for config in [BESIDE, BESIDE.mark_threads(8)] {
        Child::new().called(config.mark_threads).run(|| fork_in_the_middle_of_a_marking(config)).well();
    }
}

fn fork_in_the_middle_of_a_marking(config: Config) {
    let heap = heap(config);
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
