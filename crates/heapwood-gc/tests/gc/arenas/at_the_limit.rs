//! Arenas of several threads under a limit, closed without the promise that nothing refers to them: each takes its memory from what
//! others' arenas have left, so what rests is won back in time, and a refusal names what no collection can win back.

use super::cells;
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc::{AllocError, Heap};
use heapwood_gc_testing::*;
use heapwood_heap::ArenaKind;

const LIMIT: usize = 4 << 20;
/// Arenas that all threads together fill: each has some 100 KiB.
fn arenas() -> usize {
    if is_thorough() { 20_000 } else { 4_000 }
}

/// A node of the heap that a value of an arena leads to: its number, and that turned over.
fn check_value(value: usize) {
    let node = get(value, 0);
    assert_eq!(get(node, 2), !get(node, 3), "what a value of an arena leads to is gone");
}

/// Fills arenas of one thread, one after the other, whose values alone lead to nodes of the heap. Some are left, when a slot of an object
/// that all threads share leads there, by which others find them. The first refusal.
fn fill_arenas(heap: &Heap, count: usize, thread: usize, shared: usize) -> Result<(), AllocError> {
    let m = attach(heap);
    let (node, mut frame) = (node_type(heap), Framed::<1>::new(&m));
    for round in 0..count {
        let arena = Arena::open(&m, ArenaKind::Escaping);
        let mut values = Vec::new();
        let filled = (0..1 + round % 24).try_for_each(|i| {
            frame.set(0, m.allocate(node)?.as_ptr() as usize);
            put(frame.get(0), 2, round);
            put(frame.get(0), 3, !round);
            // No collection comes between this and the store.
            let value = arena.peek(&m, cells(), 1)?;
            (0..8).for_each(|word| put(value, word, if word == 0 { frame.get(0) } else { i }));
            arena.header().commit(value, 8 * WORD);
            values.push(value);
            arena.zeros(&m, cells(), 32)?;
            arena.data(&m, 1 + round * 997 % 5000, 8).map(|_| ())
        });
        filled?;
        values.iter().for_each(|&value| check_value(value));
        // Another thread may change the slot at any time, but collects nothing before this one stops.
        let others = get(shared, (thread + 1) % THREADS);
        if others != 0 {
            check_value(others);
        }
        if round % 8 == 0 {
            link(&m, shared, thread, values[0]);
            arena.leave(&m);
        } else {
            arena.close(&m);
        }
    }
    Ok(())
}

/// The most threads.
const THREADS: usize = 4;

#[test]
fn threads_win_back_what_others_have_given_up() {
    for config in [FULL, YOUNG, PRECISE.concurrent(Concurrent::On).max_pause(0), BY_SIGNALS] {
        for threads in [2, THREADS] {
            let heap = heap(config.limit(LIMIT).min_heap(256 << 10));
            let mut roots = Slots::new(&heap, 1);
            roots.set(0, new(&attach(&heap), masked(&heap, THREADS, &[0, 1, 2, 3])));
            let shared = roots.get(0);
            let refused = std::thread::scope(|scope| {
                let fill = |thread| {
                    scope.spawn({
                        let heap = &heap;
                        move || fill_arenas(heap, arenas() / threads, thread, shared)
                    })
                };
                let all: Vec<_> = (0..threads).map(fill).collect();
                all.into_iter().filter_map(|thread| thread.join().unwrap().err()).last()
            });
            if let Some(error) = refused {
                panic!("{threads} threads: {error}");
            }
            assert_swept_and_valid(&heap);
        }
    }
}

/// Pointers that are left keep addresses from being used again: the refusal says so, and clearing them is enough.
#[test]
fn a_refusal_names_the_bytes_in_quarantine() {
    for verify in [false, true] {
        let heap = heap(FULL.limit(LIMIT).verify(verify));
        let m = attach(&heap);
        let mut stale = Slots::new(&heap, 2048);
        let mut closed = 0;
        let error = loop {
            let arena = Arena::open(&m, ArenaKind::Escaping);
            let filled = arena.zeros(&m, cells(), 64);
            if let Ok(value) = filled {
                stale.set(closed, value);
                closed += 1;
            }
            arena.close(&m);
            if let Err(error) = filled {
                break error;
            }
        };
        let AllocError::Limit { live, arenas, .. } = error else { panic!("{error}") };
        assert!(live < LIMIT / 16 && arenas.in_use == 0 && arenas.quarantined > LIMIT / 2, "{error:?}");
        let text = error.to_string();
        let names = format!("{} are addresses of freed arenas", arenas.quarantined);
        assert!(text.contains(&names) && text.contains("clear such pointers"), "{text}");
        (0..closed).for_each(|i| stale.set(i, 0));
        let arena = Arena::open(&m, ArenaKind::Escaping);
        arena.zeros(&m, cells(), 64).unwrap();
        arena.close(&m);
    }
}

/// Where there is no room for a chunk of the next size, a shorter one will do: an open arena takes all that the limit allows.
#[test]
fn an_open_arena_takes_all_that_the_limit_allows() {
    for config in [FULL, BY_SIGNALS] {
        let heap = heap(config.limit(4 * LIMIT));
        let m = attach(&heap);
        let arena = Arena::open(&m, ArenaKind::Borrowed);
        let refused = (0..4 * LIMIT / 1000).any(|_| arena.data(&m, 1000, 8).is_err());
        assert!(refused);
        let left = 4 * LIMIT - heap.inspect().stats().in_use_bytes;
        assert!(left < 2 * heapwood_pages::PAGE_SIZE, "{left} bytes are left");
        arena.close(&m);
        assert_valid(&heap);
    }
}
