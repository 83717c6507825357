//! Arenas: their values live while they are open, refer to the heap and back, and are freed with them.

use crate::common::heap;
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

fn garbage(m: &Mutator, n: u64) {
    for k in 0..n {
        m.alloc([k; 4]);
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
        let list = list.finish();
        assert_eq!((&*text, &*bytes, numbers[299]), ("nothing is freed one by one", &[1, 7, 3][..], 299));
        assert!((0..300).all(|i| *boxed[i] == i as u64 && *list[i] == (i * i) as u64));
        assert_eq!(ArenaRef::get(wide).as_ptr() as usize % 16, 0);
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
fn a_value_without_bytes_has_an_address() {
    let heap = heap(Config::default());
    let m = heap.attach().unwrap();
    let arena = Arena::new(&m);
    let address = core::ptr::from_ref(ArenaRef::get(arena.alloc(()))) as usize;
    assert_ne!(address, 0);
}
