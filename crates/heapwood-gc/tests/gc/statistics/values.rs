//! Statistics tell where the time of a collection goes.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use heapwood_gc::settings::options::{Concurrent, Generational};
use heapwood_gc::{HeapBox, Mutator, Stats};
use heapwood_gc_testing::*;
use heapwood_heap::ArenaKind;

#[test]
fn the_parts_of_a_pause_are_told() {
    let heap = heap(PRECISE);
    let polling = AtomicBool::new(true);
    std::thread::scope(|scope| {
        let mutator = attach(&heap);
        scope.spawn(|| {
            let other = attach(&heap);
            while polling.load(Ordering::Relaxed) {
                other.safepoint();
            }
        });
        let node = node_type(&heap);
        let mut roots = Slots::new(&heap, 1);
        for _ in 0..3 {
            roots.extend_list(0, &mutator, node, 20_000, 7);
            mutator.collect().unwrap();
        }
        polling.store(false, Ordering::Relaxed);
    });
    let stats = heap.inspect().stats();
    assert!(stats.stop_max_ns > 0 && stats.mark_max_ns > 0, "{stats:?}");
    assert!(stats.stop_max_ns.max(stats.mark_max_ns) <= stats.pause_max_ns, "{stats:?}");
    assert!(
        stats.pause_p50_ns <= stats.pause_p99_ns && stats.pause_p99_ns <= stats.pause_max_ns,
        "{stats:?}"
    );
    assert!(stats.pause_max_ns <= stats.pause_total_ns, "{stats:?}");
}

#[test]
fn a_thread_settles_what_it_has_allocated() {
    let heap = heap(FULL);
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let objects = 100_000;
    let mut bytes = 0;
    for _ in 0..objects {
        let object = mutator.allocate(node).unwrap();
        bytes += mutator.find(object.as_ptr() as usize).unwrap().bytes;
    }
    let allocated = || heap.inspect().stats().allocated_bytes as usize;
    let told = allocated();
    assert!(told < bytes, "all was told without being settled: {told} of {bytes}");
    mutator.settle();
    // A span counts as a whole when it is opened.
    let settled = allocated();
    assert!((bytes..bytes + 65536).contains(&settled), "{settled} of {bytes}");
    mutator.settle();
    assert_eq!(allocated(), settled);
}

/// The statistics after a concurrent marking that was begun and ended by `end`.
fn marked(end: impl Fn(&HeapBox, &Mutator)) -> Stats {
    let heap = heap(FULL.background_release(false));
    let mutator = attach(&heap);
    let mut roots = Slots::new(&heap, 1);
    roots.extend_list(0, &mutator, node_type(&heap), 1000, 7);
    assert_eq!(mutator.incremental_marking().begin(), Ok(true));
    let began = heap.inspect().stats();
    assert_eq!((began.concurrent_markings, began.mark_end_max_ns), (0, 0));
    assert!(began.mark_start_max_ns > 0, "{began:?}");
    end(&heap, &mutator);
    let stats = heap.inspect().stats();
    assert_eq!((stats.concurrent_markings, stats.mark_start_max_ns), (1, began.mark_start_max_ns));
    stats
}

#[test]
fn ends_of_markings_that_mark_on_in_the_stop_are_not_counted_as_short() {
    let by_marker = marked(|_, m| assert_eq!(m.incremental_marking().finish(), Ok(true)));
    assert!(by_marker.mark_end_max_ns > 0, "{by_marker:?}");
    assert_eq!(by_marker.concurrent_degenerated, 0);
    // The program wants all that is dead: that is no fault of the marking, but no short stop.
    let by_program = marked(|_, m| m.collect().unwrap());
    assert_eq!((by_program.concurrent_degenerated, by_program.mark_end_max_ns), (0, 0), "{by_program:?}");
    let by_goal = marked(|heap, m| {
        let node = node_type(heap);
        while heap.inspect().stats().concurrent_markings == 0 {
            m.allocate(node).unwrap();
        }
    });
    assert_eq!((by_goal.concurrent_degenerated, by_goal.mark_end_max_ns), (1, 0), "{by_goal:?}");
}

#[test]
fn statistics_can_be_read_while_others_collect() {
    let (heap, reads) = (heap(PRECISE), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mutator = attach(&heap);
            while reads.fetch_add(1, Ordering::Relaxed) < 5000 {
                assert!((1..=2).contains(&heap.inspect().stats().threads));
                mutator.safepoint();
            }
        });
        let mut seen = 0;
        while seen < 5000 {
            let mutator = attach(&heap);
            mutator.collect().unwrap();
            drop(mutator);
            // The other runs on before it is stopped again.
            let last = core::mem::replace(&mut seen, reads.load(Ordering::Relaxed));
            while reads.load(Ordering::Relaxed) == last && last < 5000 {
                std::thread::yield_now();
            }
        }
    });
    assert_eq!(heap.inspect().stats().threads, 0);
}

#[test]
fn every_statistic_has_its_value_and_help() {
    let heap = heap(PRECISE.generational(Generational::Always).concurrent(Concurrent::Always));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 1);
    roots.extend_list(0, &mutator, node, 20_000, 7);
    // Garbage, whose pages are released.
    for _ in 0..200_000 {
        mutator.allocate(node).unwrap();
    }
    mutator.collect().unwrap();
    // The heap grows until a marking beside the program has begun and ended in short stops.
    let mut steps = 0..200_000;
    while heap.inspect().stats().mark_end_max_ns == 0 {
        let step = steps.next().expect("no marking beside the program ends");
        roots.extend_list(0, &mutator, node, 100, 7);
        if step % 5_000 == 4_999 {
            roots.set(0, 0);
        }
        mutator.blocking(std::thread::yield_now).unwrap();
    }
    // The list's pages are free at the end.
    roots.set(0, 0);
    mutator.collect().unwrap();
    heap.memory().finish_sweep();
    heap.set_young_time(Some(Duration::ZERO));
    mutator.allocate(node).unwrap();
    mutator.collect_young().unwrap();
    // Of three arenas one is closed, and one left to the collector, with the last, as the thread leaves.
    for k in 0..3 {
        let arena = Arena::open(&mutator, ArenaKind::Escaping);
        arena.data(&mutator, 1000, 8).unwrap();
        match k {
            0 => arena.close(&mutator),
            1 => arena.leave(&mutator),
            _ => {}
        }
    }
    mutator.external(1000).unwrap();
    // A weak reference whose object is dead is cleared.
    // SAFETY: no collection comes before the key is taken.
    roots.set(0, unsafe { mutator.ephemeron(mutator.allocate(node).unwrap(), 0) }.unwrap().as_ptr() as usize);
    mutator.collect().unwrap();
    // Of two finalisers one is queued.
    mutator.finalize_data(mutator.allocate(node).unwrap(), Default::default(), 1).unwrap();
    // Two objects wait for each other.
    let circle = [new(&mutator, node), new(&mutator, node)];
    for i in 0..2 {
        put(circle[i], 0, circle[1 - i]);
        let object = core::ptr::NonNull::new(circle[i] as *mut u8).unwrap();
        mutator.finalize(object, Default::default(), Default::default(), i).unwrap();
    }
    mutator.collect().unwrap();
    mutator.finalize_data(mutator.allocate(node).unwrap(), Default::default(), 2).unwrap();
    drop(mutator);
    heap.memory().release_free();
    heap.disable_collections().unwrap();
    let stats = heap.inspect().stats();
    let values: Vec<_> = heapwood_gc::STATISTICS.iter().zip(stats.values()).collect();
    let value = |name: &str| values.iter().find(|(s, _)| s.name == name).expect(name).1;
    assert_eq!((value("collections"), value("live_objects")), (stats.collections, stats.live_objects as u64));
    assert_eq!(value("page_lock_acquisitions"), stats.page_lock_acquisitions);
    for (statistic, value) in values {
        assert!(statistic.help.ends_with('.'), "{}", statistic.name);
        let may_be_zero = [
            "mark_overflows",
            "barrier_violations",
            "verified",
            "threads",
            "concurrent_degenerated",
            "mark_assists",
            "floating_objects",
            // The heap's own thread may have made another collection.
            "finalizers",
            // The heap's own thread may have given them back.
            "arena_free_bytes",
        ];
        let may_be_zero = may_be_zero.contains(&statistic.name) || statistic.name.starts_with("idle_");
        assert!(value > 0 || may_be_zero, "{} is 0: {stats:?}", statistic.name);
    }
}
