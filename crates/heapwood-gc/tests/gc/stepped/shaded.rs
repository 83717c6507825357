//! The log of what barriers shade: chunks of each mutator, what has no chunk, what threads leave behind, and freed objects. Invariant:
//! each test counts what came, or looks for what only the log leads to.

use super::{ALWAYS, OFF, quiet};
use core::sync::atomic::{AtomicBool, Ordering};
use heapwood_gc::{HeapBox, Mutator, Refusal, ShadeCounts, slice_scan};
use heapwood_gc_testing::*;
use heapwood_heap::{Address, ObjectRef};
use heapwood_layout::{TraceContext, TypeDescriptor};
use std::ptr::NonNull;

/// Objects of a full chunk.
const CHUNK: usize = 510;

fn shaded(mutator: &Mutator) -> ShadeCounts {
    mutator.incremental_marking().counts()
}

/// A table that a root refers to, and nodes that only the table refers to; each refers to a leaf of its own.
fn table<'h>(heap: &'h HeapBox, mutator: &Mutator, nodes: usize) -> (Slots<'h>, usize, Vec<usize>) {
    let element = TypeDescriptor::masked(WORD, &[1]).unwrap();
    let ty = mutator.types().type_for(nodes * WORD, slice_scan(&element, 0).unwrap()).unwrap();
    let mut roots = Slots::new(heap, 2);
    roots.set(0, new(mutator, ty));
    let table = roots.get(0);
    for i in 0..nodes {
        link(mutator, table, i, new(mutator, node_type(heap)));
        link(mutator, get(table, i), 0, new(mutator, node_type(heap)));
        put(get(get(table, i), 0), 2, i);
    }
    let all = (0..nodes).map(|i| get(table, i)).collect();
    (roots, table, all)
}

/// Overwrites the table by one copy.
fn overwrite(mutator: &Mutator, table: usize, by: &[usize]) {
    // SAFETY: the table has so many words, and the values are null or objects.
    unsafe { mutator.barrier().copy(ObjectRef::new(table), table as *mut usize, by.as_ptr(), by.len()) };
}

fn leaves_are_there(heap: &HeapBox, nodes: &[usize]) {
    heap.memory().finish_sweep();
    for (i, &node) in nodes.iter().enumerate() {
        let leaf = get(node, 0);
        assert!(heap.objects().find(node).is_some() && heap.objects().find(leaf).is_some(), "node {i}");
        assert_eq!(get(leaf, 2), i);
    }
    assert_valid(heap);
}

/// In a forked child the marking goes on; the threads whose barriers have shaded are not there, and their chunks are.
#[test]
fn a_forked_child_scans_what_vanished_threads_have_shaded() {
    in_child(|| {
        let heap = quiet(ALWAYS);
        let mutator = attach(&heap);
        let (_roots, table, nodes) = table(&heap, &mutator, CHUNK + 20);
        assert!(mutator.incremental_marking().begin().unwrap());
        let (has_shaded, ends) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|s| {
            s.spawn(|| {
                let other = attach(&heap);
                overwrite(&other, table, &[0; CHUNK + 20]);
                has_shaded.store(true, Ordering::SeqCst);
                let waits = || {
                    wait_for(&ends);
                };
                other.blocking(waits).unwrap();
            });
            wait_for(&has_shaded);
            let check = || {
                assert_eq!(shaded(&mutator).objects, CHUNK as u64);
                assert!(mutator.incremental_marking().finish().unwrap());
                assert_eq!(shaded(&mutator).objects, CHUNK as u64 + 20);
                leaves_are_there(&heap, &nodes);
                7
            };
            let ended = forked(check);
            ends.store(true, Ordering::SeqCst);
            assert_eq!(ended, 7 << 8);
            check();
        });
    });
}

/// The last pause forgets a bounded number of the objects that were freed beside the marking. The others are no objects, either; stray
/// words lead to nothing; and the next full collection has the memory.
#[test]
fn freed_objects_beyond_the_bound_wait_for_the_next_full_collection() {
    const NODES: usize = 12_000;
    for (generational, verifies) in [(ALWAYS, false), (OFF, false), (ALWAYS, true), (OFF, true)] {
        let usual = PRECISE.min_heap(256 << 20).background_release(false).generational(generational);
        let heap = heap(usual.verify(verifies).quarantine(0));
        let mutator = attach(&heap);
        let words = heap.types().register(&TypeDescriptor::conservative(100 * WORD).unwrap()).unwrap();
        let (mut roots, table, nodes) = table(&heap, &mutator, NODES);
        roots.set(1, new(&mutator, words));
        let stray = roots.get(1);
        let leaves: Vec<usize> = nodes.iter().map(|&node| get(node, 0)).collect();
        assert!(mutator.incremental_marking().begin().unwrap());
        overwrite(&mutator, table, &[0; NODES]);
        nodes.iter().for_each(|&node| free(&mutator, node));
        let wait = || {
            let waits = |&&node: &&usize| heap.space().is_old(Address::new(node));
            heap.memory().finish_sweep();
            nodes.iter().filter(waits).copied().collect::<Vec<_>>()
        };
        assert!(mutator.incremental_marking().finish().unwrap());
        let waiting = wait();
        assert!((NODES - 4080..NODES).contains(&waiting.len()), "{} wait", waiting.len());
        // Neither objects nor free cells.
        let are_gone = || {
            for &node in &nodes {
                assert!(mutator.find(node).is_none() && mutator.find(node + WORD).is_none());
            }
            assert_valid(&heap);
        };
        are_gone();
        // SAFETY: the object is gone, which the call must find.
        let twice = unsafe { mutator.free(NonNull::new(waiting[0] as *mut u8).unwrap()) };
        assert!(matches!(twice, Err(Refusal::Heap(heapwood_heap::Refusal::FreedTwice { .. }))), "{twice:?}");
        // Words that lead there, through collections of both kinds.
        for (i, &node) in waiting.iter().step_by(waiting.len() / 90).take(100).enumerate() {
            link(&mutator, stray, i, node + WORD);
        }
        if generational == ALWAYS {
            mutator.collect_young().unwrap();
        }
        are_gone();
        let made: Vec<usize> = (0..2000).map(|_| new(&mutator, node_type(&heap))).collect();
        assert!(made.iter().all(|node| waiting.binary_search(node).is_err()), "they have waited");
        mutator.collect().unwrap();
        assert!(wait().is_empty());
        assert_valid(&heap);
        let leaf_lives = |&leaf: &usize| heap.objects().find(leaf).is_some();
        assert!(!leaves.iter().any(leaf_lives));
        assert_eq!(heap.inspect().stats().live_objects, 2);
    }
}

/// A free that is refused shades nothing: the marker takes what is shaded for the first byte of an object, with flags in its
/// lowest bits.
#[test]
fn a_refused_free_inside_an_object_shades_nothing() {
    for inside in [1, 2, 3, WORD, WORD + 1, 2 * WORD] {
        let heap = quiet(OFF);
        let mutator = attach(&heap);
        let (_roots, _, nodes) = table(&heap, &mutator, 1);
        mutator.collect().unwrap();
        assert!(mutator.incremental_marking().begin().unwrap());
        let at = NonNull::new((nodes[0] + inside) as *mut u8).unwrap();
        // SAFETY: no object begins there.
        let refused = unsafe { mutator.free(at) };
        assert!(matches!(refused, Err(Refusal::Heap(heapwood_heap::Refusal::Inside { .. }))), "{refused:?}");
        mutator.incremental_marking().step(0).unwrap();
        assert_eq!(shaded(&mutator).objects, 0);
        assert!(mutator.incremental_marking().finish().unwrap());
        leaves_are_there(&heap, &nodes);
    }
}

static TRACED_A_LINK: AtomicBool = AtomicBool::new(false);

/// Word 0 is at most 1 in an object of this type.
unsafe extern "C" fn trace_none(object: *mut u8, _size: usize, _context: *mut TraceContext) {
    // SAFETY: the object has that word.
    if unsafe { object.cast::<usize>().read() } > 1 {
        TRACED_A_LINK.store(true, Ordering::Relaxed);
    }
}

/// A mutator takes a freed cell, a stray word leads a barrier there, and a pause takes the cell back before it is an object.
#[test]
fn a_shaded_cell_that_went_back_to_its_chain_is_not_traced() {
    let heap = quiet(ALWAYS);
    let mutator = attach(&heap);
    let traced = heap.types().register(&TypeDescriptor::traced(4 * WORD, trace_none).unwrap()).unwrap();
    let words = heap.types().register(&TypeDescriptor::conservative(4 * WORD).unwrap()).unwrap();
    let mut roots = Slots::new(&heap, 2);
    let (bag, other, cell) = (new(&mutator, words), new(&mutator, traced), new(&mutator, traced));
    roots.set(0, bag);
    roots.set(1, other);
    put(bag, 1, cell);
    mutator.collect().unwrap();
    roots.set(1, 0);
    // The chain's last link is the complement of null.
    free(&mutator, other);
    free(&mutator, cell);
    assert!(mutator.incremental_marking().begin().unwrap());
    let reserved = (0..10_000).any(|_| {
        let size = traced.cell_size().unwrap();
        let at = mutator.reserve(traced.shape(), size).unwrap();
        if at.as_ptr() as usize == cell {
            return true;
        }
        // SAFETY: it was reserved just now, and is all zeros.
        unsafe { mutator.buffer(traced.shape()).commit(at, size) };
        false
    });
    assert!(reserved);
    // SAFETY: the object has this word, which may hold anything.
    unsafe { mutator.barrier().write(ObjectRef::new(bag), (bag as *mut usize).add(1), Address::new(0)) };
    mutator.collect_young().unwrap();
    assert!(heap.space().is_freed(ObjectRef::new(cell)), "the pause has taken the cell back");
    // The log has the cell as what is to be made an object, and as one.
    assert!(shaded(&mutator).objects >= 2);
    assert!(mutator.incremental_marking().finish().unwrap());
    assert!(!TRACED_A_LINK.load(Ordering::Relaxed));
    heap.memory().finish_sweep();
    assert_valid(&heap);
}
