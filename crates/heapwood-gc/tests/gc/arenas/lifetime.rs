//! Arenas, at the collector's own interface: what they refer to lives as long as they do, what refers to them keeps them, and what
//! they give up is nobody's before nothing can point there.

use core::ptr::NonNull;
use heapwood_gc::{Config, Heap, Mutator, Refusal};
use heapwood_gc_testing::*;
use heapwood_heap::{Address, ArenaKind, MOST_IN_ARENA, ObjectRef};

/// One pointer.
const CELL: [u64; 4] = [1, 0, 0, 0];

fn link_cells() -> Values {
    Values::new(8, 2, [0b11, 0, 0, 0])
}

/// Calls `f` on heaps of several sorts.
fn on_heaps(configs: &[Config], f: impl Fn(&Heap, &Mutator)) {
    for config in configs {
        let heap = heap(*config);
        let mutator = attach(&heap);
        f(&heap, &mutator);
        mutator.collect().unwrap();
        assert_swept_and_valid(&heap);
    }
}

fn usual() -> Vec<Config> {
    let all = [FULL, YOUNG, FULL.verify(true), YOUNG.verify(true), FULL.mark_stack(1), YOUNG.mark_stack(1)];
    all.into_iter().chain([FULL.mark_threads(3), FULL.stress(true)]).collect()
}

#[test]
fn exactly_what_the_masks_name_is_kept() {
    on_heaps(&usual(), |heap, m| {
        let (one, data) = (pointer_free(heap, 16), pointer_free(heap, 16));
        let arena = Arena::open(m, ArenaKind::Borrowed);
        let mut random = 0x9E37_79B9_7F4A_7C15u64;
        let mut pointers = 0;
        for length in 1..257usize {
            let mut mask = [0u64; 4];
            for word in 0..length {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                mask[word / 64] |= (random >> 63) << (word % 64);
            }
            for count in [1, 3] {
                let values = Values::new(1000 + length, length, mask);
                let at = arena.zeros(m, values, count).unwrap();
                for word in 0..length * count {
                    let within = word % length;
                    let is_pointer = mask[within / 64] >> (within % 64) & 1 == 1;
                    if (word + length) % 31 == 0 {
                        let object = new(m, if is_pointer { one } else { data });
                        m.barrier().note_init(ObjectRef::new(at), (at + word * WORD) as *mut usize, 1);
                        put(at, word, object);
                        pointers += is_pointer as usize;
                    }
                }
            }
        }
        m.collect().unwrap();
        // And the header.
        assert_eq!(heap.inspect().stats().live_objects, pointers + 1);
        arena.close(m);
        m.collect().unwrap();
        assert_eq!(heap.inspect().stats().live_objects, 0);
    });
}

#[test]
fn an_array_as_long_as_arenas_take_and_longer_ones_are_refused() {
    on_heaps(&[FULL, YOUNG.verify(true)], |heap, m| {
        let (one, mut slots) = (pointer_free(heap, 16), Slots::new(heap, 1));
        let arena = Arena::open(m, ArenaKind::Escaping);
        let cell = Values::new(8, 1, CELL);
        let n = MOST_IN_ARENA / WORD;
        for _ in 0..6 {
            let at = arena.zeros(m, cell, n).unwrap();
            for word in [0, 1, n / 2, n - 1] {
                let object = new(m, one);
                link(m, at, word, object);
            }
            arena.data(m, MOST_IN_ARENA, 16).unwrap();
            slots.set(0, at);
        }
        m.collect().unwrap();
        // And the header.
        assert_eq!(heap.inspect().stats().live_objects, 6 * 4 + 1);
        arena.leave(m);
        m.collect().unwrap();
        assert_eq!(heap.inspect().stats().live_objects, 6 * 4);
    });
    let refused = std::panic::catch_unwind(|| {
        let heap = heap(FULL);
        let m = attach(&heap);
        let arena = Arena::open(&m, ArenaKind::Borrowed);
        let _ = arena.peek(&m, Values::new(8, 1, CELL), MOST_IN_ARENA / WORD + 1);
    });
    assert!(refused.is_err());
}

#[test]
fn data_of_every_size_and_alignment_lie_apart() {
    on_heaps(&[FULL, FULL.stress(true)], |_, m| {
        let arena = Arena::open(m, ArenaKind::Borrowed);
        let mut places: Vec<(usize, usize)> = Vec::new();
        let sizes = (0..70).chain([
            100,
            1000,
            8000,
            8191,
            8192,
            8193,
            40_000,
            131_072,
            MOST_IN_ARENA - 1,
            MOST_IN_ARENA,
        ]);
        for bytes in sizes {
            for align in [1, 2, 4, 8, 16] {
                let at = arena.data(m, bytes, align).unwrap();
                assert_eq!(at % align, 0, "{bytes} bytes");
                if bytes > 0 {
                    places.push((at, at + bytes));
                    // SAFETY: the value is of so many bytes.
                    unsafe { (at as *mut u8).write_bytes(7, bytes) };
                }
                if bytes % 3 == 0 {
                    let values = Values::new(16 + bytes, 1 + bytes % 256, CELL);
                    let at = arena.zeros(m, values, 1).unwrap();
                    assert_eq!(at % WORD, 0);
                    places.push((at, at + values.layout.bytes()));
                }
            }
        }
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[0].1 <= pair[1].0), "they lie apart");
    });
}

#[test]
fn addresses_of_a_closed_arena_rest_as_long_as_something_points_there() {
    // The stale word is a slot's, or one that may be a pointer.
    for (precise, inside, young) in
        [(true, false, false), (true, true, false), (false, true, false), (true, false, true)]
    {
        let heap = heap(if young { YOUNG } else { FULL });
        let m = attach(&heap);
        let (node, one) = (node_type(&heap), pointer_free(&heap, 16));
        let mut slots = Slots::new(&heap, 2);
        let mut word = Box::new(0usize);
        let at = &raw mut *word as usize;
        // SAFETY: the word outlives the root.
        let range = unsafe { heap.roots().add_range(at, at + WORD) }.unwrap();
        let holder = new(&m, node);
        slots.set(1, holder);
        let arena = Arena::open(&m, ArenaKind::Escaping);
        let first = arena.value(&m, link_cells(), &[0, 0]);
        let second = arena.value(&m, link_cells(), &[0, 0]);
        let stale = if inside { second } else { first };
        match precise {
            true => link(&m, holder, 0, stale),
            // SAFETY: the box's own word.
            false => unsafe { (at as *mut usize).write_volatile(stale + 3) },
        }
        m.collect().unwrap();
        arena.close(&m);
        let place = |value: usize| heap.space().arenas().find(Address::new(value)).unwrap();
        let (start, end) = place(first).chunk;
        for round in 0..6 {
            for _ in 0..50 {
                let other = Arena::open(&m, ArenaKind::Borrowed);
                let value = other.value(&m, link_cells(), &[0, 0]);
                assert!(
                    value < start || value >= end,
                    "round {round}: an address is used that something points to"
                );
                other.close(&m);
                assert!(heap.objects().find(stale).is_none());
            }
            match round % 2 {
                0 => m.collect().unwrap(),
                _ => m.collect_young().unwrap(),
            }
            assert!(!place(first).is_there);
            assert!(heap.objects().find(stale).is_none() && heap.objects().find(start).is_none());
            assert_valid(&heap);
        }
        assert!(heap.inspect().stats().arena_free_bytes > 0);
        // Once nothing does.
        link(&m, holder, 0, 0);
        // SAFETY: as above.
        unsafe { (at as *mut usize).write_volatile(0) };
        m.collect().unwrap();
        assert_valid(&heap);
        let mut used = false;
        let mut arenas = Vec::new();
        for _ in 0..20 {
            let other = Arena::open(&m, ArenaKind::Borrowed);
            let objects: Vec<usize> = (0..20)
                .map(|_| {
                    let object = new(&m, one);
                    used |= (start..end).contains(&other.value(&m, link_cells(), &[object, 0]));
                    object
                })
                .collect();
            arenas.push((other, objects));
        }
        assert!(used, "they are used again");
        for round in 0..4 {
            match round % 2 {
                0 => m.collect_young().unwrap(),
                _ => m.collect().unwrap(),
            }
            assert!(arenas.iter().flat_map(|a| &a.1).all(|&object| lives(&heap, object)), "round {round}");
            assert_valid(&heap);
        }
        for (arena, _) in arenas {
            arena.close(&m);
        }
        assert!(heap.roots().remove(range));
    }
}

#[test]
fn pieces_that_no_arena_needs_make_room_under_a_limit() {
    let heap = heap(PRECISE.limit(8 << 20).percent(400));
    let m = attach(&heap);
    let large = pointer_free(&heap, 5 << 20);
    for round in 0..20 {
        // An arena that is left with nothing pointing there, and one that is closed.
        let arena = Arena::open(&m, ArenaKind::Escaping);
        for _ in 0..10 {
            arena.data(&m, MOST_IN_ARENA - 100, 8).unwrap_or_else(|e| panic!("round {round}: {e}"));
        }
        match round % 3 {
            0 => arena.leave(&m),
            1 => arena.close(&m),
            _ => {
                arena.header();
                let borrowed = Arena::open(&m, ArenaKind::Borrowed);
                borrowed.data(&m, 1000, 8).unwrap();
                borrowed.close(&m);
                arena.close(&m);
            }
        }
        let object = m.allocate(large);
        assert!(object.is_ok(), "round {round}: {object:?}");
    }
    m.collect().unwrap();
    assert_valid(&heap);
}

/// Opens and closes so many.
fn small_arenas(config: Config, n: usize) {
    let heap = heap(config);
    let m = attach(&heap);
    let mut in_use = [0; 2];
    for i in 0..n {
        let kind = if i % 3 == 0 { ArenaKind::Escaping } else { ArenaKind::Borrowed };
        let arena = Arena::open(&m, kind);
        let at = arena.value(&m, link_cells(), &[0, 0]);
        arena.value(&m, link_cells(), &[0, at]);
        match i % 4 {
            0 => arena.leave(&m),
            _ => arena.close(&m),
        }
        if i == n / 4 || i == n - 1 {
            // The first finds the last arenas dead, the second sweeps them, and the third finds that nobody has needed their pieces.
            (0..3).for_each(|_| m.collect().unwrap());
            let stats = heap.inspect().stats();
            in_use[(i == n - 1) as usize] = stats.in_use_bytes + stats.arena_free_bytes;
        }
    }
    assert!(in_use[1] <= in_use[0] * 2 + (4 << 20), "{in_use:?}");
    assert_valid(&heap);
}

#[test]
fn small_arenas_one_after_the_other_leave_nothing_behind() {
    let n = if is_thorough() { 50_000 } else { 10_000 };
    small_arenas(FULL, n);
    small_arenas(YOUNG, n);
}

#[test]
fn ten_thousand_arenas_may_be_open_at_once() {
    let heap = heap(YOUNG);
    let m = attach(&heap);
    let one = pointer_free(&heap, 16);
    let arenas: Vec<(Arena, usize)> = (0..10_000)
        .map(|i| {
            let arena = Arena::open(&m, ArenaKind::Borrowed);
            let object = new(&m, one);
            put(object, 0, i);
            for _ in 0..64 {
                arena.value(&m, link_cells(), &[object, 0]);
            }
            (arena, object)
        })
        .collect();
    assert!(heap.inspect().stats().arena_bytes < 100 << 20);
    m.collect().unwrap();
    for (i, (_, object)) in arenas.iter().enumerate() {
        assert!(heap.objects().find(*object).is_some() && get(*object, 0) == i);
    }
    for (i, (arena, _)) in arenas.into_iter().enumerate() {
        if i % 2 == 0 { arena.close(&m) } else { arena.leave(&m) }
    }
    m.collect().unwrap();
    m.collect().unwrap();
    m.collect().unwrap();
    assert_eq!(heap.inspect().stats().arena_bytes, 0);
    assert_valid(&heap);
}

#[test]
fn values_of_arenas_are_not_freed_one_by_one() {
    on_heaps(&[FULL, FULL.verify(true)], |_, m| {
        let arena = Arena::open(m, ArenaKind::Escaping);
        let values = [arena.value(m, link_cells(), &[0, 0]), arena.data(m, 8, 8).unwrap()];
        let refused = |at: usize| {
            // SAFETY: nothing is freed.
            let freed = unsafe { m.free(NonNull::new(at as *mut u8).unwrap()) };
            assert!(matches!(freed, Err(Refusal::Heap(_))), "{freed:?}");
        };
        values.iter().for_each(|&at| refused(at));
        m.collect().unwrap();
        values.iter().for_each(|&at| refused(at));
        arena.close(m);
        values.iter().for_each(|&at| refused(at));
    });
}
