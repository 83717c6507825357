//! Arenas, at the collector's own interface: what they refer to lives as long as they do, what refers to them keeps them, and what
//! they give up is nobody's before nothing can point there.

use core::ptr::NonNull;
use heapwood_gc::{Config, Heap, Mutator, Refusal};
use heapwood_gc_testing::*;
use heapwood_heap::{ArenaKind, MOST_IN_ARENA};

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
