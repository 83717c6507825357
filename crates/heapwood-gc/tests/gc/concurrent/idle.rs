//! Idle heaps that are marked beside the program. Here they are idle at once (`collect_as_if_idle`); when the heap's own thread finds
//! them so is tested with a clock of the test's in `background/simulated_clock_tests.rs`, and with the system's in `threads/idle.rs`.
//!
//! Where a program is to wake in the middle of a marking the marker waits in a trace function.

use super::requests::{NODES, QUIET, grown, live, start_and_wait};
use super::{BESIDE, count, stats, tree};
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use heapwood_gc::settings::options::{Concurrent, Generational};
use heapwood_gc::{Heap, HeapBox, Mutator};
use heapwood_gc_testing::*;
use heapwood_heap::ArenaKind;
use heapwood_layout::{TraceContext, TypeDescriptor};
use std::sync::Barrier;

const ALL: [Generational; 3] = [Generational::Always, Generational::Auto, Generational::Off];

/// The heap is collected, or a marking has begun, while this thread is blocked. Whoever has just collected may have the lock still.
fn idle(heap: &Heap, mutator: &Mutator) {
    mutator.blocking(|| within_a_minute("the heap is collected", || heap.collect_as_if_idle())).unwrap();
}

/// Waits, blocked, until so many markings have ended.
fn await_markings(heap: &HeapBox, mutator: &Mutator, wanted: u64) {
    mutator
        .blocking(|| within_a_minute("the marking ends", || stats(heap).concurrent_markings >= wanted))
        .unwrap();
    assert_eq!(stats(heap).concurrent_markings, wanted);
}

/// Full collections so far: those in one stop, and the ends of markings beside the program.
fn full(heap: &HeapBox) -> (u64, u64) {
    let stats = stats(heap);
    let all = stats.collections - stats.young_collections;
    (all - stats.concurrent_markings, stats.concurrent_markings)
}

#[test]
fn an_idle_heap_is_marked_beside_the_program() {
    for (generational, verify) in
        ALL.into_iter().flat_map(|generational| [(generational, false), (generational, true)])
    {
        let heap = heap(QUIET.generational(generational).verify(verify));
        let mutator = attach(&heap);
        let mut roots = grown(&heap, &mutator);
        for number in 1..4 {
            idle(&heap, &mutator);
            await_markings(&heap, &mutator, number);
            assert_eq!((full(&heap), live(&heap)), ((0, number), NODES), "{generational:?}");
            assert_eq!(count(&heap, roots.get(0), 10), NODES);
        }
        roots.set(0, 0);
        idle(&heap, &mutator);
        await_markings(&heap, &mutator, 4);
        assert_eq!((full(&heap), live(&heap)), ((0, 4), 0));
        assert_eq!((stats(&heap).concurrent_degenerated, stats(&heap).barrier_violations), (0, 0));
        assert_valid(&heap);
    }
}

/// Its start is as short as any: what is young is collected before.
#[test]
fn what_is_young_comes_before_the_start() {
    let heap = heap(QUIET.generational(Generational::Off));
    let mutator = attach(&heap);
    let mut roots = Slots::new(&heap, 20);
    tree(&mutator, &mut roots, 0, 16);
    assert_eq!(stats(&heap).collections, 0);
    idle(&heap, &mutator);
    await_markings(&heap, &mutator, 1);
    // One that promotes, the start and the end.
    assert_eq!((full(&heap), stats(&heap).young_collections), ((0, 1), 2));
    assert!(stats(&heap).mark_start_max_words < 16 << 10, "{:?}", stats(&heap));
    assert_eq!(count(&heap, roots.get(0), 16), (2 << 16) - 1);
}

#[test]
fn a_heap_that_marks_in_stops_is_collected_in_one() {
    for config in
        [QUIET.concurrent(Concurrent::Off), QUIET.concurrent(Concurrent::Auto), BY_SIGNALS.min_heap(1 << 30)]
    {
        let heap = heap(config);
        let mutator = attach(&heap);
        let roots = grown(&heap, &mutator);
        idle(&heap, &mutator);
        // Little is alive.
        assert_eq!((full(&heap), stats(&heap).collections), ((1, 0), 1));
        assert!(config.conservative_stacks || live(&heap) == NODES);
        assert_eq!(count(&heap, roots.get(0), 10), NODES);
    }
}

/// A thread runs: nothing begins, and nothing is left of the try.
#[test]
fn a_heap_that_is_in_use_is_left_alone() {
    let heap = heap(QUIET);
    let mutator = attach(&heap);
    let roots = grown(&heap, &mutator);
    for number in 1..10 {
        std::thread::scope(|scope| scope.spawn(|| assert!(!heap.collect_as_if_idle())).join().unwrap());
        assert_eq!((full(&heap), stats(&heap).collections), ((number - 1, 0), number - 1));
        mutator.collect().unwrap();
        assert_eq!((full(&heap), live(&heap)), ((number, 0), NODES));
    }
    assert_eq!(count(&heap, roots.get(0), 10), NODES);
}

/// Threads that are blocked have what they hold in frames, which nobody else looks at.
#[test]
fn threads_that_are_blocked_keep_what_they_hold() {
    const THREADS: usize = 4;
    let heap = heap(QUIET);
    let node = node_type(&heap);
    let (blocked, marked, all) = (AtomicUsize::new(0), AtomicBool::new(false), Barrier::new(THREADS));
    std::thread::scope(|scope| {
        for seed in 0..THREADS {
            let (heap, blocked, marked, all) = (&heap, &blocked, &marked, &all);
            scope.spawn(move || {
                let mutator = attach(heap);
                let mut frame = Framed::<2>::new(&mutator);
                frame.extend_list(0, node, 500, seed);
                frame.extend_list(1, node, 300, seed);
                frame.set(1, 0);
                let waits = || {
                    all.wait();
                    blocked.fetch_add(1, Ordering::Relaxed);
                    within_a_minute("all is marked", || marked.load(Ordering::Acquire));
                };
                mutator.blocking(waits).unwrap();
                // What was lost is made anew.
                (0..1000).for_each(|_| put(new(&mutator, node), 2, usize::MAX));
                check_list(frame.get(0), 500, seed);
            });
        }
        within_a_minute("all are blocked", || blocked.load(Ordering::Relaxed) == THREADS);
        assert!(heap.collect_as_if_idle());
        within_a_minute("the marking ends", || full(&heap) == (0, 1));
        assert_eq!(live(&heap), THREADS * 500);
        marked.store(true, Ordering::Release);
    });
    assert_valid(&heap);
}

/// A trace function in which the marker waits while it is told to, and then goes on to word 0.
static HELD: AtomicBool = AtomicBool::new(false);
static REACHED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" fn held(object: *mut u8, size: usize, context: *mut TraceContext) {
    REACHED.store(true, Ordering::Release);
    while HELD.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
    // SAFETY: passed on as it came.
    unsafe { trace_word::<0>(object, size, context) };
}

/// A marker that goes on, whatever becomes of the test.
struct Held;

impl Held {
    fn new() -> Self {
        REACHED.store(false, Ordering::Release);
        HELD.store(true, Ordering::Release);
        Held
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD.store(false, Ordering::Release);
    }
}

/// What a program does that wakes while its heap is marked.
enum Wakes {
    ThenSleeps,
    Collects,
    Asks,
}

/// The marker stands before a list: the program cuts it in two, keeps the second half by a root that was scanned already, and a
/// third of it by a new object.
#[test]
fn a_program_that_wakes_while_it_is_marked_loses_nothing() {
    const LEN: usize = 900;
    for generational in ALL {
        for wakes in [Wakes::ThenSleeps, Wakes::Collects, Wakes::Asks] {
            let heap = heap(QUIET.generational(generational));
            let mutator = attach(&heap);
            let node = node_type(&heap);
            let holder = heap.types().register(&TypeDescriptor::traced(32, held).unwrap()).unwrap();
            let mut roots = Slots::new(&heap, 4);
            roots.extend_list(1, &mutator, node, LEN, 0);
            roots.set(0, new(&mutator, holder));
            // A store into an object with a trace function calls that.
            roots.set(2, new(&mutator, node));
            link(&mutator, roots.get(2), 0, roots.get(1));
            link(&mutator, roots.get(0), 0, roots.get(2));
            (1..3).for_each(|i| roots.set(i, 0));
            // All is old: no pause traces the holder.
            mutator.collect().unwrap();
            let marker = Held::new();
            idle(&heap, &mutator);
            within_a_minute("the marker is at the holder", || REACHED.load(Ordering::Acquire));

            let door = get(roots.get(0), 0);
            let middle = (0..LEN / 3).fold(get(door, 0), |at, _| get(at, 0));
            let last = (1..LEN / 3).fold(middle, |at, _| get(at, 0));
            let end = get(last, 0);
            roots.set(1, middle);
            link(&mutator, last, 0, 0);
            roots.set(2, new(&mutator, node));
            link(&mutator, roots.get(2), 0, end);
            // The first third is dropped.
            link(&mutator, door, 0, 0);
            (0..5000).for_each(|i| {
                let garbage = new(&mutator, node);
                put(garbage, 2, usize::MAX - i);
            });
            assert_eq!(full(&heap), (1, 0), "the marking has not ended");
            drop(marker);
            let ended = match wakes {
                Wakes::ThenSleeps => {
                    await_markings(&heap, &mutator, 1);
                    (1, 1)
                }
                Wakes::Collects => {
                    mutator.collect().unwrap();
                    (2, 1)
                }
                Wakes::Asks => {
                    start_and_wait(&mutator);
                    (1, 2)
                }
            };
            assert_eq!((full(&heap), stats(&heap).concurrent_degenerated), (ended, 0));
            (0..5000).for_each(|i| put(new(&mutator, node), 2, usize::MAX - i));
            check_list(roots.get(1), LEN / 3, LEN / 3);
            check_list(get(roots.get(2), 0), LEN / 3, 0);
            mutator.collect().unwrap();
            assert_eq!(live(&heap), 2 * LEN / 3 + 3);
            assert_valid(&heap);
        }
    }
}

/// What an idle heap does not need goes back when its marking ends: pages of arenas, which an ordinary end leaves to the next arena.
#[test]
fn the_end_gives_back_what_arenas_have_left() {
    let heap = heap(QUIET);
    let mutator = attach(&heap);
    let mut roots = grown(&heap, &mutator);
    roots.set(1, 0);
    let values = Values::new(8, 2, [0, 0, 0, 0]);
    let arenas: Vec<_> = (0..16).map(|_| Arena::open(&mutator, ArenaKind::Borrowed)).collect();
    for &arena in &arenas {
        (0..20_000).for_each(|_| _ = arena.value(&mutator, values, &[1, 2]));
    }
    arenas.into_iter().for_each(|arena| arena.close(&mutator));
    let before = stats(&heap).arena_free_bytes;
    assert!(before > 4 << 20, "{before}");
    idle(&heap, &mutator);
    await_markings(&heap, &mutator, 1);
    assert_eq!((full(&heap), stats(&heap).arena_free_bytes), ((0, 1), 0));
}

#[test]
fn a_heap_may_go_while_it_is_idle_and_marked() {
    for round in 0..20 {
        let heap = heap(QUIET);
        let mutator = attach(&heap);
        let mut roots = Slots::new(&heap, 1);
        roots.extend_list(0, &mutator, node_type(&heap), 30_000, 0);
        idle(&heap, &mutator);
        (0..round * 1000).for_each(|_| std::hint::spin_loop());
    }
}

/// The child goes on with the marking of its parent, or ends it; it has no marker of its own before it wants one.
#[test]
fn a_process_may_fork_while_an_idle_heap_is_marked() {
    in_child(|| {
        let heap = heap(QUIET);
        let mutator = attach(&heap);
        let mut roots = grown(&heap, &mutator);
        let node = node_type(&heap);
        for round in 0..20 {
            let ended = stats(&heap).concurrent_markings;
            idle(&heap, &mutator);
            (0..round * 100).for_each(|_| std::hint::spin_loop());
            let check = || {
                roots.set(1, new(&mutator, node));
                match round % 3 {
                    0 => mutator.collect().unwrap(),
                    1 => start_and_wait(&mutator),
                    _ => {
                        // Its own idle time: what the parent began is no obstacle once it has ended.
                        mutator.collect().unwrap();
                        let before = stats(&heap).concurrent_markings;
                        idle(&heap, &mutator);
                        await_markings(&heap, &mutator, before + 1);
                    }
                }
                assert_eq!(count(&heap, roots.get(0), 10), NODES);
                assert_eq!(live(&heap), NODES + 1);
                7
            };
            assert_eq!(forked(check), 7 << 8);
            await_markings(&heap, &mutator, ended + 1);
            assert_eq!((full(&heap).0, count(&heap, roots.get(0), 10)), (0, NODES));
        }
    });
}

/// Threads build lists, block, and wake at any time; whenever all are blocked the heap is marked.
#[test]
fn a_heap_that_is_idle_now_and_then_loses_nothing() {
    const THREADS: usize = 3;
    let markings = if is_thorough() { 30 } else { 10 };
    for (generational, verify) in
        [(Generational::Always, false), (Generational::Off, false), (Generational::Always, true)]
    {
        let heap = heap(BESIDE.generational(generational).verify(verify));
        let node = node_type(&heap);
        let (begun, left) = (AtomicU64::new(0), AtomicUsize::new(THREADS));
        std::thread::scope(|scope| {
            for seed in 0..THREADS {
                let (heap, begun, left) = (&heap, &begun, &left);
                scope.spawn(move || {
                    let _left = Over(left);
                    let mutator = attach(heap);
                    let mut frame = Framed::<2>::new(&mutator);
                    while begun.load(Ordering::Relaxed) < markings {
                        frame.set(0, 0);
                        frame.extend_list(0, node, 300, seed);
                        mutator.blocking(std::thread::yield_now).unwrap();
                        // The second half moves to the other root.
                        let last = (1..150).fold(frame.get(0), |at, _| get(at, 0));
                        frame.set(1, get(last, 0));
                        link(&mutator, last, 0, 0);
                        mutator.blocking(std::thread::yield_now).unwrap();
                        check_list(frame.get(0), 150, seed + 150);
                        check_list(frame.get(1), 150, seed);
                    }
                });
            }
            while left.load(Ordering::Relaxed) > 0 && begun.load(Ordering::Relaxed) < markings {
                begun.fetch_add(u64::from(heap.collect_as_if_idle()), Ordering::Relaxed);
                std::thread::yield_now();
            }
        });
        assert!(begun.load(Ordering::Relaxed) >= markings, "a thread has ended early");
        assert_eq!(stats(&heap).barrier_violations, 0);
        let mutator = attach(&heap);
        mutator.collect().unwrap();
        assert_eq!(live(&heap), 0);
        assert_valid(&heap);
    }
}

/// Counts a thread out, also when it panics.
struct Over<'t>(&'t AtomicUsize);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn trace_lines_say_that_the_heap_was_idle() {
    let body = || {
        let heap = heap(QUIET);
        let mutator = attach(&heap);
        let _roots = grown(&heap, &mutator);
        idle(&heap, &mutator);
        await_markings(&heap, &mutator, 1);
        start_and_wait(&mutator);
    };
    let ended = Child::new().with("HEAPWOOD", "trace=1").run(body).well();
    let causes = |kind: &str| -> Vec<_> {
        let lines = ended.err.lines().filter(|line| line.contains(kind));
        lines
            .map(|line| (line.contains("cause=idle"), line.contains("cause=marker"), line.contains("forced")))
            .collect()
    };
    let wanted = [(true, false, true), (false, true, false)];
    assert_eq!((causes("kind=start"), causes("kind=end")), (wanted.to_vec(), wanted.to_vec()), "{ended}");
}
