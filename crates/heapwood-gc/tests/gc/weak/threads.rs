//! Threads that read each other's weak references while the heap collects in all ways: what a read returns is alive, and whole, for
//! as long as its reader keeps it; at the end all are cleared.

use super::{at, ephemeron, key_of};
use core::sync::atomic::AtomicUsize;
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc::{Config, Heap, Mutator};
use heapwood_gc_testing::*;
use heapwood_heap::{Address, ObjectRef, publication};

const BOARD: usize = 64;
const KEPT: usize = 16;

/// Word 2 and 3 of an object are its number, and that again in another form.
fn check(object: usize) {
    let (number, form) = (get(object, 2), get(object, 3));
    assert!(
        number != 0 && form == !number ^ object,
        "the object at {object:#x} holds {number:#x} and {form:#x}"
    );
}

/// Reads a slot of the board as a program reads a slot that others write.
fn read(board: usize, slot: usize) -> usize {
    // SAFETY: a word of the board, which a root keeps.
    publication::load(unsafe { AtomicUsize::from_ptr((board as *mut usize).add(slot)) })
}

/// What a thread does: it makes objects and weak references to them, which it puts on the board, and reads those of others.
/// How many reads found an object, and how many found it dead.
fn work(heap: &Heap, board: usize, thread: usize, steps: usize) -> (usize, usize) {
    let mutator = attach(heap);
    let node = node_type(heap);
    let mut rng = Rng::new(thread as u64);
    let mut roots = Slots::new(heap, KEPT + 1);
    let (mut alive, mut dead) = (0, 0);
    for step in 1..=steps {
        let kept = rng.below(KEPT);
        if rng.one_in(2) {
            let made = new(&mutator, node);
            put(made, 2, step << 8 | thread);
            put(made, 3, !(step << 8 | thread) ^ made);
            roots.set(kept, made);
            roots.set(KEPT, ephemeron(&mutator, made, if rng.one_in(2) { made } else { 0 }));
            let (object, slot) = (ObjectRef::new(board), (board + WORD * rng.below(BOARD)) as *mut usize);
            // SAFETY: a slot of the board, which a root keeps; the value is an object.
            unsafe { mutator.barrier().write(object, slot, Address::new(roots.get(KEPT))) };
        } else {
            let weak = read(board, rng.below(BOARD));
            if weak != 0 {
                // Who has read it keeps it: a poll comes with the next allocation.
                roots.set(KEPT, weak);
                let found = key_of(&mutator, weak);
                if found == 0 {
                    dead += 1;
                } else {
                    roots.set(kept, found);
                    check(found);
                    alive += 1;
                }
            }
        }
        match roots.get(rng.below(KEPT)) {
            0 => {}
            object => check(object),
        }
        match rng.below(3000) {
            0 => mutator.collect().unwrap(),
            1..4 => mutator.collect_young().unwrap(),
            4..8 => _ = mutator.incremental_marking().ask_marker(),
            _ => {}
        }
        (0..rng.below(4)).for_each(|_| _ = new(&mutator, node));
    }
    (alive, dead)
}

fn play(config: Config) {
    let heap = heap(config);
    let mutator = attach(&heap);
    let mut roots = Slots::new(&heap, 1);
    roots.set(0, new(&mutator, masked(&heap, BOARD, &(0..BOARD).collect::<Vec<_>>())));
    let (board, heap_of_all) = (roots.get(0), &*heap);
    let steps = settings::amount(
        "HEAPWOOD_WEAK_STEPS",
        2_000_000,
        if cfg!(heapwood_tsan) { 5_000 } else { 40_000 },
        10_000,
    );
    let blocked = mutator.blocking(|| {
        std::thread::scope(|scope| {
            let threads =
                [1, 2, 3].map(|thread| scope.spawn(move || work(heap_of_all, board, thread, steps)));
            threads.map(|thread| thread.join().unwrap())
        })
    });
    let all = blocked.unwrap();
    let (alive, dead) = all.iter().fold((0, 0), |(a, d), (alive, dead)| (a + alive, d + dead));
    println!(
        "{alive} reads of what was alive, {dead} of what was dead; {} cleared",
        heap.inspect().stats().weak_cleared
    );
    assert!(!is_thorough() || alive > steps / 40 && dead > steps / 40);
    clear_all(&mutator, board);
    assert_swept_and_valid(&heap);
}

fn clear_all(mutator: &Mutator, board: usize) {
    mutator.collect().unwrap();
    for slot in 0..BOARD {
        let weak = read(board, slot);
        assert!(weak != 0 && mutator.ephemeron_key(at(weak)) == Ok(None), "slot {slot}");
    }
}

#[test]
fn what_a_read_returns_is_alive_on_any_thread_concurrent() {
    play(PRECISE.concurrent(Concurrent::Always).min_heap(4 << 20));
    play(YOUNG.concurrent(Concurrent::Always));
}

#[test]
fn what_a_read_returns_is_alive_on_any_thread() {
    play(PRECISE.concurrent(Concurrent::Off));
    play(YOUNG.mark_threads(2).concurrent(Concurrent::Off));
    play(PRECISE.verify(true).concurrent(Concurrent::Always));
}
