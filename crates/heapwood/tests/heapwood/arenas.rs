//! Arenas: their values live while they are open, refer to the heap and back, and are freed with them.

use crate::common::heap;
use core::cell::Cell;
use heapwood::{Arena, ArenaRef, Config, Gc, GcCell, Mutator, Root, Trace};

#[derive(Trace)]
struct Tree<'a> {
    left: Option<ArenaRef<'a, Tree<'a>>>,
    right: Option<ArenaRef<'a, Tree<'a>>>,
}

fn build<'a>(arena: &'a Arena<'_>, depth: u32) -> ArenaRef<'a, Tree<'a>> {
    let children = (depth > 0).then(|| (build(arena, depth - 1), build(arena, depth - 1)));
    arena.alloc(Tree { left: children.map(|c| c.0), right: children.map(|c| c.1) })
}

fn count(tree: ArenaRef<'_, Tree<'_>>) -> usize {
    1 + tree.left.map_or(0, count) + tree.right.map_or(0, count)
}

#[derive(Trace)]
struct Pair<'a> {
    number: Gc<u64>,
    next: Option<ArenaRef<'a, Pair<'a>>>,
}

fn sum(mut list: Option<ArenaRef<'_, Pair<'_>>>) -> u64 {
    let mut sum = 0;
    while let Some(pair) = list {
        sum += *pair.number;
        list = pair.next;
    }
    sum
}

fn garbage(m: &Mutator, n: u64) {
    for k in 0..n {
        m.alloc([k; 4]);
    }
}

#[test]
fn a_tree_in_an_arena_survives_a_collection() {
    let heap = heap(Config::default());
    let m = heap.attach().unwrap();
    for depth in [0, 3, 10, 16, 18] {
        let arena = Arena::new(&m);
        let tree = build(&arena, depth);
        m.collect();
        assert_eq!(count(tree), (2 << depth) - 1);
    }
}

#[test]
fn an_arena_keeps_its_targets_alive() {
    for config in [Config::default(), Config::default().verify(true)] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let arena = Arena::new(&m);
        let mut list = None;
        for k in 0..50_000 {
            list = Some(arena.alloc(Pair { number: m.alloc(k), next: list }));
            if k % 10_000 == 77 {
                m.collect_young();
                garbage(&m, 20_000);
            }
            if k % 17_000 == 50 {
                m.collect();
                garbage(&m, 20_000);
            }
        }
        m.collect();
        garbage(&m, 20_000);
        assert_eq!(sum(list), 50_000 * 49_999 / 2);
    }
}

/// The collector frees most of several unreachable arenas. A stale word on this stack may keep one as long as its frame
/// exists.
fn assert_most_freed(m: &Mutator) {
    let before = m.heap().stats().arena_bytes;
    assert!(before > 0);
    for _ in 0..3 {
        garbage(m, 1000);
        m.collect();
    }
    let stats = m.heap().stats();
    assert!(stats.arena_bytes <= before / 4, "{before} {stats:?}");
}

/// In its own frame, so that no pointer is left on the stack.
#[inline(never)]
fn leave_an_arena(m: &Mutator, kept: &Root<GcCell<Option<Gc<Gc<u64>>>>>) {
    let arena = Arena::new(m);
    for k in 0..1000 {
        let inner = arena.alloc_gc(m.alloc(k));
        if k == 500 {
            kept.get(m).set(m, Some(inner));
        }
    }
}

#[inline(never)]
fn value(m: &Mutator, kept: &Root<GcCell<Option<Gc<Gc<u64>>>>>) -> u64 {
    **kept.get(m).get().unwrap()
}

#[test]
fn heap_objects_keep_an_arena_that_was_dropped() {
    let heap = heap(Config::default().verify(true));
    let m = heap.attach().unwrap();
    let kept: Vec<_> = (0..8).map(|_| m.root(m.alloc(GcCell::new(None::<Gc<Gc<u64>>>)))).collect();
    for one in &kept {
        leave_an_arena(&m, one);
    }
    for _ in 0..3 {
        m.collect();
        garbage(&m, 20_000);
        m.collect_young();
        assert!(kept.iter().all(|one| value(&m, one) == 500));
    }
    for one in &kept {
        one.get(&m).set(&m, None);
    }
    assert_most_freed(&m);
}

#[test]
fn slices_texts_and_lists_come_back_as_written() {
    for config in [Config::default(), crate::common::VERIFY, crate::common::STRESS] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let arena = Arena::new(&m);
        let text = arena.alloc_str("nothing is freed one by one");
        let bytes = arena.alloc_copy(&[1u8, 2, 3]);
        bytes[1] = 7;
        let numbers = arena.alloc_slice(300, |i| i as u32);
        // Elements with pointers, made while the slice is filled.
        let boxed = arena.alloc_slice(300, |i| m.alloc(i as u64));
        let mut list = arena.list();
        for i in 0..300u64 {
            list.push(m.alloc(i * i));
            if i % 100 == 50 {
                m.collect_young();
            }
        }
        let wide = arena.alloc([0u128; 3]);
        m.collect();
        garbage(&m, 2_000);
        m.collect();
        let list = list.into_slice();
        assert_eq!((&*text, &*bytes, numbers[299]), ("nothing is freed one by one", &[1, 7, 3][..], 299));
        assert!((0..300).all(|i| *boxed[i] == i as u64 && *list[i] == (i * i) as u64));
        assert_eq!((ArenaRef::get(wide).as_ptr() as usize) % 16, 0);
        let empty = arena.alloc_slice(0, |_| 1u64);
        assert!(empty.is_empty());
        let nothing = arena.alloc_slice(1000, |_| ());
        assert_eq!(nothing.len(), 1000);
    }
}

/// An enum with a pointer is conservative, an array of a MiB is long: both live in the heap, as long as the arena.
#[test]
fn values_that_an_arena_cannot_hold_live_in_the_heap() {
    #[derive(Trace)]
    enum Either {
        Number(u64),
        Boxed(Gc<u64>),
    }
    let heap = heap(crate::common::VERIFY);
    let m = heap.attach().unwrap();
    let mut arena = Arena::new(&m);
    for round in 0..3 {
        let (either, long, boxes, number) = {
            let either = arena.alloc(Either::Boxed(m.alloc(round)));
            let number = arena.alloc(Either::Number(5));
            let long = arena.alloc_slice(1 << 17, |i| i as u64 + round);
            let boxes =
                arena.alloc_slice(1 << 17, |i| if i % 1000 == 0 { Some(m.alloc(i as u64)) } else { None });
            (either, long, boxes, number)
        };
        m.collect();
        garbage(&m, 10_000);
        m.collect();
        assert!(matches!(*either, Either::Boxed(boxed) if *boxed == round));
        assert!(matches!(*number, Either::Number(5)));
        assert_eq!(long[1 << 16], (1 << 16) + round);
        assert_eq!(*boxes[77_000].unwrap(), 77_000);
        assert!(heap.stats().live_bytes >= 2 << 20);
        arena.reset();
        assert_eq!(arena.bytes(), 0);
    }
    drop(arena);
    m.collect();
    m.collect();
    assert!(heap.stats().live_bytes < 1 << 20, "{}", heap.stats().live_bytes);
}

#[test]
fn a_reset_reuses_the_memory() {
    let heap = heap(Config::default());
    let m = heap.attach().unwrap();
    let mut arena = Arena::new(&m);
    let mut most = 0;
    for round in 0..200 {
        assert_eq!(count(build(&arena, 14)), (2 << 14) - 1);
        arena.reset();
        let stats = heap.stats();
        most = most.max(stats.arena_bytes + stats.arena_free_bytes);
        assert!(most <= 6 << 20, "round {round}: {most}");
    }
    assert_eq!(heap.stats().collections, 0, "arenas make no collection due");
}

/// Each request returns a `Gc`, so the collector owns its arena. It collects although nothing else is allocated.
#[test]
fn arenas_of_requests_are_collected() {
    let heap = heap(Config::default());
    let m = heap.attach().unwrap();
    let mut most = 0;
    for _ in 0..60 {
        let arena = Arena::new(&m);
        let mut sum = 0;
        for k in 0..100_000u64 {
            sum += *arena.alloc_gc(k);
        }
        assert_eq!(sum, 100_000 * 99_999 / 2);
        drop(arena);
        most = most.max(heap.stats().in_use_bytes);
    }
    assert!(most < 32 << 20, "{most} bytes in use, after {} collections", heap.stats().collections);
}

/// Cells in an arena's values change through the barrier, for young and old objects.
#[test]
fn cells_in_arenas_change_through_the_barrier() {
    #[derive(Trace)]
    struct Cell<'a> {
        number: GcCell<Option<Gc<u64>>>,
        next: Option<ArenaRef<'a, Cell<'a>>>,
    }
    for config in [Config::default(), crate::common::VERIFY] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let arena = Arena::new(&m);
        let mut cells = Vec::new();
        let mut last = None;
        for _ in 0..1000 {
            last = Some(arena.alloc(Cell { number: GcCell::new(None), next: last }));
            cells.push(last.unwrap());
        }
        for round in 0..20u64 {
            for (i, cell) in cells.iter().enumerate().filter(|(i, _)| i % 7 == round as usize % 7) {
                cell.number.set(&m, Some(m.alloc(i as u64)));
            }
            if round % 4 == 3 {
                m.collect()
            } else {
                m.collect_young()
            }
            garbage(&m, 5_000);
        }
        let found = cells.iter().enumerate().all(|(i, cell)| *cell.number.get().unwrap() == i as u64);
        assert!(found && ArenaRef::ptr_eq(cells[7].next.unwrap(), cells[6]));
    }
}

/// A node of a graph, whose edges lie in cells.
#[derive(Trace)]
struct Vertex<'a> {
    number: Gc<u64>,
    edges: [Cell<Option<ArenaRef<'a, Vertex<'a>>>>; 2],
    changes: GcCell<Option<Gc<u64>>>,
}

fn vertex<'a>(m: &Mutator, number: u64) -> Vertex<'a> {
    Vertex { number: m.alloc(number), edges: [const { Cell::new(None) }; 2], changes: GcCell::new(None) }
}

/// Walks the graph by its edges, which depend on the round.
fn walk<'a>(from: ArenaRef<'a, Vertex<'a>>, steps: u64) -> u64 {
    let mut at = from;
    (0..steps).fold(0, |sum, step| {
        at = at.edges[step as usize % 2].get().unwrap();
        assert_eq!(at.changes.get().map(|number| *number), Some(*at.number));
        sum + *at.number
    })
}

/// Cycles of an arena's values, and of values and objects. The edges change without a barrier, while the heap is collected.
#[test]
fn graphs_in_arenas_have_cycles_that_change() {
    #[derive(Trace)]
    struct Holder<'a> {
        newest: Cell<Option<ArenaRef<'a, Vertex<'a>>>>,
        other: Option<Gc<u64>>,
    }
    /// Scanned conservatively, so a word of it may or may not be a pointer.
    #[derive(Trace)]
    enum Mixed<'a> {
        Edge(Cell<Option<ArenaRef<'a, Vertex<'a>>>>),
        Number(Gc<u64>, Gc<u64>),
    }
    const N: u64 = 500;
    let always = Config::default().concurrent(heapwood::Concurrent::Always).min_heap(1 << 20);
    // Slices of 20,000 are long enough to live in the heap.
    let configs = [
        (Config::default(), 20_000),
        (crate::common::VERIFY, 20_000),
        (crate::common::STRESS, 100),
        (always, 20_000),
    ];
    for (config, len) in configs {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let mut arena = Arena::new(&m);
        for round in 0..3 {
            let nodes: Vec<ArenaRef<'_, Vertex<'_>>> = (0..N).map(|i| arena.alloc(vertex(&m, i))).collect();
            let holder = m.alloc(Holder { newest: Cell::new(None), other: Some(m.alloc(round)) });
            let mixed = m.alloc(Mixed::Edge(Cell::new(None)));
            let number = m.alloc(Mixed::Number(m.alloc(1), m.alloc(2)));
            for stride in [1, 7, 11] {
                for (i, node) in nodes.iter().enumerate() {
                    let number = m.alloc(i as u64);
                    node.changes.set(&m, Some(number));
                    node.edges[0].set(Some(nodes[(i + stride) % N as usize]));
                    node.edges[1].set(Some(*node));
                    holder.newest.set(Some(*node));
                    let Mixed::Edge(edge) = &*mixed else { unreachable!() };
                    edge.set(Some(nodes[(i * stride) % N as usize]));
                }
                m.collect_young();
                m.collect();
                garbage(&m, 2000);
                assert_eq!(
                    walk(nodes[0], 2 * N),
                    (0..N).map(|i| 2 * ((i + 1) * stride as u64 % N)).sum::<u64>()
                );
                assert_eq!((*holder.newest.get().unwrap().number, *holder.other.unwrap()), (N - 1, round));
                let Mixed::Number(one, two) = &*number else { unreachable!() };
                assert_eq!((**one, **two), (1, 2));
            }
            // In a slice: the last element leads to the first.
            let ring = arena.alloc_slice(len, |i| vertex(&m, i as u64));
            for (i, vertex) in ring.iter().enumerate() {
                vertex.edges[0].set(Some(ArenaRef::at(ring, (i + 1) % ring.len())));
            }
            m.collect();
            let mut at = ArenaRef::at(ring, 0);
            for i in 0..=ring.len() as u64 {
                assert_eq!(*at.number, i % ring.len() as u64);
                at = at.edges[0].get().unwrap();
            }
            drop(nodes);
            arena.reset();
            garbage(&m, 2000);
            m.collect();
        }
        assert_eq!(heap.stats().barrier_violations, 0);
    }
}

#[test]
fn lists_in_arenas_extend_and_pop() {
    let heap = heap(crate::common::VERIFY);
    let m = heap.attach().unwrap();
    let arena = Arena::new(&m);
    let mut stack = arena.list();
    let mut model = Vec::new();
    for i in 0..1000u64 {
        stack.extend([i, i + 1]);
        model.extend([i, i + 1]);
        if i % 3 == 0 {
            let popped = [stack.pop(), stack.pop(), stack.pop()];
            assert_eq!(popped, [model.pop(), model.pop(), model.pop()]);
        }
    }
    assert_eq!(*stack, *model);
    let mut empty = arena.list::<u8>();
    assert!(empty.pop().is_none() && empty.pop().is_none() && empty.is_empty());
    empty.push(1);
    assert_eq!((empty.pop(), empty.pop()), (Some(1), None));
    // References to values, too.
    let mut open = arena.list();
    open.extend((0..10u64).map(|i| arena.alloc(m.alloc(i))));
    m.collect();
    assert_eq!(**open.pop().unwrap(), 9);
    let numbers = arena.alloc_from_iter((0..300u64).map(|i| m.alloc(i)));
    m.collect();
    let mut sum = 0;
    for number in numbers {
        sum += **number;
    }
    assert_eq!(sum, 299 * 150);
    let words = arena.alloc_from_iter(["b", "a", "b"].map(|word| arena.alloc_str(word)));
    assert!(words[0] == words[2] && !ArenaRef::ptr_eq(words[0], words[2]) && words[1] < words[0]);
    assert_eq!(
        std::collections::HashSet::from([words[0], words[1], words[2]]).get("b").map(|word| word.len()),
        Some(1)
    );
}

#[test]
fn an_explicitly_freed_arena_keeps_its_addresses_in_quarantine() {
    let heap = heap(Config::default());
    let m = heap.attach().unwrap();
    let arena = Arena::new(&m);
    for k in 0..10_000u64 {
        arena.alloc_gc(k);
    }
    // SAFETY: no `Gc` of it is used.
    unsafe { arena.free() };
    let stats = heap.stats();
    assert!(stats.arena_bytes == 0 && stats.arena_free_bytes > 0, "{stats:?}");
}

#[test]
fn the_collector_frees_open_arenas_of_ended_threads() {
    let heap = heap(Config::default());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let m = heap.attach().unwrap();
                let arena = Arena::new(&m);
                build(&arena, 12);
                // Its destructor does not run.
                core::mem::forget(arena);
            });
        }
    });
    let m = heap.attach().unwrap();
    assert_most_freed(&m);
}

#[test]
fn many_small_arenas_take_constant_memory() {
    let heap = heap(Config::default());
    let m = heap.attach().unwrap();
    let many = if cfg!(debug_assertions) { 20_000 } else { 1_000_000 };
    for k in 0..many {
        let arena = Arena::new(&m);
        assert_eq!(*arena.alloc([k; 16]), [k; 16]);
        if k % 1000 == 0 {
            garbage(&m, 10);
        }
    }
    let stats = heap.stats();
    assert!(stats.committed_bytes <= 16 << 20 && stats.arenas == many, "{stats:?}");
    let alive: Vec<Arena<'_>> = (0..10_000).map(|_| Arena::new(&m)).collect();
    for arena in &alive {
        arena.alloc([1u64; 128]);
    }
    assert!(heap.stats().arena_bytes <= 10_000 * 8192 + (2 << 20));
}

/// In its own frame.
#[inline(never)]
fn free_an_arena(m: &Mutator, kept: &Root<GcCell<Option<Gc<Gc<u64>>>>>) {
    let arena = Arena::new(m);
    for k in 0..100 {
        let inner = arena.alloc_gc(m.alloc(k));
        if k == 51 {
            kept.get(m).set(m, Some(inner));
        }
    }
    // SAFETY: the kept pointers are not followed.
    unsafe { arena.free() };
}

/// Marks at stale pointers do not outlive the chunks that they point into: objects at the same addresses are found.
#[test]
fn stale_pointers_into_freed_arenas_leave_no_marks() {
    let heap = heap(Config::default().generational(heapwood::Generational::Always).min_heap(1 << 20));
    let m = heap.attach().unwrap();
    for round in 0..20 {
        let kept: Vec<_> = (0..20).map(|_| m.root(m.alloc(GcCell::new(None::<Gc<Gc<u64>>>)))).collect();
        for (i, kept) in kept.iter().enumerate() {
            free_an_arena(&m, kept);
            match (round + i) % 5 {
                0 => m.collect(),
                1 => m.collect_young(),
                _ => {}
            }
        }
        m.collect();
        drop(kept);
        // The addresses leave quarantine, and unused chunks are released.
        for _ in 0..3 {
            m.collect();
        }
        let objects: Vec<_> = (0..2000).map(|k| m.root(m.alloc([k as u64; 11]))).collect();
        m.collect();
        assert!(objects.iter().enumerate().all(|(k, object)| *object.get(&m) == [k as u64; 11]));
    }
}

/// Makes dead objects that refer to a value of a freed arena.
#[inline(never)]
fn refer(m: &Mutator, kept: &Root<GcCell<Option<Gc<Gc<u64>>>>>) {
    let arena = Arena::new(m);
    let value = arena.alloc_gc(m.alloc(7));
    for _ in 0..1000 {
        m.alloc(GcCell::new(Some(value)));
    }
    kept.get(m).set(m, Some(value));
    // SAFETY: the pointers that are left are not followed.
    unsafe { arena.free() };
}

/// Verify mode accepts stale pointers where they are allowed.
#[test]
fn dead_objects_may_refer_to_a_freed_arena() {
    let heap = heap(Config::default().verify(true).generational(heapwood::Generational::Always));
    let m = heap.attach().unwrap();
    let kept = m.root(m.alloc(GcCell::new(None::<Gc<Gc<u64>>>)));
    for _ in 0..5 {
        refer(&m, &kept);
        m.collect_young();
        refer(&m, &kept);
        m.collect();
        garbage(&m, 20_000);
    }
}

#[test]
fn a_value_without_bytes_has_an_address() {
    let heap = heap(Config::default());
    let m = heap.attach().unwrap();
    let arena = Arena::new(&m);
    let address = core::ptr::from_ref(ArenaRef::get(arena.alloc(()))) as usize;
    assert_ne!(address, 0);
}
