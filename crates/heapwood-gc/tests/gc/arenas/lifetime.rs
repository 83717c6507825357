//! Arenas, at the collector's own interface: what they refer to lives as long as they do, what refers to them keeps them, and what
//! they give up is nobody's before nothing can point there.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use heapwood_gc::settings::options::Generational;
use heapwood_gc::{Config, Heap, Mutator, Refusal};
use heapwood_gc_testing::*;
use heapwood_heap::{Address, ArenaKind, MOST_IN_ARENA, ObjectRef};

/// One pointer.
const CELL: [u64; 4] = [1, 0, 0, 0];

fn link_cells() -> Values {
    Values::new(8, 2, [0b11, 0, 0, 0])
}

fn is_there(heap: &Heap, value: usize) -> bool {
    heap.memory().finish_sweep();
    heap.space().arenas().find(Address::new(value)).is_some_and(|place| place.is_there)
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
fn values_keep_what_they_refer_to_and_what_refers_to_them_keeps_their_arena() {
    on_heaps(&usual(), |heap, m| {
        let (node, mut slots) = (node_type(heap), Slots::new(heap, 1));
        let arena = Arena::open(m, ArenaKind::Escaping);
        let (kept, own) = (new(m, node), link_cells());
        slots.set(0, kept);
        let first = arena.value(m, own, &[kept, 0]);
        let second = arena.value(m, own, &[0, first]);
        // From the heap to a value that is not the first, and only from there.
        let holder = new(m, node);
        slots.set(0, holder);
        link(m, holder, 1, second);
        arena.leave(m);
        for _ in 0..3 {
            m.collect().unwrap();
            assert!(lives(heap, kept) && is_there(heap, first));
            assert_eq!((get(second, 1), get(first, 0)), (first, kept));
            assert_valid(heap);
        }
        link(m, holder, 1, 0);
        m.collect().unwrap();
        assert!(!lives(heap, kept) && !is_there(heap, first));
    });
}

#[test]
fn a_pointer_to_a_value_in_the_first_sixteen_bytes_keeps_the_arena() {
    on_heaps(&usual(), |heap, m| {
        let (node, mut slots) = (node_type(heap), Slots::new(heap, 2));
        let kept = new(m, node);
        slots.set(1, kept);
        let arena = Arena::open(m, ArenaKind::Escaping);
        let one = Values::new(9, 1, CELL);
        let first = arena.value(m, one, &[0]);
        let second = arena.value(m, one, &[kept]);
        assert_eq!(second, first + WORD);
        slots.set(0, second);
        slots.set(1, 0);
        arena.leave(m);
        for _ in 0..2 {
            m.collect().unwrap();
            assert!(is_there(heap, second) && lives(heap, kept));
        }
        // The same with data that fill a piece, the last of which lie at its beginning.
        let arena = Arena::open(m, ArenaKind::Escaping);
        let mut at = arena.data(m, 1, 1).unwrap();
        while at % heapwood_pages::PAGE_SIZE != WORD {
            at = arena.data(m, 1, 1).unwrap();
        }
        let cell = arena.value(m, one, &[kept]);
        slots.set(0, at);
        arena.leave(m);
        m.collect().unwrap();
        assert!(is_there(heap, at) && is_there(heap, cell) && lives(heap, kept));
    });
}

#[test]
fn a_handle_of_a_text_keeps_the_arena() {
    on_heaps(&usual(), |heap, m| {
        for _ in 0..20 {
            let arena = Arena::open(m, ArenaKind::Escaping);
            let at = arena.data(m, 3, 1).unwrap();
            let held = handle(heap, at).unwrap();
            arena.leave(m);
            m.collect_young().unwrap();
            m.collect().unwrap();
            assert!(is_there(heap, at));
            assert!(heap.roots().free_handle(held) && !heap.roots().free_handle(held));
            m.collect().unwrap();
            assert!(!is_there(heap, at));
        }
    });
}

/// Runs of layouts that take turns, with data and collections between them.
#[test]
fn masks_of_every_length_tell_pointers() {
    for seed in 0..40 {
        runs_of_masks(&mut Rng::new(seed));
    }
}

fn runs_of_masks(rng: &mut Rng) {
    let young = rng.one_in(2);
    let heap = heap(if young { YOUNG.verify(true) } else { FULL });
    let m = attach(&heap);
    let one = pointer_free(&heap, 16);
    let arena = Arena::open(&m, ArenaKind::Borrowed);
    let mut words: Vec<(usize, usize)> = Vec::new();
    for number in 0..1 + rng.below(24) {
        let length = 1 + rng.below(256);
        let mask = core::array::from_fn(|k| match length.saturating_sub(k * 64) {
            0 => 0,
            left @ 1..64 => rng.word() & ((1 << left) - 1),
            _ => rng.word(),
        });
        let values = Values::new(16 + number, length, mask);
        for _ in 0..1 + rng.below(5) {
            let count = 1 + rng.below(3);
            let at = arena.zeros(&m, values, count).unwrap();
            // One in three, so that a heap suffices.
            for word in (0..length * count).filter(|word| (word + number) % 3 == 0) {
                let within = word % length;
                let object = new(&m, one);
                m.barrier().note_init(ObjectRef::new(at), (at + word * WORD) as *mut usize, 1);
                put(at, word, object);
                if mask[within / 64] >> (within % 64) & 1 == 1 {
                    words.push((at + word * WORD, object));
                }
            }
            if rng.one_in(2) {
                arena.data(&m, rng.below(40), 1).unwrap();
            }
        }
        match rng.below(8) {
            0 => m.collect_young().unwrap(),
            1 => m.collect().unwrap(),
            _ => {}
        }
    }
    m.collect().unwrap();
    for &(slot, object) in &words {
        assert!(lives(&heap, object), "{slot:#x} is a pointer, and what it refers to was freed");
    }
    assert_eq!(heap.inspect().stats().live_objects, words.len() + 1);
    assert_valid(&heap);
    arena.close(&m);
    m.collect().unwrap();
    assert_eq!(heap.inspect().stats().live_objects, 0);
    assert_valid(&heap);
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
fn pieces_that_lead_to_each_other_keep_each_other() {
    let config = PRECISE.min_heap(8 << 20);
    on_heaps(
        &[config.generational(Generational::Off), config.mark_stack(1), config.verify(true)],
        |heap, m| {
            let (node, mut slots) = (node_type(heap), Slots::new(heap, 1));
            let arena = Arena::open(m, ArenaKind::Escaping);
            let values = link_cells();
            let mut at = 0;
            let mut every = Vec::new();
            let total = if is_thorough() { 64 << 20 } else { 16 << 20 };
            while arena.header().bytes() < total {
                for i in 0..2000 {
                    let object = if i == 0 { new(m, node) } else { 0 };
                    at = arena.value(m, values, &[object, at]);
                    if i == 0 {
                        every.push(object);
                    }
                }
                if every.len() % 500 == 0 {
                    m.collect_young().unwrap();
                }
            }
            slots.set(0, at);
            arena.leave(m);
            m.collect().unwrap();
            heap.memory().finish_sweep();
            assert!(every.iter().all(|&object| lives(heap, object)));
            slots.set(0, 0);
            m.collect().unwrap();
            m.collect().unwrap();
            assert_eq!((heap.inspect().stats().live_objects, heap.inspect().stats().arena_bytes), (0, 0));
        },
    );
}

#[test]
fn an_arena_is_filled_slowly_beside_young_collections() {
    on_heaps(&[YOUNG, YOUNG.verify(true), YOUNG.mark_stack(1), YOUNG.stress(true)], |heap, m| {
        let node = node_type(heap);
        let arenas: Vec<Arena> = (0..4).map(|_| Arena::open(m, ArenaKind::Escaping)).collect();
        let (values, wide) = (link_cells(), Values::new(9, 100, [0, 1 << 30, 0, 0]));
        let mut lists = [0; 4];
        let mut all = Vec::new();
        for round in 0..300 {
            for (k, arena) in arenas.iter().enumerate() {
                // Some rest for some cycles; some get data alone.
                if round % (k + 1) != 0 {
                    continue;
                }
                if round % 7 == 3 {
                    arena.data(m, 500, 8).unwrap();
                    continue;
                }
                let object = new(m, node);
                put(object, 2, round);
                all.push((object, round));
                let at = match round % 5 {
                    0 => {
                        let mut words = [0; 100];
                        (words[94], words[0]) = (object, usize::MAX);
                        arena.value(m, wide, &words);
                        arena.value(m, values, &[0, lists[k]])
                    }
                    _ => arena.value(m, values, &[object, lists[k]]),
                };
                lists[k] = at;
            }
            m.collect_young().unwrap();
            if round == 150 {
                m.collect().unwrap();
            }
        }
        let mut slots = Slots::new(heap, 4);
        for (k, arena) in arenas.into_iter().enumerate() {
            slots.set(k, lists[k]);
            arena.leave(m);
        }
        for _ in 0..2 {
            m.collect_young().unwrap();
            m.collect().unwrap();
            for &(object, round) in &all {
                assert!(lives(heap, object), "that of round {round}");
                assert_eq!(get(object, 2), round);
            }
        }
    });
}

#[test]
fn what_a_left_arena_was_given_last_is_seen() {
    on_heaps(&[YOUNG, YOUNG.verify(true)], |heap, m| {
        let (node, mut slots) = (node_type(heap), Slots::new(heap, 1));
        let arena = Arena::open(m, ArenaKind::Escaping);
        let at = arena.value(m, link_cells(), &[0, 0]);
        slots.set(0, at);
        m.collect_young().unwrap();
        // Into an old piece, and then nothing more.
        let object = new(m, node);
        put(object, 2, 17);
        arena.value(m, link_cells(), &[object, 0]);
        arena.leave(m);
        m.collect_young().unwrap();
        assert!(lives(heap, object));
        m.collect().unwrap();
        assert!(lives(heap, object) && get(object, 2) == 17);
        slots.set(0, 0);
        m.collect().unwrap();
        assert!(!lives(heap, object));
    });
}

#[test]
fn what_was_remembered_of_a_closed_arena_is_not_read() {
    on_heaps(&[YOUNG, YOUNG.verify(true)], |heap, m| {
        let node = node_type(heap);
        for kind in [ArenaKind::Borrowed, ArenaKind::Escaping] {
            let arena = Arena::open(m, kind);
            let at = arena.value(m, link_cells(), &[0, 0]);
            m.collect_young().unwrap();
            let object = new(m, node);
            link(m, at, 0, object);
            m.barrier().note_init(ObjectRef::new(at), (at + WORD) as *mut usize, 1);
            put(at, 1, object);
            arena.close(m);
            m.collect_young().unwrap();
            assert!(!lives(heap, object));
        }
    });
}

#[test]
fn an_arena_that_is_emptied_is_filled_again() {
    on_heaps(&usual(), |heap, m| {
        let node = node_type(heap);
        for kind in [ArenaKind::Borrowed, ArenaKind::Escaping] {
            let arena = Arena::open(m, kind);
            for round in 0..40 {
                let mut objects = Vec::new();
                for _ in 0..(round * 7) % 60 {
                    let object = new(m, node);
                    objects.push(object);
                    arena.value(m, link_cells(), &[object, 0]);
                    arena.data(m, 100, 4).unwrap();
                }
                match round % 3 {
                    0 => m.collect_young().unwrap(),
                    1 => m.collect().unwrap(),
                    _ => {}
                }
                assert!(objects.iter().all(|&object| round % 3 == 2 || lives(heap, object)));
                if round % 3 != 2 {
                    assert_valid(heap);
                }
                arena.empty(m);
                if round % 5 == 0 {
                    m.collect().unwrap();
                    assert!(!objects.iter().any(|&object| lives(heap, object)));
                    assert_valid(heap);
                }
            }
            arena.close(m);
        }
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
fn values_of_arenas_are_not_freed_one_by_one() {
    on_heaps(&[FULL, FULL.verify(true)], |heap, m| {
        let arena = Arena::open(m, ArenaKind::Escaping);
        let values = [
            arena.value(m, link_cells(), &[0, 0]),
            arena.value(m, link_cells(), &[0, 0]),
            arena.data(m, 8, 8).unwrap(),
        ];
        let refused = |at: usize| {
            // SAFETY: nothing is freed.
            let freed = unsafe { m.free(NonNull::new(at as *mut u8).unwrap()) };
            assert!(matches!(freed, Err(Refusal::Heap(_))), "{freed:?}");
        };
        values.iter().for_each(|&at| refused(at));
        m.collect().unwrap();
        values.iter().for_each(|&at| refused(at));
        assert!(is_there(heap, values[0]));
        arena.close(m);
        values.iter().for_each(|&at| refused(at));
    });
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

/// A program that makes nothing but arenas: what they leave to the collector is collected, whatever they are of.
#[test]
#[ignore = "of the long suite: a number of collections, which come by the clock"]
fn arenas_that_are_left_make_collections_due() {
    const EACH: usize = 4 << 20;
    for config in [FULL, YOUNG, FULL.generational(Generational::Off)] {
        let heap = heap(config.min_heap(4 << 20));
        let m = attach(&heap);
        let mut most = 0;
        for _ in 0..100 {
            let arena = Arena::open(&m, ArenaKind::Escaping);
            for _ in 0..EACH / (64 << 10) {
                arena.zeros(&m, link_cells(), 4096).unwrap();
            }
            arena.leave(&m);
            most = most.max(heap.inspect().stats().in_use_bytes);
        }
        let collections = heap.inspect().stats().collections;
        println!("{collections} collections, {most} bytes in use at most");
        assert!(most < 12 * EACH, "{most} bytes were in use, after {collections} collections");
        // Two for each, of which one is young, and no more.
        assert!((10..250).contains(&collections), "{collections} collections");
        m.collect().unwrap();
        assert_valid(&heap);
    }
}

/// Addresses that rest have tables: a full collection is due before those have grown much.
#[test]
#[ignore = "of the long suite: a number of collections, which come by the clock"]
fn addresses_that_rest_make_collections_due() {
    let heap = heap(FULL.min_heap(4 << 20));
    let m = attach(&heap);
    let mut most = 0;
    for _ in 0..400 {
        let arena = Arena::open(&m, ArenaKind::Escaping);
        for _ in 0..64 {
            arena.zeros(&m, link_cells(), 4096).unwrap();
        }
        arena.close(&m);
        most = most.max(heap.inspect().stats().arena_free_bytes);
    }
    let collections = heap.inspect().stats().collections;
    println!("{collections} collections, {most} bytes rested at most");
    assert!(most < 512 << 20, "{most} of 1600 MiB rested at once, after {collections} collections");
    assert!((2..50).contains(&collections), "{collections} collections");
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
fn an_arena_of_very_many_bytes_works_or_is_refused() {
    let bytes: usize = if is_long() { 8 << 30 } else { 256 << 20 };
    // Once with room for all, and once without.
    for reserve in [bytes * 2, bytes / 2] {
        let heap = heap(PRECISE.address_space(reserve));
        let m = attach(&heap);
        let arena = Arena::open(&m, ArenaKind::Borrowed);
        let mut refused = None;
        // Nothing is written, so the kernel gives no memory for it.
        while arena.header().bytes() < bytes && refused.is_none() {
            refused = arena.data(&m, MOST_IN_ARENA - 16, 1).err();
        }
        match refused {
            None => assert!(reserve > bytes),
            Some(error) => assert!(!error.to_string().is_empty()),
        }
        m.collect().unwrap();
        // It goes on with what there is.
        assert!(reserve < bytes || arena.value(&m, link_cells(), &[0, 0]) != 0);
        arena.close(&m);
        m.collect().unwrap();
        m.collect().unwrap();
        assert_valid(&heap);
        assert!(refused.is_none() || reserve < bytes, "{refused:?}");
    }
}

/// Threads build lists in arenas of their own, whose heads all can take; some leave the heap with arenas open.
fn lists_of_several_threads(config: Config) {
    const THREADS: usize = 3;
    let (heap, rounds) = (heap(config), 60);
    let (node, heads) = (node_type(&heap), (0..16).map(|_| AtomicUsize::new(0)).collect::<Box<[_]>>());
    // SAFETY: the slots are in a box of their own until the root is removed.
    let token = unsafe { heap.roots().add_slots(heads.as_ptr().cast(), heads.len()) }.unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (heap, heads) = (&heap, &heads);
            scope.spawn(move || {
                let mut rng = Rng::new(thread as u64);
                for session in 0..4 {
                    let m = attach(heap);
                    let mut frame = Framed::<2>::new(&m);
                    for round in 0..rounds {
                        let serial = (thread << 20 | session << 12 | round) << 8;
                        let arena = Arena::open(&m, ArenaKind::Escaping);
                        let (n, mut at) = (1 + rng.below(100), 0);
                        for i in 0..n {
                            let object = new(&m, node);
                            // Others collect while there is more room to be found.
                            frame.set(0, object);
                            put(object, 2, serial | i);
                            at = arena.value(&m, link_cells(), &[object, at]);
                            match rng.below(200) {
                                0 => m.collect().unwrap(),
                                1 => m.collect_young().unwrap(),
                                _ => m.safepoint(),
                            }
                        }
                        frame.set(0, at);
                        heads[rng.below(heads.len())].store(at, Ordering::Release);
                        match rng.below(3) {
                            // It goes with the thread's part in the heap, or before.
                            0 => {}
                            _ => arena.leave(&m),
                        }
                        // Another's, or its own.
                        let mut at = heads[rng.below(heads.len())].load(Ordering::Acquire);
                        frame.set(1, at);
                        m.collect_young().unwrap();
                        if at != 0 {
                            let first = get(get(at, 0), 2);
                            for i in (0..=first & 0xff).rev() {
                                assert_eq!(get(get(at, 0), 2), first & !0xff | i);
                                at = get(at, 1);
                            }
                            assert_eq!(at, 0, "the list goes on");
                        }
                    }
                }
            });
        }
    });
    heads.iter().for_each(|head| head.store(0, Ordering::Release));
    assert!(heap.roots().remove(token));
    let m = attach(&heap);
    for _ in 0..3 {
        m.collect().unwrap();
    }
    heap.memory().finish_sweep();
    if !config.conservative_stacks {
        assert_eq!((heap.inspect().stats().arena_bytes, heap.inspect().stats().live_objects), (0, 0));
    }
    assert_valid(&heap);
}

#[test]
fn threads_take_what_lies_in_arenas_that_others_left() {
    for config in [FULL, YOUNG, YOUNG.mark_threads(2), BY_SIGNALS, YOUNG.mark_stack(1)] {
        lists_of_several_threads(config);
    }
}

/// Values of arenas that refer to what was passed, which refers to each other, are given up while another thread collects again and
/// again: no stop may find one that is there and refers to one that is gone.
fn passed_values_go_with_their_arena(config: Config, kind: ArenaKind, words: usize, emptied: bool) {
    const COLLECTIONS: usize = 200;
    let heap = heap(config);
    let node = masked(&heap, words, &[0]);
    let (attached, collected) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let m = attach(&heap);
            attached.store(true, Ordering::Relaxed);
            while !collected.load(Ordering::Relaxed) {
                let (arena, mut last) = (Arena::open(&m, kind), 0);
                for _ in 0..8 {
                    // SAFETY: the arena is open, and of this heap.
                    let passed =
                        unsafe { m.arenas().allocate_external(arena.header(), || m.allocate(node)) }.unwrap();
                    let passed = passed.as_ptr() as usize;
                    link(&m, passed, 0, last);
                    arena.value(&m, link_cells(), &[passed, last]);
                    last = passed;
                }
                if emptied {
                    arena.empty(&m);
                }
                arena.close(&m);
            }
        });
        while !attached.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        for _ in 0..COLLECTIONS {
            heap.collect().unwrap();
            // Or the thread would hardly come further from one stop to the next.
            std::thread::sleep(Duration::from_micros(100));
        }
        collected.store(true, Ordering::Relaxed);
    });
    heap.collect().unwrap();
    assert_swept_and_valid(&heap);
}

#[test]
fn what_was_passed_goes_with_its_arena_wherever_the_thread_is_stopped() {
    for emptied in [false, true] {
        for kind in [ArenaKind::Borrowed, ArenaKind::Escaping] {
            // Cells, and objects of pages of their own.
            passed_values_go_with_their_arena(BY_SIGNALS.verify(true), kind, 4, emptied);
            passed_values_go_with_their_arena(BY_SIGNALS.verify(true), kind, 5000, emptied);
            passed_values_go_with_their_arena(BY_SIGNALS, kind, 5000, emptied);
        }
    }
}
