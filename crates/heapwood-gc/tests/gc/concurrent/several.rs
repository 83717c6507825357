//! Several markers beside the program: they share edges, leave what they have not marked when a pause comes, and end together.
//! Each test holds graphs that one marker would mark alone if nothing was shared (lists), or that many share (trees, a wide
//! array), and counts exactly what outlives a marking. How many markers a slice has had is counted; how much each has marked
//! depends on the machine.

use super::*;
use heapwood_gc::Tracer;
use heapwood_layout::TraceContext;

/// Four of these mark beside the program.
const SEVERAL: Config = BESIDE.mark_threads(8);

/// A wide array whose nodes have a leaf each, a tree, and lists that begin in the array.
struct Graphs<'h> {
    roots: Slots<'h>,
    objects: usize,
}

const WIDE: usize = 30_000;
const DEPTH: usize = 13;
const LISTS: usize = 5;
const LIST: usize = 20_000;

impl<'h> Graphs<'h> {
    fn new(heap: &'h HeapBox, mutator: &Mutator) -> Self {
        let (node, element) = (node_type(heap), TypeDescriptor::masked(WORD, &[1]).unwrap());
        let ty = mutator.types().type_for(WIDE * WORD, slice_scan(&element, 0).unwrap()).unwrap();
        let mut roots = Slots::new(heap, 2 + LISTS + DEPTH);
        roots.set(0, new(mutator, ty));
        for i in 0..WIDE {
            link(mutator, roots.get(0), i, new(mutator, node));
            link(mutator, get(roots.get(0), i), 0, new(mutator, node));
            put(get(get(roots.get(0), i), 0), 2, i);
        }
        for list in 0..LISTS {
            roots.extend_list(1 + list, mutator, node, LIST, 0);
        }
        tree(mutator, &mut roots, 1 + LISTS, DEPTH);
        // Only the first node of the tree is a root.
        (2 + LISTS..2 + LISTS + DEPTH).for_each(|i| roots.set(i, 0));
        Graphs { roots, objects: 1 + 2 * WIDE + LISTS * LIST + (2 << DEPTH) - 1 }
    }

    fn check(&self, heap: &HeapBox) {
        for i in 0..WIDE {
            let leaf = get(get(self.roots.get(0), i), 0);
            assert!(is_alive(heap, leaf), "leaf {i}");
            assert_eq!(get(leaf, 2), i);
        }
        (0..LISTS).for_each(|list| check_list(self.roots.get(1 + list), LIST, 0));
        assert_eq!(count(heap, self.roots.get(1 + LISTS), DEPTH), (2 << DEPTH) - 1);
    }
}

/// Asks the marker for markings until so many more have ended; the program moves the leaves of the wide array meanwhile.
fn until_marked(heap: &HeapBox, mutator: &Mutator, graphs: &Graphs<'_>, markings: u64) {
    let until = stats(heap).concurrent_markings + markings;
    let mut rng = Rng::new(markings);
    while stats(heap).concurrent_markings < until {
        mutator.incremental_marking().ask_marker();
        for _ in 0..1000 {
            // Two leaves change places: for a moment the only pointer to one is on this stack.
            let (a, b) =
                (get(graphs.roots.get(0), rng.below(WIDE)), get(graphs.roots.get(0), rng.below(WIDE)));
            let (of_a, of_b) = (get(a, 0), get(b, 0));
            let (number_a, number_b) = (get(of_a, 2), get(of_b, 2));
            link(mutator, a, 0, 0);
            link(mutator, b, 0, of_a);
            link(mutator, a, 0, of_b);
            put(of_a, 2, number_b);
            put(of_b, 2, number_a);
        }
        mutator.safepoint();
    }
}

#[test]
fn several_markers_mark_beside_the_program() {
    for (generational, edges) in
        [(Generational::Always, None), (Generational::Off, None), (Generational::Always, Some(8))]
    {
        let config = SEVERAL.generational(generational);
        let heap = heap(edges.map_or(config, |edges| config.mark_stack(edges)));
        let mutator = attach(&heap);
        let graphs = Graphs::new(&heap, &mutator);
        until_marked(&heap, &mutator, &graphs, 10);
        graphs.check(&heap);
        mutator.collect().unwrap();
        assert_eq!(stats(&heap).live_objects, graphs.objects);
        // Four, if the kernel has run all of them in time once; with one core it may run none.
        let markers = stats(&heap).concurrent_markers;
        assert!((1..=4).contains(&markers), "{markers}");
        assert_valid(&heap);
    }
}

/// Helpers that are called find work, however the machine is loaded: the first edges are a long list's, so the marking lasts
/// until they have come.
#[test]
fn helpers_take_part() {
    let heap = heap(SEVERAL.min_heap(512 << 20));
    let mutator = attach(&heap);
    let mut roots = Slots::new(&heap, 1);
    roots.extend_list(0, &mutator, node_type(&heap), 1_000_000, 0);
    for _ in 0..if is_thorough() { 1000 } else { 20 } {
        let until = stats(&heap).concurrent_markings + 1;
        while stats(&heap).concurrent_markings < until {
            mutator.incremental_marking().ask_marker();
            mutator.blocking(std::thread::yield_now).unwrap();
        }
        if stats(&heap).concurrent_markers == 4 {
            return;
        }
    }
    assert!(!is_thorough(), "{:?}", stats(&heap));
}

/// Each young collection and each request of another thread stops all markers; what they leave is marked by whoever comes next.
#[test]
fn markers_that_are_stopped_often_lose_nothing() {
    let heap = heap(SEVERAL.verify(true).generational(Generational::Always));
    let mutator = attach(&heap);
    let graphs = Graphs::new(&heap, &mutator);
    let until = stats(&heap).concurrent_markings + 3;
    let mut rng = Rng::new(5);
    while stats(&heap).concurrent_markings < until {
        mutator.incremental_marking().ask_marker();
        let at = rng.below(WIDE);
        let (node, leaf) = (get(graphs.roots.get(0), at), new(&mutator, node_type(&heap)));
        put(leaf, 2, at);
        link(&mutator, node, 0, leaf);
        mutator.collect_young().unwrap();
    }
    graphs.check(&heap);
    mutator.collect().unwrap();
    assert_eq!((stats(&heap).live_objects, stats(&heap).barrier_violations), (graphs.objects, 0));
}

#[test]
fn a_process_may_fork_while_several_mark() {
    in_child(|| {
        let heap = heap(SEVERAL);
        let mutator = attach(&heap);
        let graphs = Graphs::new(&heap, &mutator);
        for _ in 0..5 {
            mutator.incremental_marking().ask_marker();
            let check = || {
                until_marked(&heap, &mutator, &graphs, 2);
                graphs.check(&heap);
                mutator.collect().unwrap();
                assert_eq!(stats(&heap).live_objects, graphs.objects);
                7
            };
            assert_eq!(forked(check), 7 << 8);
            until_marked(&heap, &mutator, &graphs, 1);
        }
        graphs.check(&heap);
    });
}

/// Helpers end with their heap, whatever they were at.
#[test]
fn a_heap_may_go_while_several_mark_it() {
    for _ in 0..10 {
        let heap = heap(SEVERAL);
        let mutator = attach(&heap);
        let mut roots = Slots::new(&heap, 20);
        tree(&mutator, &mut roots, 0, 15);
        mutator.incremental_marking().ask_marker();
        (0..10_000).for_each(|_| _ = new(&mutator, node_type(&heap)));
    }
}

/// Visits the object's first word after a nap.
unsafe extern "C" fn trace_slowly(object: *mut u8, _size: usize, context: *mut TraceContext) {
    std::thread::sleep(core::time::Duration::from_millis(3));
    // SAFETY: the context is passed on as it came, and word 0 is a pointer.
    unsafe { Tracer::from_context(context).visit(object.cast::<usize>().read()) };
}

/// A program makes a list faster than one thread marks it: others help in turns.
#[test]
#[ignore = "of the long suite: the marker has to be slower than the program"]
fn others_help_where_the_heap_fills_faster_than_it_is_marked() {
    const MOST: usize = 20_000_000;
    let heap = heap(PRECISE.concurrent(Concurrent::Always).mark_threads(3).percent(30));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let slow = heap.types().register(&TypeDescriptor::traced(3 * WORD, trace_slowly).unwrap()).unwrap();
    let mut roots = Slots::new(&heap, 1);
    let mut made = 0;
    while stats(&heap).mark_assists == 0 {
        assert!(made < MOST, "{:?}", stats(&heap));
        for i in 0..1000 {
            let next = new(&mutator, if i == 0 { slow } else { node });
            link(&mutator, next, 0, roots.get(0));
            put(next, 2, made);
            roots.set(0, next);
            made += 1;
        }
    }
    assert!(stats(&heap).concurrent_markers > 1);
    mutator.collect().unwrap();
    assert_eq!(stats(&heap).live_objects, made);
    let mut at = roots.get(0);
    for i in (0..made).rev() {
        assert_eq!(get(at, 2), i);
        at = get(at, 0);
    }
}
